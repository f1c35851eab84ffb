//! Opening the log: what the last process has left is brought to its end.

use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, RwLock};

use futures_util::TryStreamExt as _;
use skillpkg_schema::log::{Checkpoint, Hash, Record, Sealed, Subject, empty_heads, empty_root};
use skillpkg_schema::wire::{Hashes, Proven};
use tokio::sync::Notify;

use super::sequencer::CHECKPOINT;
use super::settle::read_tree;
use super::{
    Buckets, Counters, Keyring, Log, LogError, Moment, PREFIX, Progress, Sequencer, TileStore,
    files,
};
use crate::data::Data;
use crate::database::Lease;
use crate::documents::{self, DocumentCache};
use crate::state::AtStep;

impl Log {
    /// Opens the log of a data directory that this process alone serves, with the lease of a
    /// database that others can reach, and makes it where there is
    /// none; what is pending is in it when this answers.
    ///
    /// Reads the keys, the newest checkpoint, the right edge and the hashes of the heads tree,
    /// however long the log is. `origin` counts at the first start alone.
    pub async fn open(
        data: Data,
        documents: Arc<DocumentCache>,
        progress: Arc<Progress>,
        origin: Option<&str>,
        at_step: Option<AtStep>,
    ) -> Result<(Arc<Self>, Sequencer), LogError> {
        let directory = data.log();
        files::tidy(&directory)?;
        let lease = data.database.lease().await?;
        let mut read = data.database.readers().acquire().await?;
        let Counters { next: appended, sealed, covered, .. } = Counters::read(&mut *read).await?;
        let keyring = open_keyring(&directory, origin, covered)?;
        let signed = signed(&directory, &keyring)?;
        let tiles = TileStore::new(data.blobs.clone());
        // The checkpoint is written before the database follows: it is one seal ahead, or where the
        // file is an older copy, behind.
        let size = signed.as_ref().map_or(0, |signed| signed.size).max(covered);
        if size > appended || ![covered, sealed].contains(&size) {
            return Err(LogError::OlderDatabase { signed: size, appended });
        }
        if tiles.has_beyond(size.max(sealed)).await? {
            return Err(LogError::NewerObjects(size.max(sealed)));
        }
        let edge = tiles.edge(size).await?;
        let written = signed.as_ref().is_some_and(|signed| signed.size == size);
        if written && signed.is_some_and(|signed| signed.root != edge.root()) {
            return Err(LogError::OtherRoot(size));
        }
        let tree = read_tree(&mut read).await?;
        drop(read);
        let origin = keyring.chain().origin().to_owned();
        let log = Arc::new(Self {
            moment: tokio::sync::RwLock::new(Moment::new(empty(origin), no_heads(), tree)),
            keyring: RwLock::new(Arc::new(keyring)),
            wake: Notify::new(),
            buckets: Buckets::new(data.database.clone()),
            data,
            tiles,
            directory,
            progress,
            signed: AtomicU64::new(size),
            holder: lease.as_ref().map(Lease::holder),
        });
        let covered_edge =
            if covered == size { edge.clone() } else { log.tiles.edge(covered).await? };
        log.begin_at(covered, covered_edge.root()).await?;
        log.touch_all().await?;
        let mut sequencer =
            Sequencer { log: Arc::clone(&log), documents, edge, sealed: None, at_step, lease };
        if !written && size > 0 {
            sequencer.rewrite().await?;
        }
        sequencer.attempt().await?;
        Ok((log, sequencer))
    }

    /// Takes the newest checkpoint that the database knows as the present one.
    async fn begin_at(&self, covered: u64, root: Hash) -> Result<(), LogError> {
        if covered == 0 {
            return Ok(());
        }
        let heads = self.heads_of(covered).await?;
        let mut moment = self.moment.write().await;
        if !matches!(heads.sealed.record.subject, Subject::Heads { root } if root == moment.tree.root())
        {
            return Err(LogError::Row("log_heads"));
        }
        let origin = moment.checkpoint.origin.clone();
        moment.advance(Checkpoint { origin, size: covered, root }, heads, &[]);
        self.progress.advance(covered);
        Ok(())
    }

