//! One JSON file of the state: its version, bounded reading, atomic writing.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use skillpkg_schema::diagnostic::escape;

use super::STATE_VERSION;
use super::error::StateError;
use crate::regular_file;
use crate::unfinished::{self, Readers};

/// Most bytes of a file of the state: a project with thousands of skills needs far less.
const MAX_STATE_BYTES: u64 = 64 * 1024 * 1024;

/// One file of the state.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    path: PathBuf,
}

/// Whether what is written is to survive a crash of the machine, or only of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durable {
    /// Synced before it is renamed into place.
    Yes,
    /// Left to the system to write.
    No,
}

impl Stored {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads it; [`None`] where it is absent.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<Option<T>, StateError> {
        #[derive(serde::Deserialize)]
        struct OnlyVersion {
            version: u64,
        }
        let Some(bytes) = self.bytes()? else { return Ok(None) };
        let damaged = |reason: String| StateError::Damaged { path: self.path.clone(), reason };
        let shape = |error: serde_json::Error| damaged(escape(&error.to_string()));
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(damaged("it is empty".to_owned()));
        }
        let OnlyVersion { version } = serde_json::from_slice(&bytes).map_err(shape)?;
        if version > STATE_VERSION {
            return Err(StateError::TooNew { path: self.path.clone(), found: version });
        }
        if version != STATE_VERSION {
            return Err(damaged(format!("version {version} never was")));
        }
        serde_json::from_slice(&bytes).map(Some).map_err(shape)
    }

    fn bytes(&self) -> Result<Option<Vec<u8>>, StateError> {
        let failed = |source| StateError::Io { path: self.path.clone(), source };
        let file = match regular_file::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            // A directory, a pipe: nobody waits for it.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                let reason = error.to_string();
                return Err(StateError::Damaged { path: self.path.clone(), reason });
            }
            Err(error) => return Err(failed(error)),
        };
        let read = regular_file::read(file, MAX_STATE_BYTES).map_err(failed)?;
        read.map(Some).ok_or_else(|| {
            let reason = format!("over {MAX_STATE_BYTES} bytes");
            StateError::Damaged { path: self.path.clone(), reason }
        })
    }

    /// Writes it beside its place and renames it there: whoever reads sees the old or the new.
    pub(crate) fn write(&self, value: &impl Serialize) -> Result<(), StateError> {
        self.write_as(value, Durable::No)
    }

    /// Writes it, as durable as is asked for.
    pub(crate) fn write_as(
        &self,
        value: &impl Serialize,
        durable: Durable,
    ) -> Result<(), StateError> {
        #[derive(Serialize)]
        struct Versioned<'a, T> {
            version: u64,
            #[serde(flatten)]
            value: &'a T,
        }
        let failed = |source| StateError::Io { path: self.path.clone(), source };
        // A path that is not UTF-8 has no spelling in JSON.
        let mut bytes = serde_json::to_vec_pretty(&Versioned { version: STATE_VERSION, value })
            .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidInput, error)))?;
        bytes.push(b'\n');
        self.replace(&bytes, durable).map_err(failed)
    }

    fn replace(&self, bytes: &[u8], durable: Durable) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        // What a kill leaves goes with the next file that is written there.
        let create = || unfinished::create(directory, Readers::Owner);
        let mut file = match create() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(directory)?;
                create()?
            }
            answer => answer?,
        };
        file.write_all(bytes)?;
        if durable == Durable::Yes {
            file.as_file().sync_all()?;
        }
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }

    /// Removes it, where it is there.
    pub(super) fn remove(&self) -> Result<(), StateError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StateError::Io { path: self.path.clone(), source: error })
            }
            _ => Ok(()),
        }
    }
}
