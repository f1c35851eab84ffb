//! What an operator runs beside a registry that serves: comparing rows with bytes, and removing
//! what no row names.

mod gc;
mod verify;

pub(crate) use gc::remove_unnamed;
pub use gc::{Removal, remove_orphans};
pub use verify::{Damage, DamageKind, Report, verify};

use crate::blobs::BlobsError;
use crate::log::LogError;

/// Why upkeep ended early.
#[derive(Debug, thiserror::Error)]
pub enum UpkeepError {
    /// The database.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
    /// The blob storage.
    #[error("the blob storage failed: {0}")]
    Blobs(#[from] BlobsError),
    /// The objects are another registry's.
    #[error(
        "the log beside the objects is not this registry's, or the database is an older copy: `gc` \
         would remove what is needed, and removes nothing; correct `--blobs`, `--database` or \
         `--data`"
    )]
    OthersObjects,
    /// The log.
    #[error("the log: {0}")]
    Log(#[from] LogError),
    /// Reading or removing failed.
    #[error("reading or removing failed: {0}")]
    Io(#[from] std::io::Error),
}
