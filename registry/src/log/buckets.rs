//! Buckets of the heads tree, those that are asked for often in memory.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use skillpkg_schema::log::{Bucket, Hash};
use sqlx::AnyConnection;

use super::LogError;
use crate::database::Database;

/// Most bytes of buckets in memory.
const CACHE_BYTES: u64 = 8 * 1024 * 1024;
/// About how many buckets that is.
const CACHE_ITEMS: usize = 8_192;

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<u16, Kept> for ByLength {
    fn weight(&self, _: &u16, kept: &Kept) -> u64 {
        kept.1.heads().len() as u64 * 64 + 128
    }
}

/// A bucket and its leaf hash.
type Kept = Arc<(Hash, Bucket)>;

/// The buckets of the newest checkpoint.
#[derive(Debug)]
pub(super) struct Buckets {
    database: Database,
    cache: Cache<u16, Kept, ByLength>,
}

impl Buckets {
    /// Those in `database`.
    pub(super) fn new(database: Database) -> Self {
        Self { database, cache: Cache::with_weighter(CACHE_ITEMS, CACHE_BYTES, ByLength) }
    }

    /// The bucket with this number and this leaf hash; [`None`] where it has another by now.
    pub(super) async fn get(&self, number: u16, hash: Hash) -> Result<Option<Kept>, LogError> {
        if let Some(kept) = self.cache.get(&number).filter(|kept| kept.0 == hash) {
            return Ok(Some(kept));
        }
        let mut read = self.database.readers().acquire().await?;
        let bucket = read_bucket(&mut read, number).await?;
        let kept = Arc::new((bucket.leaf_hash(), bucket));
        if kept.0 != hash {
            return Ok(None);
        }
        self.cache.insert(number, Arc::clone(&kept));
        Ok(Some(kept))
    }
}

/// A bucket as the database has it: that of the newest checkpoint.
pub(super) async fn read_bucket(
    connection: &mut AnyConnection,
    number: u16,
) -> Result<Bucket, LogError> {
    let rows: Vec<(Vec<u8>, Vec<u8>)> =
        sqlx::query_as("SELECT key, digest FROM log_heads WHERE bucket = $1 ORDER BY key")
            .bind(i64::from(number))
            .fetch_all(connection)
            .await?;
    let bytes: Vec<u8> =
        rows.into_iter().flat_map(|(key, digest)| [key, digest]).flatten().collect();
    Ok(Bucket::from_bytes(number, &bytes)?)
}
