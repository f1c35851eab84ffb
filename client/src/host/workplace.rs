//! Where one call runs.

use std::io;
use std::path::{Path, PathBuf};

use skillpkg_schema::Manifest;
use skillpkg_store::content::{PrivateCopy, Store, StoreError};

use crate::Error;
use crate::activation::intact_tree;

/// Most bytes of a snapshot that is copied for each call; a larger one runs from its tree.
const MOST_COPIED: u64 = 16 * 1024 * 1024;

/// The snapshot's files for one call, the working directory of what runs.
#[derive(Debug)]
pub(super) enum Workplace {
    /// A copy that was compared with the manifest as it was made and that goes with the call.
    Copy(PrivateCopy),
    /// The tree itself, re-hashed just before.
    Tree(PathBuf),
}

impl Workplace {
    /// Re-hashes the snapshot's tree, made whole again where it can be, and copies it. Answers with
    /// what had to be put right, as sentences.
    ///
    /// Between the re-hash of a tree and the moment a program reads it, a process of the same user
    /// can put another file there. Nobody looks for a copy that has just been made.
    pub(super) fn prepare(
        store: &Store,
        manifest: &Manifest,
    ) -> Result<(Self, Vec<String>), Error> {
        let (tree, notices) = intact_tree(store, manifest)?;
        let bytes = manifest.files.iter().fold(0, |sum: u64, file| sum.saturating_add(file.size));
        if bytes > MOST_COPIED {
            return Ok((Self::Tree(tree), notices));
        }
        match store.private_copy(manifest) {
            Ok(copy) => Ok((Self::Copy(copy), notices)),
            // Where this user cannot write, neither can another program of theirs.
            Err(StoreError::Io { source, .. })
                if matches!(
                    source.kind(),
                    io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied
                ) =>
            {
                Ok((Self::Tree(tree), notices))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Where it lies, absolute.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Copy(copy) => copy.path(),
            Self::Tree(tree) => tree,
        }
    }
}