    /// Where the program writes documents in another form than the one before, all are sealed anew.
    async fn touch_all(&self) -> Result<(), LogError> {
        let form: String = sqlx::query_scalar("SELECT form FROM log_state WHERE id = 1")
            .fetch_one(self.data.database.readers())
            .await?;
        let present = documents::form();
        if present == form {
            return Ok(());
        }
        let mut write = self.data.database.write().await?;
        sqlx::query(
            "INSERT INTO log_touched (skill_id, log_index)
             SELECT id, (SELECT next_index FROM log_state) FROM skills WHERE TRUE
             ON CONFLICT (skill_id, log_index) DO NOTHING",
        )
        .execute(&mut *write)
        .await?;
        sqlx::query("UPDATE log_state SET form = $1 WHERE id = 1")
            .bind(present)
            .execute(&mut *write)
            .await?;
        write.commit().await?;
        Ok(())
    }
}

fn open_keyring(directory: &Path, origin: Option<&str>, covered: u64) -> Result<Keyring, LogError> {
    match Keyring::open(directory)? {
        Some(keyring) => {
            let found = keyring.chain().origin();
            match origin.filter(|asked| *asked != found) {
                Some(asked) => {
                    let (found, asked) = (found.to_owned(), asked.to_owned());
                    Err(LogError::OriginFixed { found, asked })
                }
                None => Ok(keyring),
            }
        }
        None if covered > 0 || directory.join(CHECKPOINT).exists() => {
            Err(LogError::NoKeys(covered))
        }
        None => Keyring::make(directory, origin),
    }
}

/// The checkpoint in the log's directory.
pub(super) fn signed(directory: &Path, keyring: &Keyring) -> Result<Option<Checkpoint>, LogError> {
    let Some(bytes) = files::read(&directory.join(CHECKPOINT))? else { return Ok(None) };
    let chain = keyring.chain();
    let verified = Checkpoint::verify(&bytes, chain.origin(), &chain.keys_of_all(), &[])?;
    Ok(Some(verified.checkpoint))
}

/// Whether the database, the newest checkpoint and the tiles beside the objects are of one log, and
/// the database is as new as the checkpoint; or whether there is nothing of a log in any of them.
pub async fn belong_together(data: &Data) -> Result<bool, LogError> {
    // A tile that is read while the log grows may have made place for a longer one.
    for _ in 0..3 {
        let directory = data.log();
        // Under the write lock: nothing is settled meanwhile.
        let mut write = data.database.write().await?;
        let Counters { sealed, covered, .. } = Counters::read(&mut *write).await?;
        let tree = read_tree(&mut write).await?;
        let checkpoint = match Keyring::open(&directory)? {
            Some(keyring) => signed(&directory, &keyring)?,
            None => None,
        };
        drop(write);
        let Some(checkpoint) = checkpoint.filter(|checkpoint| checkpoint.size > 0) else {
            let any = data.blobs.list(&object_store::path::Path::from(PREFIX)).try_next().await?;
            return Ok(any.is_none() && covered == 0);
        };
        if covered < checkpoint.size && sealed != checkpoint.size {
            return Ok(false);
        }
        match are_of_one_log(data, &checkpoint, covered, tree.root()).await {
            Err(LogError::MissingTile(_)) => {}
            answer => return answer,
        }
    }
    Ok(false)
}

/// Whether the tiles lead to a checkpoint, and say of the documents what the database says.
async fn are_of_one_log(
    data: &Data,
    checkpoint: &Checkpoint,
    covered: u64,
    heads: Hash,
) -> Result<bool, LogError> {
    let tiles = TileStore::new(data.blobs.clone());
    if tiles.edge(checkpoint.size).await?.root() != checkpoint.root {
        return Ok(false);
    }
    let Some(last) = covered.checked_sub(1) else { return Ok(heads == empty_heads()) };
    let record = Record::from_bytes(&tiles.entry(last, covered).await?)?;
    Ok(matches!(record.subject, Subject::Heads { root } if root == heads))
}

fn empty(origin: String) -> Checkpoint {
    Checkpoint { origin, size: 0, root: empty_root() }
}

/// What stands in the place of the last leaf until there is one; it is never answered with.
fn no_heads() -> Proven {
    let record = Record { at: String::new(), subject: Subject::Heads { root: empty_heads() } };
    Proven { index: 0, sealed: Sealed { record, salt: None }, proof: Hashes::default() }
}
