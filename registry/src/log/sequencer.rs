//! The one task that takes what is pending into the log.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use skillpkg_schema::log::{
    Checkpoint, Edge, Entries, Hash, MadeTile, TILE_WIDTH, Tile, TilePath, leaf_hash,
};

use super::seal::Batch;
use super::{Counters, Hindrance, Keyring, Log, LogError, files, stored_index};
use crate::database::{Lease, LeaseError};
use crate::documents::DocumentCache;
use crate::skills::publish::Step;
use crate::state::AtStep;

/// How often it looks for what other processes have appended.
const FOLLOWED: Duration = Duration::from_millis(500);
/// How long it waits after an attempt that failed.
const AGAIN: Duration = Duration::from_secs(1);
/// Leaves taken into memory at once.
const AT_ONCE: u64 = 16_384;
/// Tiles put at once.
const PUTS: usize = 8;
/// The file of the newest checkpoint, in the log's directory.
pub(super) const CHECKPOINT: &str = "checkpoint";

/// Takes what is pending into the log: the one writer of tiles and checkpoints.
pub struct Sequencer {
    pub(super) log: Arc<Log>,
    pub(super) documents: Arc<DocumentCache>,
    /// Of the newest signed checkpoint.
    pub(super) edge: Edge,
    /// Sealed by an attempt that then failed.
    pub(super) sealed: Option<Batch>,
    pub(super) at_step: Option<AtStep>,
    /// Of a database that other processes can reach.
    pub(super) lease: Option<Lease>,
}

impl fmt::Debug for Sequencer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sequencer").field("size", &self.edge.size()).finish_non_exhaustive()
    }
}

/// Marks a step, where a test may end it.
pub(super) fn reach(at_step: Option<&AtStep>, step: Step) -> Result<(), LogError> {
    at_step.map_or(Ok(()), |at_step| at_step(step).map_err(LogError::Step))
}

