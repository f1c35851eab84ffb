//! Why the log is not opened or not written.

use std::path::PathBuf;

use skillpkg_schema::log::{
    CheckpointError, EdgeError, EntriesError, HeadsError, IdentityError, NoteError, RecordError,
    TilesError,
};
use skillpkg_schema::signature::{KeyError, KeyId};

use crate::blobs::BlobsError;
use crate::database::LeaseError;
use crate::problem::Refusal;

/// Why the log is not opened or not written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The database is older than what was signed.
    #[error(
        "the log has signed {signed} leaves and the database knows {appended}: the database is an \
         older copy. Restore one that is at least as new as `log/checkpoint`"
    )]
    OlderDatabase {
        /// Leaves of the signed checkpoint.
        signed: u64,
        /// Leaves that the database has given an index.
        appended: u64,
    },
    /// The objects hold a later state of the log than the database and the checkpoint.
    #[error(
        "the objects hold leaves of the log beyond the {0} that the database knows: the database and `log` of the data directory are older copies than the objects, or the objects are of another registry. Restore copies of one state"
    )]
    NewerObjects(u64),
    /// The tiles lead to another root than the one that was signed.
    #[error("the tiles of {0} leaves lead to another root than the one that was signed for them")]
    OtherRoot(u64),
    /// A tile that is to be written is there with other bytes.
    #[error(
        "`{0}` is there with other bytes: tiles never change, so this is another log's, or damaged"
    )]
    OtherTile(String),
    /// A tile that must be there is not.
    #[error(
        "`{0}` of the log is missing or cut short; do the objects belong to this data directory?"
    )]
    MissingTile(String),
    /// A leaf is outside the log.
    #[error("leaf {0} is outside the log")]
    Outside(u64),
    /// The leaves that are pending are not those that follow.
    #[error("leaf {0} is not among those that are pending")]
    Gap(u64),
    /// A row of the log's tables is none.
    #[error("a row of `{0}` is none that this program writes")]
    Row(&'static str),
    /// There was a log, and its keys are gone.
    #[error(
        "there is a log of {0} leaves here, and `log/identities.json` is missing: restore the \
         directory `log` with its keys"
    )]
    NoKeys(u64),
    /// The log has another origin, for good.
    #[error("the log's origin is `{found}` since its first start, and cannot become `{asked}`")]
    OriginFixed {
        /// What it is.
        found: String,
        /// What was asked for.
        asked: String,
    },
    /// The next identity lacks signatures.
    #[error("{0}")]
    NotYet(IdentityError),
    /// An identity waits for signatures, and another would take its place.
    #[error(
        "identity {0} waits for signatures: `log identity --next` prints it, and `log adopt` takes it once enough have signed; `log rotate --replace` gives it up"
    )]
    Waiting(u64),
    /// An identity that is not the next.
    #[error(
        "the log has identity {newest} already, and this is identity {number}: it was adopted before, or another was made in its place; `log identity` shows the newest"
    )]
    Past {
        /// The one that was to be adopted.
        number: u64,
        /// The newest of the log.
        newest: u64,
    },
    /// The next identity is for other keys than those that were made for it.
    #[error(
        "the identity names other keys than those in `log` of the data directory: it is not the one that `log rotate` has made last"
    )]
    OtherKeys,
    /// A file that holds no identity which waits for signatures.
    #[error(
        "`{}` holds no identity of a log that waits for signatures: {reason}; `log rotate` prints one \
         where keys that are elsewhere must sign it, and `log identity --next` prints it again", .path.display()
    )]
    NotAnIdentity {
        /// The file.
        path: PathBuf,
        /// What it holds instead.
        reason: String,
    },
    /// A key whose signature would count for nothing.
    #[error(
        "the key {key} is not one of those that name identity {number} of the log: its signature would \
         count for nothing. These do: {}", told(.signers)
    )]
    Stranger {
        /// The key.
        key: KeyId,
        /// The number of the identity.
        number: u64,
        /// The keys that name it.
        signers: Vec<KeyId>,
    },
    /// More signatures are asked for than there are keys, or none.
    #[error(
        "the threshold is {threshold}, and {}: name more with `--new-rotation-key`, or give a \
         `--threshold` from 1 to the number of them", rotation_keys(*.keys)
    )]
    Threshold {
        /// The signatures that are asked for.
        threshold: u32,
        /// The rotation keys.
        keys: u32,
    },
    /// A file of the log's directory.
    #[error("`{}`: {reason}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Reading or writing a file failed.
    #[error("`{}`: {source}", .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It could not be noted where the objects are.
    #[error("it could not be noted in the data directory where the objects are: {0}")]
    Unnoted(std::io::Error),
    /// A test ended it here.
    #[error("ended at a step: {0}")]
    Step(std::io::Error),
    /// The database.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
    /// Another process writes it, or who does cannot be asked.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// Another server wrote it.
    #[error(
        "another server has taken over this registry, and its log to {0} leaves: what this one knows is of the past. One server alone serves a registry: where the other is the one that is meant, leave this one stopped; else stop the other, and start this one again"
    )]
    Overtaken(u64),
    /// The blob storage.
    #[error("the blob storage failed: {0}")]
    Blobs(#[from] BlobsError),
    /// A document could not be made.
    #[error("a document could not be made: {0}")]
    Document(String),
    /// The identities.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The checkpoint.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A note or its key.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// A key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The edge of the tree.
    #[error(transparent)]
    Edge(#[from] EdgeError),
    /// Tiles that a proof needs.
    #[error(transparent)]
    Tiles(#[from] TilesError),
    /// A bundle of entries.
    #[error(transparent)]
    Entries(#[from] EntriesError),
    /// A bucket of the heads tree.
    #[error(transparent)]
    Heads(#[from] HeadsError),
    /// A record.
    #[error(transparent)]
    Record(#[from] RecordError),
}

fn told(keys: &[KeyId]) -> String {
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn rotation_keys(count: u32) -> String {
    if count == 1 {
        "there is 1 rotation key".to_owned()
    } else {
        format!("there are {count} rotation keys")
    }
}

impl From<LogError> for Refusal {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Database(error) => error.into(),
            LogError::Blobs(error) => error.into(),
            LogError::Lease(error) => {
                let detail = "the registry's database does not answer; try again";
                Self::unavailable(detail, 2).caused_by(&error)
            }
            LogError::Io { source, .. } | LogError::Step(source) => source.into(),
            error => Self::internal(&error),
        }
    }
}
