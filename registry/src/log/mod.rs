//! The registry's transparency log: every change to what it serves, in one tree that it signs.
//!
//! A change appends its leaf in its own transaction ([`append()`]). One task, the [`Sequencer`],
//! takes all leaves that are pending: it **seals** them in one transaction that adds the leaf of the
//! heads tree, after which their bytes are fixed; puts tiles; **signs** the checkpoint; and
//! **settles**: the tables, what is served from memory, and the requests that wait follow the
//! checkpoint. Each step can be cut short and is made again from what the one before has left, so
//! that no two roots are ever signed for one size, nor a smaller size after a larger.

mod append;
pub mod audit;
mod backfill;
mod buckets;
mod counters;
mod error;
pub(crate) mod files;
mod keyring;
mod moment;
mod open;
mod progress;
pub mod rotation;
mod seal;
mod sequencer;
mod settle;
mod tiles;
mod touch;
mod view;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use skillpkg_schema::Scope;
use skillpkg_schema::log::{
    Checkpoint, Hash, NoteKey, Record, Sealed, Subject, TlogProof, inclusion_ranges,
};
use skillpkg_schema::wire::{Hashes, LogInfo, Proven};
use tokio::sync::{Notify, RwLockReadGuard};

use buckets::Buckets;
use counters::Counters;
use progress::Hindrance;

pub use append::{Leaf, append};
pub use backfill::complete;
pub use error::LogError;
pub use keyring::Keyring;
pub use moment::Moment;
pub use open::belong_together;
pub use progress::Progress;
pub use sequencer::Sequencer;
pub use tiles::TileStore;
pub use touch::touch;

use crate::data::Data;
use crate::database::{Holder, Standing, Write};
use crate::problem::{Answer, Refusal};

/// Where a registry's own log lies beneath its URL.
pub const PREFIX: &str = "log";

/// The log as requests see it.
#[derive(Debug)]
pub struct Log {
    data: Data,
    tiles: TileStore,
    buckets: Buckets,
    directory: PathBuf,
    keyring: RwLock<Arc<Keyring>>,
    /// What the newest checkpoint says. Whoever settles the next holds it while the database and the
    /// memory go from one to the other: a snapshot of the database that is begun under it is of it.
    moment: tokio::sync::RwLock<Moment>,
    progress: Arc<Progress>,
    wake: Notify,
    /// Leaves of the newest checkpoint that this process has signed, or has found.
    signed: AtomicU64,
    /// Who has the lease of a database that others can reach.
    holder: Option<Holder>,
}

