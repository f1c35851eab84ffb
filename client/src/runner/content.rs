//! The bytes of a script, checked just before they are run.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use skillpkg_schema::ContentAddress;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::limits::MAX_UNPACKED_BYTES;
use skillpkg_schema::path::SkillPath;
use skillpkg_schema::tree::{DirectoryTree, Tree as _};
use tempfile::NamedTempFile;

use super::{FailureKind, RunContext, RunFailure, ScriptSource};
use crate::unfinished::{self, Readers};

/// A script as a file that a program can be told to run.
#[derive(Debug)]
pub(super) enum ScriptFile {
    /// It lies in a tree.
    InPlace(PathBuf),
    /// It was written to a file of its own, which goes with this value.
    Temporary(NamedTempFile),
}

impl ScriptFile {
    /// Where it lies, absolute.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::InPlace(path) => path,
            Self::Temporary(file) => file.path(),
        }
    }
}

impl RunContext<'_> {
    /// The bytes of the script: of the content store by exactly its address, of a file beneath its
    /// root with no link on the way, or embedded. Re-hashed where their address is known.
    ///
    /// Fails with [`FailureKind::InvalidContent`]; a job elsewhere has no bytes here.
    pub fn script_bytes(&self) -> Result<Vec<u8>, RunFailure> {
        match &self.script.reference.source {
            ScriptSource::Content(address) => self.stored(address),
            ScriptSource::Embedded(bytes) => Ok(bytes.to_vec()),
            ScriptSource::File { root, path, address } => {
                let bytes = read_file(root, path).map_err(|reason| {
                    self.invalid(&format!("`{path}` cannot be read: {reason}"))
                })?;
                if address.as_ref().is_some_and(|address| !address.matches(&bytes)) {
                    return Err(self.invalid(&format!("`{path}` was changed")));
                }
                Ok(bytes)
            }
            ScriptSource::Uri(_) => Err(self.invalid("it is a job elsewhere")),
        }
    }

    /// The script as a file, checked.
    pub(super) fn script_file(&self) -> Result<ScriptFile, RunFailure> {
        let bytes = self.script_bytes()?;
        if let ScriptSource::File { root, path, .. } = &self.script.reference.source {
            return Ok(ScriptFile::InPlace(root.join(path.as_str())));
        }
        let write = || -> std::io::Result<NamedTempFile> {
            let mut file = unfinished::create(&std::env::temp_dir(), Readers::Owner)?;
            std::io::Write::write_all(&mut file, &bytes)?;
            Ok(file)
        };
        write().map(ScriptFile::Temporary).map_err(|error| {
            self.invalid(&format!("its bytes cannot be written to a file: {error}"))
        })
    }

    fn stored(&self, address: &ContentAddress) -> Result<Vec<u8>, RunFailure> {
        let store = self.store.ok_or_else(|| self.invalid("there is no content store here"))?;
        store
            .read_blob(address, MAX_UNPACKED_BYTES)
            .map_err(|error| self.invalid(&error.to_string()))
    }

    fn invalid(&self, reason: &str) -> RunFailure {
        let message = format!("the script `{}`: {reason}", escape(&self.script.name));
        RunFailure::new(FailureKind::InvalidContent, message)
    }
}

fn read_file(root: &Path, path: &SkillPath) -> std::io::Result<Vec<u8>> {
    let tree = DirectoryTree::open(root)?;
    let mut bytes = Vec::new();
    tree.open(path.as_str())?.take(MAX_UNPACKED_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