impl Sequencer {
    /// Takes in what is pending, again and again, until `stop` answers.
    ///
    /// Where an attempt fails, those who wait are refused, and it is made again.
    pub async fn run(mut self, stop: impl Future<Output = ()> + Send) {
        tokio::pin!(stop);
        let mut pause = FOLLOWED;
        loop {
            tokio::select! {
                () = &mut stop => break,
                () = self.log.wake.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
            pause = FOLLOWED;
            if let Err(error) = self.attempt().await {
                let hindrance = Hindrance::of(&error);
                self.log.progress.fail(hindrance);
                if hindrance == Hindrance::Overtaken {
                    tracing::error!(%error, "this server ends");
                    break;
                }
                tracing::warn!(%error, "the log is not written; it is tried again");
                pause = AGAIN;
                // What is new meanwhile waits as well: a disk that is full is not asked at once.
                tokio::select! {
                    () = &mut stop => break,
                    () = tokio::time::sleep(AGAIN) => {}
                }
            }
        }
        self.log.progress.end();
        if let Some(lease) = &mut self.lease {
            lease.release().await;
        }
    }

    /// Takes in all that is pending.
    pub(super) async fn attempt(&mut self) -> Result<(), LogError> {
        self.stay_first().await?;
        self.renew_keyring()?;
        while self.sealed.is_some() || self.is_pending().await? {
            let batch = match self.sealed.take() {
                Some(batch) => batch,
                None => match self.log.seal(self.at_step.as_ref()).await? {
                    Some(batch) => batch,
                    None => break,
                },
            };
            let checkpoint = match self.sign(&batch).await {
                Ok(checkpoint) => checkpoint,
                Err(error) => {
                    self.sealed = Some(batch);
                    return Err(error);
                }
            };
            self.log.settle(&self.documents, checkpoint, batch).await?;
            self.reach(Step::Settled)?;
            self.log.progress.advance(self.edge.size());
        }
        self.log.progress.advance(self.edge.size());
        Ok(())
    }

    /// Makes sure that nobody else writes the log, and that nobody has: not where the lease was lost
    /// for a while, nor where a second server reaches a file of which it does not know that it is
    /// served.
    async fn stay_first(&mut self) -> Result<(), LogError> {
        if let Some(lease) = &mut self.lease {
            let held = lease.hold().await;
            let is_away = matches!(held, Err(LeaseError::Unreachable(_)));
            self.log.data.database.note_away(is_away);
            held?;
        }
        // Whatever this process has sealed it has signed before the database followed.
        let counters = Counters::read(self.log.data.database.readers()).await?;
        if counters.covered > self.edge.size() {
            if let Some(lease) = &mut self.lease {
                lease.release().await;
            }
            return Err(LogError::Overtaken(counters.covered));
        }
        Ok(())
    }

    fn reach(&self, step: Step) -> Result<(), LogError> {
        reach(self.at_step.as_ref(), step)
    }

    /// Whether there is something to seal or to settle; asks for no lock.
    async fn is_pending(&self) -> Result<bool, LogError> {
        let counters = Counters::read(self.log.data.database.readers()).await?;
        let number = self.log.keyring().number();
        if counters.next > counters.covered || number > counters.identity {
            return Ok(true);
        }
        let touched: Option<i64> = sqlx::query_scalar("SELECT 1 FROM log_touched LIMIT 1")
            .fetch_optional(self.log.data.database.readers())
            .await?;
        Ok(touched.is_some())
    }

    /// Takes the keys of a new identity, where an operator has made one.
    fn renew_keyring(&self) -> Result<(), LogError> {
        if self.log.keyring().is_stale(&self.log.directory)
            && let Some(keyring) = Keyring::open(&self.log.directory)?
        {
            let before = self.log.keyring();
            before.chain().continued(keyring.chain().envelopes().to_vec())?;
            let mut held = self.log.keyring.write().unwrap_or_else(PoisonError::into_inner);
            *held = Arc::new(keyring);
        }
        Ok(())
    }

    /// Puts the tiles of a sealed batch, and signs its checkpoint.
    ///
    /// Tiles first: a checkpoint that is on the disk has all of them. Every byte follows from what
    /// was sealed, so that whatever is cut short is made again as it was.
    async fn sign(&mut self, batch: &Batch) -> Result<Checkpoint, LogError> {
        let signed = self.edge.size();
        if batch.size < signed {
            return Err(LogError::OlderDatabase { signed, appended: batch.size });
        }
        if batch.size > signed {
            let (edge, full) = self.put_tiles(batch.size).await?;
            self.reach(Step::TilesPut)?;
            let checkpoint = self.write_checkpoint(&edge).await?;
            self.edge = edge;
            self.log.signed.store(self.edge.size(), Ordering::Release);
            let log = Arc::clone(&self.log);
            tokio::spawn(async move {
                for path in full {
                    log.tiles.prune(path).await;
                }
            });
            self.reach(Step::Signed)?;
            return Ok(checkpoint);
        }
        Ok(self.checkpoint_of(&self.edge))
    }

    /// Writes the checkpoint of the edge again, where its file is an older copy.
    pub(super) async fn rewrite(&self) -> Result<(), LogError> {
        self.write_checkpoint(&self.edge).await.map(|_| ())
    }

    fn checkpoint_of(&self, edge: &Edge) -> Checkpoint {
        Checkpoint { origin: self.log.origin(), size: edge.size(), root: edge.root() }
    }

    /// Writes the checkpoint of an edge to its file; returned, it survives a crash.
    async fn write_checkpoint(&self, edge: &Edge) -> Result<Checkpoint, LogError> {
        let checkpoint = self.checkpoint_of(edge);
        let note = self.log.keyring().sign(&checkpoint, crate::clock::unix_seconds())?;
        let path: PathBuf = self.log.directory.join(CHECKPOINT);
        let write = move || files::write(&path, note.as_bytes());
        let written = tokio::task::spawn_blocking(write).await;
        written.map_err(|error| LogError::Step(std::io::Error::other(error)))??;
        Ok(checkpoint)
    }

    /// Puts the tiles from the edge on to `size` leaves; answers with the new edge, and the tiles
    /// that became full.
    async fn put_tiles(&self, size: u64) -> Result<(Edge, Vec<TilePath>), LogError> {
        let mut edge = self.edge.clone();
        let mut full = Vec::new();
        let mut bundle = self.last_bundle(edge.size()).await?;
        while edge.size() < size {
            let start = edge.size();
            // Up to the end of a bundle, so that only the last one is partial.
            let end = size.min((start / AT_ONCE + 1) * AT_ONCE);
            let entries = self.entries(start, end).await?;
            let mut puts: Vec<(TilePath, Bytes)> = Vec::new();
            let mut hashes: Vec<Hash> = Vec::with_capacity(entries.len());
            for (index, entry) in (start..).zip(&entries) {
                Entries::append(&mut bundle, entry)?;
                hashes.push(leaf_hash(entry));
                if let Some(tile) = bundle_ending_at(index + 1, end) {
                    let bytes = std::mem::take(&mut bundle);
                    puts.push((TilePath::Entries(tile), bytes.into()));
                }
            }
            let made = edge.append(&hashes)?;
            puts.extend(
                made.into_iter()
                    .map(|MadeTile { tile, bytes }| (TilePath::Hashes(tile), Bytes::from(bytes))),
            );
            full.extend(puts.iter().map(|(path, _)| *path).filter(|path| path.tile().is_full()));
            let tiles = &self.log.tiles;
            futures_util::stream::iter(puts)
                .map(|(path, bytes)| async move { tiles.put(path, bytes).await })
                .buffer_unordered(PUTS)
                .try_collect::<()>()
                .await?;
        }
        Ok((edge, full))
    }

    /// The bytes of the partial bundle that a tree of `size` leaves ends with.
    async fn last_bundle(&self, size: u64) -> Result<Vec<u8>, LogError> {
        match Tile::in_tree(0, size / TILE_WIDTH, size) {
            Some(tile) => Ok(self.log.tiles.read(TilePath::Entries(tile)).await?.to_vec()),
            None => Ok(Vec::new()),
        }
    }

    /// The pending leaves `start..end`, all of them.
    async fn entries(&self, start: u64, end: u64) -> Result<Vec<Vec<u8>>, LogError> {
        let rows: Vec<(i64, Vec<u8>)> = sqlx::query_as(
            "SELECT log_index, entry FROM log_pending WHERE log_index >= $1 AND log_index < $2
             ORDER BY log_index",
        )
        .bind(stored_index(start))
        .bind(stored_index(end))
        .fetch_all(self.log.data.database.readers())
        .await?;
        let mut entries = Vec::with_capacity(rows.len());
        for (expected, (index, entry)) in (start..).zip(rows) {
            if index.unsigned_abs() != expected {
                return Err(LogError::Gap(expected));
            }
            entries.push(entry);
        }
        let found = start + entries.len() as u64;
        if found == end { Ok(entries) } else { Err(LogError::Gap(found)) }
    }
}

/// The bundle that ends with the leaf before `next`, where it is full or the last of all before `end`.
fn bundle_ending_at(next: u64, end: u64) -> Option<Tile> {
    if next.is_multiple_of(TILE_WIDTH) || next == end {
        Tile::in_tree(0, (next - 1) / TILE_WIDTH, next)
    } else {
        None
    }
}
