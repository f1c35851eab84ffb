//! Why the machine's memory could not be read or written.

use std::io;
use std::path::{Path, PathBuf};

use skillpkg_schema::diagnostic::escape;

use super::STATE_VERSION;
use crate::project::io_error;
use crate::{Error, Kind};

/// Why the machine's memory could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Reading or writing failed.
    #[error("`{}`: {source}", shown(path))]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that a later version wrote.
    #[error("`{}` is of version {found}; this skillpkg reads version {STATE_VERSION}", shown(path))]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// A file that does not have the shape of what it is.
    #[error("`{}` is damaged: {reason}", shown(path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Another process works on the project for longer than we wait.
    #[error(
        "process {pid} has worked on this project for {waited} s and holds its lock `{}`",
        shown(path)
    )]
    Locked {
        /// The lock.
        path: PathBuf,
        /// Who holds it, as it wrote itself.
        pid: String,
        /// How long was waited, in seconds.
        waited: u64,
    },
}

fn shown(path: &Path) -> String {
    escape(&path.to_string_lossy())
}

impl From<StateError> for Error {
    fn from(error: StateError) -> Self {
        let message = error.to_string();
        match error {
            StateError::Io { path, source } => io_error(&path, &source),
            StateError::TooNew { found, .. } => Error::new(Kind::Failed, "format_too_new", message)
                .with_hint(format!(
                    "use a skillpkg that reads state of version {found}, or another SKILLPKG_HOME"
                )),
            StateError::Damaged { .. } => Error::new(Kind::Failed, "state_damaged", message)
                .with_hint("move the file away, then run `skillpkg sync` in each project it names"),
            StateError::Locked { pid, .. } => Error::new(Kind::Failed, "locked_by", message)
                .with_hint(format!(
                    "wait for process {pid} to end, or end it, then run this again"
                )),
        }
    }
}
