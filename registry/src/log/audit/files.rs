//! Where the files of a log lie.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use skillpkg_schema::log::{Entries, IdentityChain, TilePath};

use crate::blobs::Blobs;
use crate::data::Data;
use crate::log::keyring::{IDENTITIES, chain_of};
use crate::log::sequencer::CHECKPOINT;
use crate::log::{LogError, PREFIX, files};

/// The files of one log.
#[derive(Debug)]
pub struct Files {
    blobs: Blobs,
    /// What stands before the paths of tiles.
    prefix: &'static str,
    /// Where checkpoint and identities lie.
    directory: PathBuf,
}

impl Files {
    /// Those of a data directory.
    pub fn of(data: &Data) -> Self {
        Self { blobs: data.blobs.clone(), prefix: PREFIX, directory: data.log() }
    }

    /// Those of a directory with `checkpoint`, `tile/…` and `identities.json`.
    pub fn bare(directory: &Path) -> Result<Self, LogError> {
        match std::fs::metadata(directory) {
            Ok(found) if found.is_dir() => {}
            found => {
                let reason = match found {
                    Ok(_) => "it is no directory".to_owned(),
                    Err(error) => error.to_string(),
                };
                let reason = format!(
                    "{reason}; expected a directory with `checkpoint`, `tile/…` and `identities.json`"
                );
                return Err(LogError::File { path: directory.to_owned(), reason });
            }
        }
        let blobs = Blobs::local(directory)?;
        Ok(Self { blobs, prefix: "", directory: directory.to_owned() })
    }

    pub(super) async fn tile(&self, path: &TilePath) -> Result<Option<Bytes>, LogError> {
        let key = object_store::path::Path::from(format!("{}/{path}", self.prefix));
        Ok(self.blobs.read_key(&key, Entries::MAX_BYTES as u64).await?)
    }

    async fn read(&self, name: &'static str) -> Result<Option<Vec<u8>>, LogError> {
        let path = self.directory.join(name);
        let read = tokio::task::spawn_blocking(move || files::read(&path)).await;
        read.map_err(|error| LogError::Step(std::io::Error::other(error)))?
    }

    pub(super) async fn has_checkpoint(&self) -> Result<bool, LogError> {
        Ok(self.checkpoint().await?.is_some())
    }

    pub(super) async fn checkpoint(&self) -> Result<Option<Vec<u8>>, LogError> {
        self.read(CHECKPOINT).await
    }

    /// The identities, verified; else what is wrong with them.
    pub(super) async fn identities(&self) -> Result<Result<IdentityChain, String>, LogError> {
        let Some(bytes) = self.read(IDENTITIES).await? else {
            return Ok(Err("is missing".to_owned()));
        };
        let chain = chain_of(&self.directory.join(IDENTITIES), &bytes);
        Ok(chain.map_err(|error| error.to_string()))
    }
}
