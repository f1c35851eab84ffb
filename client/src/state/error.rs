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

/// What to do about a file that is damaged: what comes of moving it away, by what it remembers.
fn without(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_in = |directory: &str| path.ancestors().any(|above| above.ends_with(directory));
    let then = match name {
        "signers.json" => {
            "whoever signs a skill next is then taken for its first signer, so compare the keys with \
             the lockfiles: `skillpkg sync` does"
        }
        "standings.json" => "`skillpkg sync` asks the registries again what they say of versions",
        _ if name.ends_with(".journal") => {
            "then `skillpkg sync` in the project makes whole what was begun"
        }
        _ if is_in("state/approvals") => "what the skill runs is then asked about again",
        _ if is_in("state/releases") => "when the version was published is then asked for again",
        _ if is_in("state/projects") => {
            "then `skillpkg sync` in the project remembers anew what is placed there"
        }
        _ if is_in("trust") => "the next command that asks the registry meets its log anew",
        _ => "then run `skillpkg sync` in each project it names",
    };
    format!("restore it from a copy, or move it away: {then}")
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
            StateError::Damaged { path, .. } => {
                Error::new(Kind::Failed, "state_damaged", message).with_hint(without(&path))
            }
            StateError::Locked { pid, .. } => Error::new(Kind::Failed, "locked_by", message)
                .with_hint(format!(
                    "wait for process {pid} to end, or end it, then run this again"
                )),
        }
    }
}
