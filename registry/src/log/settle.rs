//! Settling: the tables, the memory and those who wait follow the checkpoint.

use std::collections::BTreeMap;

use skillpkg_schema::address::DIGEST_BYTES;
use skillpkg_schema::log::{Checkpoint, Hash, HeadsTree, Record, Sealed, leaf_hash};
use skillpkg_schema::wire::{Hashes, Proven};
use sqlx::AnyConnection;

use super::buckets::read_bucket;
use super::seal::Batch;
use super::{Counters, Log, LogError, stored_index};
use crate::documents::DocumentCache;

/// Buckets whose hashes are in one row.
const BLOCK: u16 = 256;

impl Log {
    /// Makes a signed checkpoint the newest: for the tables in one transaction, for the memory at
    /// once with it.
    ///
    /// Cut short before the commit, the next start does it again from the checkpoint's file.
    pub(super) async fn settle(
        &self,
        documents: &DocumentCache,
        checkpoint: Checkpoint,
        batch: Batch,
    ) -> Result<(), LogError> {
        let heads = self.heads_of(checkpoint.size).await?;
        let end = stored_index(batch.size);
        let mut write = self.data.database.write_behind().await?;
        let covered = Counters::read(&mut *write).await?.covered;
        if covered > checkpoint.size {
            return Err(LogError::Overtaken(covered));
        }
        let changed: Vec<i64> =
            sqlx::query_scalar("SELECT DISTINCT bucket FROM log_sealed_heads ORDER BY bucket")
                .fetch_all(&mut *write)
                .await?;
        for statement in [
            "DELETE FROM log_heads WHERE EXISTS (SELECT 1 FROM log_sealed_heads s
             WHERE s.bucket = log_heads.bucket AND s.key = log_heads.key)",
            "INSERT INTO log_heads (bucket, key, digest)
             SELECT bucket, key, digest FROM log_sealed_heads WHERE digest IS NOT NULL",
            "DELETE FROM log_sealed_heads",
        ] {
            sqlx::query(statement).execute(&mut *write).await?;
        }
        let mut buckets: Vec<(u16, Hash)> = Vec::with_capacity(changed.len());
        for number in changed {
            let number = u16::try_from(number).map_err(|_| LogError::Row("log_sealed_heads"))?;
            buckets.push((number, read_bucket(&mut write, number).await?.leaf_hash()));
        }
        write_hashes(&mut write, &buckets).await?;
        for statement in [
            "DELETE FROM log_pending WHERE log_index < $1",
            "DELETE FROM log_touched WHERE log_index < $1",
            "UPDATE log_state SET covered = $1 WHERE id = 1",
        ] {
            sqlx::query(statement).bind(end).execute(&mut *write).await?;
        }
        // The database first and the memory after it, with nobody in between.
        let mut moment = self.moment.write().await;
        write.commit().await?;
        moment.advance(checkpoint, heads, &buckets);
        for touched in batch.touched {
            documents.replace(&touched.name, touched.ready);
        }
        Ok(())
    }

    /// The last leaf of a tree of `size` leaves, which a checkpoint is signed for.
    pub(super) async fn heads_of(&self, size: u64) -> Result<Proven, LogError> {
        let index = size.checked_sub(1).ok_or(LogError::Outside(0))?;
        let record = Record::from_bytes(&self.tiles.entry(index, size).await?)?;
        let proof = Hashes(self.inclusion(index, size, size).await?);
        Ok(Proven { index, sealed: Sealed { record, salt: None }, proof })
    }
}

/// The heads tree as the database has it.
pub(super) async fn read_tree(connection: &mut AnyConnection) -> Result<HeadsTree, LogError> {
    let rows: Vec<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT block, hashes FROM log_buckets").fetch_all(connection).await?;
    let mut buckets = Vec::new();
    for (block, hashes) in rows {
        let (hashes, rest) = hashes.as_chunks::<DIGEST_BYTES>();
        let first = u16::try_from(block).ok().and_then(|block| block.checked_mul(BLOCK));
        let first = first.ok_or(LogError::Row("log_buckets"))?;
        if hashes.len() != usize::from(BLOCK) || !rest.is_empty() {
            return Err(LogError::Row("log_buckets"));
        }
        let hashes = hashes.iter().map(|hash| Hash::from_bytes(*hash));
        buckets.extend((first..=first.saturating_add(BLOCK - 1)).zip(hashes));
    }
    Ok(HeadsTree::new(buckets))
}

async fn write_hashes(
    connection: &mut AnyConnection,
    buckets: &[(u16, Hash)],
) -> Result<(), LogError> {
    let mut blocks: BTreeMap<u16, Vec<(u16, Hash)>> = BTreeMap::new();
    for (number, hash) in buckets {
        blocks.entry(number / BLOCK).or_default().push((number % BLOCK, *hash));
    }
    for (block, changed) in blocks {
        let row: Option<Vec<u8>> =
            sqlx::query_scalar("SELECT hashes FROM log_buckets WHERE block = $1")
                .bind(i64::from(block))
                .fetch_optional(&mut *connection)
                .await?;
        let mut hashes =
            row.unwrap_or_else(|| leaf_hash(&[]).as_bytes().repeat(usize::from(BLOCK)));
        for (at, hash) in changed {
            let start = usize::from(at) * DIGEST_BYTES;
            let place = hashes.get_mut(start..start + DIGEST_BYTES);
            place.ok_or(LogError::Row("log_buckets"))?.copy_from_slice(hash.as_bytes());
        }
        sqlx::query(
            "INSERT INTO log_buckets (block, hashes) VALUES ($1, $2)
             ON CONFLICT (block) DO UPDATE SET hashes = excluded.hashes",
        )
        .bind(i64::from(block))
        .bind(hashes)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}
