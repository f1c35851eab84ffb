//! Why a data directory is not used.

use std::io;
use std::path::PathBuf;

use crate::blobs::BlobsError;
use crate::database::DatabaseError;
use crate::log::LogError;

use super::places::{FILE, OBJECTS};

/// Why a data directory is not used.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// There is none.
    #[error("`{}` holds no registry; is this the directory that is meant? `serve` makes a registry in it", .0.display())]
    Missing(PathBuf),
    /// A registry was there, and its database is gone.
    #[error(
        "`{}` holds a registry's `{trace}`, and {database} is missing: restore it from a backup that \
         is at least as new as `log/checkpoint`, or give the `--database` that the registry had; \
         nothing was made", .path.display()
    )]
    Lost {
        /// The directory.
        path: PathBuf,
        /// What is left of the registry.
        trace: &'static str,
        /// What is missing.
        database: String,
    },
    /// The directory holds something else.
    #[error(
        "`{}` holds no registry, and something else, such as `{entry}`; is this the directory that is \
         meant? `serve` makes a registry in one that is absent or empty", .path.display()
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// The first of what is there.
        entry: String,
    },
    /// Another process serves it.
    #[error("`{}` is already served{}; stop that one first", .path.display(), by(.process.as_deref()))]
    Served {
        /// The directory.
        path: PathBuf,
        /// The other's process id, where it can be read.
        process: Option<String>,
    },
    /// The database.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// What search finds skills by could not be made.
    #[error("the words of the skills could not be made anew: {0}")]
    Words(#[source] sqlx::Error),
    /// What was there before there was a log could not be appended to it.
    #[error("the log could not be begun: {0}")]
    Log(#[from] LogError),
    /// The database of a server has none.
    #[error(
        "`{0}` holds no registry; is this the database that is meant? `serve` makes a registry in it"
    )]
    Empty(String),
    /// The directory goes with another database.
    #[error("`{}` goes with {found}, and {asked} is asked for: {}", .path.display(), instead(found))]
    Elsewhere {
        /// The directory.
        path: PathBuf,
        /// The database that it goes with.
        found: String,
        /// The one that was asked for.
        asked: String,
    },
    /// The directory's registry has its objects elsewhere.
    #[error(
        "the registry in `{}` has its objects in {found}, and {asked} is asked for: {}; where the objects themselves were moved, remove the file `blob-store` in the directory first", .path.display(), stored_in(found)
    )]
    Stored {
        /// The directory.
        path: PathBuf,
        /// Where they are.
        found: String,
        /// Where they were said to be.
        asked: String,
    },
    /// A bucket.
    #[error(transparent)]
    Bucket(BlobsError),
    /// The blob storage.
    #[error("the blobs in `{}` cannot be opened: {source}", .path.display())]
    Blobs {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: BlobsError,
    },
    /// Reading or writing failed.
    #[error("`{}`: {source}{}", .path.display(), whose(source))]
    Io {
        /// What was read or written.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

fn by(process: Option<&str>) -> String {
    process.map_or_else(String::new, |process| format!(" by process {process}"))
}

fn instead(found: &str) -> &'static str {
    if found == FILE {
        "give another directory, or leave `--database` out"
    } else {
        "give that one with `--database`, or another directory; where the database itself was moved, \
         remove the file `database-server` in the directory first"
    }
}

fn stored_in(found: &str) -> &'static str {
    if found == OBJECTS {
        "leave `--blobs` out, or give another directory"
    } else {
        "give that one with `--blobs`, or another directory"
    }
}

/// Who may: a command that an operator runs as another account than the service is the usual cause.
fn whose(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::PermissionDenied {
        "; run this as the account that owns the data directory and all in it"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_is_told_with_what_is_not_permitted() {
        let told = |kind: io::ErrorKind| {
            DataError::Io { path: "/srv/skillpkg".into(), source: kind.into() }.to_string()
        };
        assert!(
            told(io::ErrorKind::PermissionDenied).ends_with("the data directory and all in it")
        );
        assert!(!told(io::ErrorKind::StorageFull).contains("account"));
    }
}