impl Log {
    fn keyring(&self) -> Arc<Keyring> {
        Arc::clone(&self.keyring.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The log's origin.
    pub fn origin(&self) -> String {
        self.keyring().chain().origin().to_owned()
    }

    /// The fingerprint of the log's first identity, and the keys that sign it now.
    pub fn identity(&self) -> (Hash, Vec<NoteKey>) {
        let keyring = self.keyring();
        (keyring.chain().fingerprint(), keyring.chain().keys().to_vec())
    }

    /// The tiles.
    pub fn tiles(&self) -> &TileStore {
        &self.tiles
    }

    /// What the newest checkpoint says, and stays while this is held: for no longer than it takes to
    /// read it.
    pub async fn moment(&self) -> RwLockReadGuard<'_, Moment> {
        self.moment.read().await
    }

    /// The newest checkpoint, with a cosignature that is fresh.
    pub async fn checkpoint(&self) -> Answer<(Checkpoint, String)> {
        let moment = self.moment().await;
        let note = moment.note(&self.keyring())?;
        Ok((moment.checkpoint().clone(), note))
    }

    /// Who the log is.
    pub async fn info(&self) -> Answer<LogInfo> {
        let (checkpoint, note) = self.checkpoint().await?;
        Ok(LogInfo {
            origin: checkpoint.origin,
            prefix: PREFIX.to_owned(),
            relayed: false,
            identities: self.keyring().chain().envelopes().to_vec(),
            checkpoint: note,
        })
    }

    /// Commits a change and waits until a checkpoint covers it.
    ///
    /// Refused, and not committed, where the log is known not to be written now, or another server
    /// writes it. Where that shows only after the commit the change stays, is visible once the log can
    /// be written, and the refusal says so.
    pub async fn commit(&self, mut write: Write) -> Answer<()> {
        self.ready()?;
        let upto = Counters::read(&mut *write).await?.next;
        self.commit_alone(write).await?;
        self.progress.covers(upto).await
    }

    /// Commits a change and waits for nothing: whoever answers waits for its leaf. Refused, and not
    /// committed, where another server writes the log.
    pub async fn commit_alone(&self, mut write: Write) -> Answer<()> {
        if let Err(refusal) = self.is_ours(&mut write).await {
            // The sequencer finds out for itself, and says what to do.
            self.wake.notify_one();
            return Err(refusal);
        }
        write.commit().await?;
        self.wake.notify_one();
        Ok(())
    }

    /// Refuses a change in a registry that another server has taken over: that one would show it,
    /// whatever this one answers. Under the write lock, which whoever settles has to have.
    async fn is_ours(&self, write: &mut Write) -> Answer<()> {
        if Counters::read(&mut **write).await?.covered > self.signed.load(Ordering::Acquire) {
            return Err(Hindrance::Overtaken.refused());
        }
        let Some(holder) = &self.holder else { return Ok(()) };
        match holder.stands(write).await? {
            Standing::Ours => Ok(()),
            Standing::Anothers => Err(Hindrance::Held.refused()),
            Standing::Nobodys => Err(Hindrance::Database.refused()),
        }
    }

    /// Waits until another server has overtaken this one, which then answers for nothing any more.
    pub async fn overtaken(&self) {
        self.progress.overtaken().await;
    }

    /// Refuses to call the registry ready while the log cannot be written, and says why.
    pub fn written(&self) -> Answer<()> {
        self.progress.written()
    }

    /// The proof that a leaf is in the log, as a tlog-proof whose extra data is the record; waits
    /// until a checkpoint covers the leaf. Whoever asks may read the record.
    pub async fn proof_text(&self, index: u64) -> Answer<String> {
        self.progress.covers(index.saturating_add(1)).await?;
        let (checkpoint, note) = self.checkpoint().await?;
        let size = checkpoint.size;
        let proven = self.proven(index, size, size, |_| true).await?;
        let proven = proven.ok_or_else(|| Refusal::internal(&LogError::Outside(index)))?;
        let extra =
            serde_json::to_vec(&proven.sealed).map_err(|error| Refusal::internal(&error))?;
        let proof =
            TlogProof { extra: Some(extra), index, hashes: proven.proof.0, checkpoint: note };
        Ok(proof.to_string())
    }

    /// Refuses a change while the log cannot be written: it would not become visible.
    pub fn ready(&self) -> Answer<()> {
        self.progress.ready()
    }

    /// The inclusion proof of a leaf in the tree of `size` leaves, which is at most that of the
    /// newest checkpoint, `newest`.
    pub async fn inclusion(
        &self,
        index: u64,
        size: u64,
        newest: u64,
    ) -> Result<Vec<Hash>, LogError> {
        let ranges = inclusion_ranges(index, size).ok_or(LogError::Outside(index))?;
        self.tiles.proof(&ranges, newest).await
    }

    /// A leaf with what it stands for; a blinded one's record where `reads` says that the scope may
    /// be read. [`None`] where it may not.
    pub async fn sealed(
        &self,
        index: u64,
        newest: u64,
        reads: impl Fn(&Scope) -> bool,
    ) -> Answer<Option<Sealed>> {
        let entry = self.tiles.entry(index, newest).await?;
        let record = Record::from_bytes(&entry).map_err(|error| Refusal::internal(&error))?;
        if !matches!(record.subject, Subject::Blinded { .. }) {
            return Ok(Some(Sealed { record, salt: None }));
        }
        let row: Option<(String, String)> =
            sqlx::query_as("SELECT scope, sealed FROM log_records WHERE log_index = $1")
                .bind(stored_index(index))
                .fetch_optional(self.data.database.readers())
                .await?;
        let Some((scope, sealed)) = row else { return Ok(None) };
        let scope = crate::documents::stored(&scope)?;
        if !reads(&scope) {
            return Ok(None);
        }
        serde_json::from_str(&sealed).map(Some).map_err(|error| Refusal::internal(&error))
    }

    /// A leaf with its record and its inclusion proof, as [`Log::sealed`].
    pub async fn proven(
        &self,
        index: u64,
        size: u64,
        newest: u64,
        reads: impl Fn(&Scope) -> bool,
    ) -> Answer<Option<Proven>> {
        let Some(sealed) = self.sealed(index, newest, reads).await? else { return Ok(None) };
        let proof = Hashes(self.inclusion(index, size, newest).await?);
        Ok(Some(Proven { index, sealed, proof }))
    }
}

/// An index as the database holds it; a log that long there is none.
fn stored_index(index: u64) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}
