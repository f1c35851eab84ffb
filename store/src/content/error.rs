//! Why the store does not do what was asked.

use std::io;
use std::path::{Path, PathBuf};

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{ContentAddress, Faults};

use crate::archive::ArchiveError;

/// Why the store did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The archive was refused.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The archive's manifest says something else of the files than the files do.
    #[error("the manifest does not say what the files do: {0}")]
    Mismatch(#[source] Faults),
    /// The store was written by a later version.
    #[error("the store at `{}` has format `{found}`; this version reads {known}", shown(path))]
    Format {
        /// The store.
        path: PathBuf,
        /// Its format.
        found: String,
        /// Ours.
        known: u32,
    },
    /// The file that says the store's format says none.
    #[error("`{}` does not say which format the store has: {reason}", shown(path))]
    FormatUnread {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
        /// Our format.
        known: u32,
    },
    /// Nothing with this address is in the store.
    #[error("{0} is not in the store")]
    Absent(ContentAddress),
    /// A blob's or a manifest's bytes are not those of its address; it was set aside.
    #[error("{address} in the store was damaged and has been set aside")]
    Damaged {
        /// The blob, or the snapshot of the manifest.
        address: ContentAddress,
    },
    /// A blob is longer than the caller wants to hold.
    #[error("{address} is {size} bytes long; at most {limit} are read")]
    TooLong {
        /// The blob.
        address: ContentAddress,
        /// Its length.
        size: u64,
        /// The caller's bound.
        limit: u64,
    },
    /// Another process holds the store for longer than we wait.
    #[error(
        "the store at `{}` is held by process {pid}: wait for it, or end it, and try again",
        shown(path)
    )]
    Held {
        /// The store.
        path: PathBuf,
        /// Who holds it, as it wrote itself.
        pid: String,
    },
    /// A link, or something else, stands where the store keeps a file or a directory of its own.
    #[error(
        "`{}` is not {expected} of the store's own, and no link is followed there: move it away \
         and try again",
        shown(path)
    )]
    Misplaced {
        /// What stands there.
        path: PathBuf,
        /// What should: `a directory` or `a file`.
        expected: &'static str,
    },
    /// Something stands where a copy was to go.
    #[error("`{}` is there already", shown(.0))]
    Exists(PathBuf),
    /// Where verified bytes were to go could not be written.
    #[error("the content could not be written out: {0}")]
    Output(#[source] io::Error),
    /// Reading or writing failed.
    #[error("`{}`: {source}", shown(path))]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl StoreError {
    /// Reading or writing `path` failed.
    pub(super) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}

fn shown(path: &Path) -> String {
    escape(&path.to_string_lossy())
}

/// Names the path of an I/O error.
pub(super) trait AtPath<T> {
    /// The error, with the path that it is about.
    fn at(self, path: impl FnOnce() -> PathBuf) -> Result<T, StoreError>;
}

impl<T> AtPath<T> for io::Result<T> {
    fn at(self, path: impl FnOnce() -> PathBuf) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::io(path(), source))
    }
}
