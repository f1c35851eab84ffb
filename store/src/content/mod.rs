//! The content store: a machine's blobs and snapshots, found by their addresses alone.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use skillpkg_schema::address::Digests;
use skillpkg_schema::signature::Envelope;
use skillpkg_schema::{ContentAddress, Manifest, SkillPath};

use crate::archive::ArchiveError;

/// Why the store did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The archive was refused.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The store was written by a later version.
    #[error("the store at `{}` has format {found}; this version reads {known}", path.display())]
    Format {
        /// The store.
        path: PathBuf,
        /// Its format.
        found: String,
        /// Ours.
        known: u32,
    },
    /// Nothing with this address is in the store.
    #[error("{0} is not in the store")]
    Absent(ContentAddress),
    /// A blob's bytes are not those of its address; it was set aside.
    #[error("the blob {address} in the store was damaged and has been set aside")]
    Damaged {
        /// The blob.
        address: ContentAddress,
    },
    /// Another process holds the store for longer than we wait.
    #[error("the store at `{}` is held by process {pid}", path.display())]
    Held {
        /// The store.
        path: PathBuf,
        /// Who holds it, as it wrote itself.
        pid: String,
    },
    /// Reading or writing failed.
    #[error("`{}`: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// One thing in a snapshot's tree that is not as its manifest says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeProblem {
    /// What is wrong.
    pub kind: TreeProblemKind,
    /// Where, relative to the tree; a path that is not UTF-8 is shown escaped.
    pub path: String,
}

/// What can be wrong with a file of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TreeProblemKind {
    /// Its bytes are not those of the manifest.
    Modified,
    /// It is not there.
    Missing,
    /// It is not in the manifest.
    Extra,
    /// It is executable and should not be, or the reverse; or it is no regular file.
    Mode,
}

/// A snapshot's manifest and signatures as they are kept.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The manifest, its bytes re-hashed just now.
    pub manifest: Manifest,
    /// The signatures over it.
    pub envelope: Envelope,
}

/// What an archive brought.
#[derive(Debug, Clone)]
pub struct Ingested {
    /// The snapshot's SHA-256 address.
    pub address: ContentAddress,
    /// The manifest.
    pub manifest: Manifest,
    /// The signatures.
    pub envelope: Envelope,
    /// The archive's bytes.
    pub archive: Digests,
}

/// What `gc` did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// Snapshots removed.
    pub snapshots: u64,
    /// Blobs removed.
    pub blobs: u64,
    /// Bytes freed.
    pub bytes: u64,
}

/// A machine's store. Cheap to clone; safe to use from many threads and many processes.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

/// Held while an install puts things into the store that nothing refers to yet: `gc` removes
/// nothing that was there or came while any lease was held. Let go when dropped, or when its
/// process ends however it ends.
#[derive(Debug)]
pub struct Lease {
    _private: (),
}

impl Store {
    /// Opens the store at `root`, made where it is absent.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        let _ = root;
        todo!()
    }

    /// Where it lies.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Keeps `gc` from what comes while the lease is held.
    pub fn lease(&self) -> Result<Lease, StoreError> {
        todo!()
    }

    /// Unpacks an archive into blobs and its manifest.
    ///
    /// Streams; the archive is checked whole before anything in it is found by its address, but its
    /// signature is the caller's to verify before the snapshot is believed. `wanted` refuses
    /// another snapshot as soon as its manifest is read. Nothing is durable before
    /// [`Store::sync`].
    pub fn ingest(
        &self,
        lease: &Lease,
        archive: impl Read,
        wanted: Option<&ContentAddress>,
    ) -> Result<Ingested, StoreError> {
        let _ = (lease, archive, wanted);
        todo!()
    }

    /// Makes all that was written so far survive a crash: once an install, not once a file.
    pub fn sync(&self) -> Result<(), StoreError> {
        todo!()
    }

    /// The manifest and signatures of a snapshot, by an address of either algorithm; [`None`] where
    /// it is absent.
    pub fn stored(&self, snapshot: &ContentAddress) -> Result<Option<Stored>, StoreError> {
        let _ = snapshot;
        todo!()
    }

    /// The addresses of every snapshot kept.
    pub fn snapshots(&self) -> Result<Vec<ContentAddress>, StoreError> {
        todo!()
    }

    /// The tree of a snapshot as agents see it, made of blobs where it is not there yet: a
    /// read-only directory with nothing of ours inside. Answers with its path, the same for one
    /// snapshot always.
    pub fn materialise(&self, lease: &Lease, manifest: &Manifest) -> Result<PathBuf, StoreError> {
        let _ = (lease, manifest);
        todo!()
    }

    /// Where the tree of a snapshot lies, whether or not it is there.
    pub fn tree_path(&self, snapshot: &ContentAddress) -> PathBuf {
        let _ = snapshot;
        todo!()
    }

    /// Re-hashes a snapshot's tree, every file by content.
    pub fn verify_tree(&self, manifest: &Manifest) -> Result<Vec<TreeProblem>, StoreError> {
        self.verify_copy(manifest, &self.tree_path(&manifest.address()))
    }

    /// Re-hashes a copy of a snapshot at `directory`, every file by content.
    pub fn verify_copy(
        &self,
        manifest: &Manifest,
        directory: &Path,
    ) -> Result<Vec<TreeProblem>, StoreError> {
        let _ = (manifest, directory);
        todo!()
    }

    /// Makes a snapshot's tree whole again from its blobs: what is wrong is set aside, never
    /// deleted. Answers with the files whose blobs are absent or damaged too, which must be fetched
    /// again; where there are any, the tree is left as it was.
    pub fn repair_tree(
        &self,
        lease: &Lease,
        manifest: &Manifest,
    ) -> Result<Vec<SkillPath>, StoreError> {
        let _ = (lease, manifest);
        todo!()
    }

    /// Copies a snapshot into a new directory at `target`, writable by its owner. `target` must not
    /// exist; it appears whole or not at all.
    pub fn copy_tree(&self, manifest: &Manifest, target: &Path) -> Result<(), StoreError> {
        let _ = (manifest, target);
        todo!()
    }

    /// The bytes of a blob of at most `limit` bytes, re-hashed.
    pub fn read_blob(&self, blob: &ContentAddress, limit: u64) -> Result<Vec<u8>, StoreError> {
        let _ = (blob, limit);
        todo!()
    }

    /// Removes the snapshots that are not among `live`, and the blobs of no snapshot that stays.
    ///
    /// What came while a lease is held anywhere stays.
    pub fn collect(&self, live: &[ContentAddress]) -> Result<Collected, StoreError> {
        let _ = live;
        todo!()
    }
}
