//! The content store: a machine's blobs and snapshots, found by their addresses alone.

mod blob;
mod collect;
mod copy;
mod damage;
mod directory;
mod error;
mod format;
mod ingest;
mod layout;
mod lease;
mod lock;
mod private;
mod read;
mod record;
mod repair;
mod sync;
mod temporary;
mod tree;
mod unpacked;
mod verify;

pub use collect::{Collected, Collection};
pub use error::StoreError;
pub use lease::Lease;
pub use private::PrivateCopy;
pub use repair::SetAside;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use skillpkg_schema::address::Digests;
use skillpkg_schema::signature::Envelope;
use skillpkg_schema::tree::DirectoryTree;
use skillpkg_schema::{ContentAddress, Manifest, SkillPath};

use directory::open_listed;
use error::AtPath as _;
use layout::Layout;
use lease::Patience;

/// One thing in a snapshot's tree that is not as its manifest says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeProblem {
    /// What is wrong.
    pub kind: TreeProblemKind,
    /// Where, relative to the tree; a path that is not UTF-8 is shown escaped.
    pub path: String,
}

/// What can be wrong with a file of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// A machine's store. Cheap to clone; safe to use from many threads and many processes.
#[derive(Debug, Clone)]
pub struct Store {
    layout: Arc<Layout>,
    patience: Patience,
}

