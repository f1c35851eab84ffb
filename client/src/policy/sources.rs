//! Where policies lie, and their texts.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::project::io_hint;
use crate::{Error, Kind, regular_file};

/// The name of the file of a policy, beside the user's configuration and on the machine.
pub const POLICY_FILE: &str = "policy.toml";
/// Most bytes of a policy's file.
pub const MAX_POLICY_BYTES: u64 = 1024 * 1024;

/// Whose policy it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Whose {
    /// The machine's: whoever administers it.
    Machine,
    /// The user's.
    User,
    /// The project's: `[policy]` in its `skillpkg.toml`.
    Project,
}

impl Whose {
    /// The stable text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// A file that holds a policy, where it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySource {
    /// The file, absolute.
    pub path: PathBuf,
    /// Whose it is.
    pub whose: Whose,
    /// Whether it must be there: one that was named and is not refuses what would be decided by it.
    pub named: bool,
}

impl PolicySource {
    /// A file that need not be there.
    pub fn new(path: PathBuf, whose: Whose) -> Self {
        Self { path, whose, named: false }
    }

    /// Its text; [`None`] where it is absent and need not be there.
    ///
    /// Whatever else keeps it from being read is a refusal: nobody knows what it forbids.
    pub(super) fn text(&self) -> Result<Option<String>, Error> {
        let path = &self.path;
        let bytes = match regular_file::open(path) {
            Ok(file) => regular_file::read(file, MAX_POLICY_BYTES)
                .map_err(|error| unreadable(path, &error))?
                .ok_or_else(|| {
                    refused(path, &format!("it is over {MAX_POLICY_BYTES} bytes long"))
                })?,
            Err(error) if !self.named && is_absent(path, &error) => return Ok(None),
            Err(error) => return Err(unreadable(path, &error)),
        };
        String::from_utf8(bytes).map(Some).map_err(|_| refused(path, "it is not UTF-8"))
    }
}

/// Whether nothing is there: a link that leads nowhere is something, and so is a directory that is
/// one.
fn is_absent(path: &Path, error: &io::Error) -> bool {
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    match error.kind() {
        io::ErrorKind::NotADirectory => true,
        io::ErrorKind::NotFound => {
            let leads_nowhere = |parent: &Path| is_link(parent) && !parent.exists();
            !is_link(path) && !path.parent().is_some_and(leads_nowhere)
        }
        _ => false,
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    let hint = io_hint(error);
    let error = refused(path, &error.to_string());
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn refused(path: &Path, reason: &str) -> Error {
    let message = format!("the policy cannot be read, and what it forbids is not known: {reason}");
    Error::new(Kind::Refused, "policy_unreadable", message)
        .in_file(path.to_string_lossy())
        .with_hint("make it readable, or have whoever administers this machine take it away")
}

/// The files of the machine's policy. They stand at a path that no environment moves.
pub fn machine_files() -> Vec<PolicySource> {
    let directory = if cfg!(windows) { r"C:\ProgramData\skillpkg" } else { "/etc/skillpkg" };
    vec![PolicySource::new(Path::new(directory).join(POLICY_FILE), Whose::Machine)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_no_policy_unless_it_was_named() {
        let directory = tempfile::tempdir().unwrap();
        for path in ["absent.toml", "absent/policy.toml"] {
            let source = PolicySource::new(directory.path().join(path), Whose::User);
            assert_eq!(source.text(), Ok(None), "{path}");
            let named = PolicySource { named: true, ..source };
            let error = named.text().unwrap_err();
            assert_eq!((error.kind, error.code.as_str()), (Kind::Refused, "policy_unreadable"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_there_and_cannot_be_read_refuses() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir(at("directory")).unwrap();
        std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
        std::os::unix::fs::symlink("unmounted", at("away")).unwrap();
        std::fs::write(at("long"), vec![b'#'; 1024 * 1024 + 1]).unwrap();
        std::fs::write(at("bytes"), b"\xff").unwrap();
        for name in ["directory", "dangling", "away/policy.toml", "long", "bytes"] {
            let error = PolicySource::new(at(name), Whose::Machine).text().unwrap_err();
            assert_eq!((error.kind, error.code.as_str()), (Kind::Refused, "policy_unreadable"));
            assert_eq!(error.file.as_deref(), at(name).to_str(), "{name}");
        }
        std::os::unix::fs::symlink("real", at("link")).unwrap();
        std::fs::write(at("real"), "require-log = true").unwrap();
        let text = PolicySource::new(at("link"), Whose::Machine).text().unwrap();
        assert_eq!(text.as_deref(), Some("require-log = true"));
    }
}