impl Store {
    /// Opens the store at `root`, made where it is absent.
    ///
    /// A store of a later format is refused, and so is one with a link in the place of a directory
    /// of its own. The way to the root may hold links.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        let layout = Arc::new(Layout::open(root)?);
        format::check(&layout)?;
        Ok(Self { layout, patience: Patience::default() })
    }

    /// Opens the store at `root` to look at what is there: nothing is made in it, and what turns out
    /// to be damaged stays where it is; [`None`] where there is no store, or no whole one.
    pub fn look(root: &Path) -> Result<Option<Self>, StoreError> {
        let Some(layout) = Layout::look(root)?.map(Arc::new) else { return Ok(None) };
        Ok(format::is_known(&layout)?.then(|| Self { layout, patience: Patience::default() }))
    }

    /// Whether it was opened by [`Store::look`]: whoever finds damage in it leaves it there.
    pub fn is_looking(&self) -> bool {
        self.layout.is_looking()
    }

    /// Where it lies, as an absolute path.
    pub fn root(&self) -> &Path {
        self.layout.path()
    }

    /// Keeps `gc` from what comes while the lease is held.
    ///
    /// Waits for a collection at work. On a file system without locks the lease is held in name
    /// alone, and nothing can be collected there.
    pub fn lease(&self) -> Result<Lease, StoreError> {
        Lease::take(&self.layout, &self.patience)
    }

    /// Unpacks an archive into blobs and its manifest.
    ///
    /// Streams; the archive is checked whole before anything in it is found by its address, but its
    /// signature is the caller's to verify before the snapshot is believed. `wanted` refuses
    /// another snapshot as soon as its manifest is read. Capabilities are derived from the files
    /// again, and must be those of the manifest. A damaged blob of the same address is
    /// replaced. Signatures kept for the same manifest are replaced by the archive's.
    ///
    /// Whoever is killed here leaves things in `tmp/` and whole blobs, and the snapshot is found or
    /// is not. Nothing survives a loss of power for certain before [`Store::sync`]; what such a
    /// loss tore is found damaged when it is used.
    pub fn ingest(
        &self,
        _lease: &Lease,
        archive: impl Read,
        wanted: Option<&ContentAddress>,
    ) -> Result<Ingested, StoreError> {
        ingest::ingest(&self.layout, archive, wanted)
    }

    /// Makes all that was written so far survive a crash: once an install, not once a file.
    pub fn sync(&self) -> Result<(), StoreError> {
        sync::sync(&self.layout)
    }

    /// The manifest and signatures of a snapshot, by an address of either algorithm; [`None`] where
    /// it is absent.
    ///
    /// Both are re-hashed. A damaged record is set aside and told once as
    /// [`StoreError::Damaged`]; from then on it is absent.
    pub fn stored(&self, snapshot: &ContentAddress) -> Result<Option<Stored>, StoreError> {
        record::read(&self.layout, snapshot)
    }

    /// The SHA-256 addresses of every snapshot kept, sorted.
    pub fn snapshots(&self) -> Result<Vec<ContentAddress>, StoreError> {
        let digests = record::list(&self.layout)?;
        Ok(digests.into_iter().map(skillpkg_schema::Sha256Digest::address).collect())
    }

    /// The tree of a snapshot as agents see it, made of blobs where it is not there yet: a
    /// read-only directory with nothing of ours inside. Answers with its path, the same for one
    /// snapshot always.
    ///
    /// Every blob is re-hashed as it is copied. A tree that is there already is not: see
    /// [`Store::verify_tree`]. Whoever is killed here leaves no part of a tree in place.
    pub fn materialise(&self, _lease: &Lease, manifest: &Manifest) -> Result<PathBuf, StoreError> {
        tree::materialise(&self.layout, manifest)
    }

    /// Where the tree of a snapshot lies, whether or not it is there.
    ///
    /// For a BLAKE3 address of no snapshot in the store, a path where nothing ever lies.
    pub fn tree_path(&self, snapshot: &ContentAddress) -> PathBuf {
        let known = record::resolve(&self.layout, snapshot).ok().flatten();
        let address = known.map_or(*snapshot, skillpkg_schema::Sha256Digest::address);
        self.layout.snapshot_path(&layout::tree_name(&address))
    }

    /// A snapshot's tree, to be read beneath its handle without following a link.
    pub fn open_tree(&self, manifest: &Manifest) -> Result<DirectoryTree, StoreError> {
        match tree::open(&self.layout, &manifest.address())? {
            Some(directory) => Ok(DirectoryTree::from(directory)),
            None => Err(StoreError::Absent(manifest.address())),
        }
    }

    /// Re-hashes a snapshot's tree, every file by content; what is wrong, sorted by path.
    ///
    /// A directory too many is one problem, with what is in it. Where the whole tree is absent each
    /// file is missing; where something else stands in its place, [`StoreError::Misplaced`].
    pub fn verify_tree(&self, manifest: &Manifest) -> Result<Vec<TreeProblem>, StoreError> {
        self.verify_tree_at(&manifest.address(), manifest)
    }

    /// [`Store::verify_tree`] for a caller that knows the manifest's SHA-256 address.
    pub fn verify_tree_at(
        &self,
        address: &ContentAddress,
        manifest: &Manifest,
    ) -> Result<Vec<TreeProblem>, StoreError> {
        let place = self.layout.snapshot_path(&layout::tree_name(address));
        match tree::list(&self.layout, address)? {
            Some(listed) => verify::verify(listed, &place, manifest),
            None => Ok(verify::all_missing(manifest)),
        }
    }

    /// Re-hashes a copy of a snapshot at `directory`, every file by content; what is wrong, sorted
    /// by path.
    ///
    /// The way to `directory` may hold links, and it may be one; what is beneath it may not. Where
    /// no directory is there each file is missing.
    pub fn verify_copy(
        &self,
        manifest: &Manifest,
        directory: &Path,
    ) -> Result<Vec<TreeProblem>, StoreError> {
        match Dir::open_ambient_dir(directory, ambient_authority()) {
            Ok(opened) => {
                let listed = open_listed(&opened, ".").at(|| directory.to_owned())?;
                verify::verify(listed, directory, manifest)
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(verify::all_missing(manifest))
            }
            Err(error) => Err(StoreError::io(directory, error)),
        }
    }

    /// Makes a snapshot's tree whole again from its blobs: what is wrong is set aside, never
    /// deleted. Answers with the files whose blobs are absent or damaged too, which must be fetched
    /// again; where there are any, the tree is left as it was.
    ///
    /// A file of which only the tree's own bytes are left is taken from there. Where anything but
    /// files too many is wrong, the whole old tree goes to `aside/` and a new one takes its place in
    /// one step.
    pub fn repair_tree(
        &self,
        _lease: &Lease,
        manifest: &Manifest,
    ) -> Result<Vec<SkillPath>, StoreError> {
        repair::repair(&self.layout, manifest)
    }

    /// Sets aside what a snapshot's tree holds and its manifest does not, such as a `__pycache__`
    /// that a run left: moved to `aside/`, never run, never deleted. Answers with what was moved.
    pub fn quarantine_extras(&self, manifest: &Manifest) -> Result<Vec<SetAside>, StoreError> {
        repair::quarantine_extras(&self.layout, manifest)
    }

    /// Copies a snapshot into a new directory at `target`, writable by its owner. `target` must not
    /// exist; it appears whole or not at all.
    ///
    /// Made beside it, in the same directory, whose handle is held from the start. What a copy that
    /// was killed left there, the next one removes; on Windows, where a directory cannot be locked,
    /// it stays, under a name that starts with `.skillpkg-copy-`.
    pub fn copy_tree(&self, manifest: &Manifest, target: &Path) -> Result<(), StoreError> {
        copy::copy_tree(&self.layout, manifest, target)
    }

    /// As [`Store::copy_tree`], into a directory whose handle is held already: a link that takes the
    /// place of a directory above it leads nowhere else. `place` is what messages call it.
    pub fn copy_tree_into(
        &self,
        manifest: &Manifest,
        directory: &Dir,
        place: &Path,
        name: &str,
    ) -> Result<(), StoreError> {
        copy::copy_into(&self.layout, manifest, directory, place, name)
    }

    /// Copies a snapshot into a directory that only this user reaches, read-only, for as long as the
    /// value lives: what was compared with the manifest is what is there, whoever else writes in the
    /// snapshot's tree meanwhile.
    ///
    /// Every file is re-hashed as it is copied. What a process that was killed left, a later copy
    /// removes.
    pub fn private_copy(&self, manifest: &Manifest) -> Result<PrivateCopy, StoreError> {
        PrivateCopy::make(&self.layout, manifest)
    }

    /// The bytes of a blob of at most `limit` bytes, re-hashed.
    ///
    /// By a BLAKE3 address it is found where a snapshot kept here lists it.
    pub fn read_blob(&self, blob: &ContentAddress, limit: u64) -> Result<Vec<u8>, StoreError> {
        read::read_blob(&self.layout, blob, limit)
    }

    /// Writes the bytes of a blob of any length to `out`, each verified before it is written;
    /// answers with how many.
    ///
    /// Needs little memory, since the blob is read twice. Where the blob is damaged nothing at all
    /// was written, unless it was changed in the moment between.
    pub fn write_blob_to(
        &self,
        blob: &ContentAddress,
        out: &mut dyn Write,
    ) -> Result<u64, StoreError> {
        read::write_blob_to(&self.layout, blob, out)
    }

    /// Keeps installs out until the collection is finished or dropped; waits for those under way.
    ///
    /// What is live is to be found out after this: an install that ends in between would otherwise
    /// lose what it has just brought.
    pub fn begin_collection(&self) -> Result<Collection, StoreError> {
        Collection::begin(&self.layout, &self.patience)
    }

    /// Removes the snapshots that are not among `live`, and the blobs of no snapshot that stays.
    ///
    /// What came while a lease is held anywhere stays: it is waited for. For a `live` that installs
    /// may change meanwhile, see [`Store::begin_collection`].
    pub fn collect(&self, live: &[ContentAddress]) -> Result<Collected, StoreError> {
        self.begin_collection()?.finish(live)
    }
}
