//! Trees: a snapshot's files as agents see them.

use std::fs::File;
use std::io::{self, Read, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, Metadata};
use skillpkg_schema::manifest::{FileEntry, Mode};
use skillpkg_schema::tree::{DirectoryTree, Tree as _};
use skillpkg_schema::{Blake3Digest, ContentAddress, Manifest};

use super::blob::{SMALL, hash, read_only, with_blob};
use super::directory::{
    Name, create_file, open_directory, open_listed, place_new, set_directory_mode,
};
use super::error::{AtPath as _, StoreError};
use super::layout::{Layout, misplaced, tree_name};
use super::temporary::TemporaryTree;

/// The permission bits of a tree's directories once it is whole.
pub(super) const READ_ONLY_DIRECTORY: u32 = 0o555;

/// Who may write what is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Nobody.
    ReadOnly,
    /// Its owner.
    Writable,
}

impl Access {
    fn file(self, mode: Mode) -> u32 {
        match self {
            Self::ReadOnly => read_only(mode),
            Self::Writable => mode.bits(),
        }
    }
}

/// Makes every file of `manifest` beneath `root`, which is empty and lies at `place`.
///
/// `content` writes each file. The root itself stays writable, since it is to be moved.
pub(super) fn fill(
    root: &Dir,
    place: &Path,
    manifest: &Manifest,
    access: Access,
    content: &mut dyn FnMut(&FileEntry, &mut File) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    // The directories that are open, outermost first. Paths are sorted, so each is entered once.
    let mut open: Vec<(&str, Dir)> = Vec::new();
    for entry in &manifest.files {
        let at = || place.join(entry.path.as_str());
        leave(&mut open, entry.path.as_str(), access).at(at)?;
        for parent in entry.path.parents().skip(open.len()) {
            let above = open.last().map_or(root, |(_, directory)| directory);
            let name = parent.rsplit('/').next().unwrap_or(parent);
            above.create_dir(name).at(at)?;
            open.push((parent, open_directory(above, name).at(at)?));
        }
        let directory = open.last().map_or(root, |(_, directory)| directory);
        let mode = access.file(entry.mode);
        let mut file = create_file(directory, entry.path.file_name(), mode).at(at)?;
        content(entry, &mut file)?;
    }
    leave(&mut open, "", access).at(|| place.to_owned())
}

/// Leaves the open directories that `path` is not beneath.
fn leave(open: &mut Vec<(&str, Dir)>, path: &str, access: Access) -> io::Result<()> {
    while let Some((_, directory)) = open.pop_if(|(name, _)| !is_beneath(path, name)) {
        if access == Access::ReadOnly {
            set_directory_mode(&directory, READ_ONLY_DIRECTORY)?;
        }
    }
    Ok(())
}

fn is_beneath(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

/// Writes the blob of `entry` to `out`, which is new and lies in `place`; re-hashed on the way.
///
/// A large one is cloned where the file system can, and then the clone is what is hashed.
pub(super) fn write_blob(
    layout: &Layout,
    entry: &FileEntry,
    out: &mut File,
    place: &Path,
) -> Result<(), StoreError> {
    with_blob(layout, entry, |blob| {
        let at = || place.join(entry.path.as_str());
        if entry.size > SMALL {
            // What a damaged blob has left there.
            out.set_len(0).and_then(|()| out.rewind()).at(at)?;
            if reflink_copy::reflink_file(blob, out).is_ok() {
                let is_whole = hash(out, entry.size).at(at)? == Some(entry.blake3);
                return Ok(is_whole.then_some(()));
            }
        }
        Ok(copy_verified(blob, entry, out).at(at)?.then_some(()))
    })
}

/// Writes the content of `entry` to `out`: its blob or, where that is absent or damaged, the file
/// of the snapshot's tree, whichever still has the bytes of the manifest.
pub(super) fn write_file(
    layout: &Layout,
    manifest: &Manifest,
    entry: &FileEntry,
    out: &mut File,
    place: &Path,
) -> Result<(), StoreError> {
    let missing = match write_blob(layout, entry, out, place) {
        Err(error @ (StoreError::Absent(_) | StoreError::Damaged { .. })) => error,
        answer => return answer,
    };
    let Ok(Some(directory)) = open(layout, &manifest.address()) else { return Err(missing) };
    let tree = DirectoryTree::from(directory);
    let Ok(mut file) = tree.open(entry.path.as_str()) else { return Err(missing) };
    let at = || place.join(entry.path.as_str());
    if copy_verified(&mut file, entry, out).at(at)? { Ok(()) } else { Err(missing) }
}

/// Copies what `from` holds into `out`, from its start; answers whether it was the content of
/// `entry`.
///
/// What is small is hashed in memory, and nothing else than those bytes is ever written.
fn copy_verified(from: &mut dyn Read, entry: &FileEntry, out: &mut File) -> io::Result<bool> {
    if entry.size <= SMALL {
        let mut bytes = Vec::with_capacity(usize::try_from(entry.size).unwrap_or(0) + 1);
        from.take(entry.size.saturating_add(1)).read_to_end(&mut bytes)?;
        let is_whole = Blake3Digest::of(&bytes) == entry.blake3;
        if is_whole {
            out.write_all(&bytes)?;
        }
        return Ok(is_whole);
    }
    out.set_len(0)?;
    out.rewind()?;
    Ok(hash(&mut Copying { from, to: out }, entry.size)? == Some(entry.blake3))
}

/// Writes what is read.
struct Copying<'file> {
    from: &'file mut dyn Read,
    to: &'file mut File,
}

impl Read for Copying<'_> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(piece)?;
        self.to.write_all(piece.get(..read).unwrap_or_default())?;
        Ok(read)
    }
}

/// The tree of a snapshot, made where it is not there.
///
/// Whoever is killed here leaves a tree in `tmp/`, or a whole one in place whose topmost directory
/// may still be writable, which the next call closes.
pub(super) fn materialise(layout: &Layout, manifest: &Manifest) -> Result<PathBuf, StoreError> {
    let address = manifest.address();
    let name = tree_name(&address);
    let path = layout.snapshot_path(&name);
    if stands(layout, &address)? {
        return Ok(path);
    }
    let tree = build(layout, manifest)?;
    if place_new(layout.temporary(), tree.name(), layout.snapshots(), &name).at(|| path.clone())? {
        tree.placed();
        close(layout, &name).at(|| path.clone())?;
        layout.written().remember(|| path.clone());
    }
    // Where another process was first, its tree was made as ours was and came whole too.
    Ok(path)
}

/// Opens the tree of a snapshot; [`None`] where there is none.
pub(super) fn open(layout: &Layout, snapshot: &ContentAddress) -> Result<Option<Dir>, StoreError> {
    open_as(layout, snapshot, |parent, name| open_directory(parent, name))
}

/// Opens the tree of a snapshot and reads the names in it; [`None`] where there is none.
pub(super) fn list(
    layout: &Layout,
    snapshot: &ContentAddress,
) -> Result<Option<(Dir, Vec<Name>)>, StoreError> {
    open_as(layout, snapshot, open_listed)
}

fn open_as<T>(
    layout: &Layout,
    snapshot: &ContentAddress,
    open: impl Fn(&Dir, &str) -> io::Result<T>,
) -> Result<Option<T>, StoreError> {
    let name = tree_name(snapshot);
    match open(layout.snapshots(), &name) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let place = layout.snapshot_path("");
            Err(misplaced(layout.snapshots(), &place, &name, "a directory", error))
        }
    }
}

/// Closes a tree that was moved into place: its topmost directory becomes read-only.
pub(super) fn close(layout: &Layout, name: &str) -> io::Result<()> {
    set_directory_mode(&open_directory(layout.snapshots(), name)?, READ_ONLY_DIRECTORY)
}

/// Whether a snapshot's tree stands; one that was not closed yet is closed.
fn stands(layout: &Layout, snapshot: &ContentAddress) -> Result<bool, StoreError> {
    let Some(directory) = open(layout, snapshot)? else { return Ok(false) };
    let path = || layout.snapshot_path(&tree_name(snapshot));
    if is_writable(&directory.dir_metadata().at(path)?) {
        set_directory_mode(&directory, READ_ONLY_DIRECTORY).at(path)?;
    }
    Ok(true)
}

#[cfg(unix)]
fn is_writable(directory: &Metadata) -> bool {
    use cap_std::fs::MetadataExt as _;
    directory.mode() & 0o222 != 0
}

#[cfg(not(unix))]
fn is_writable(_: &Metadata) -> bool {
    false
}

/// Builds a snapshot's tree from its blobs in `tmp/`, all but its topmost directory read-only.
pub(super) fn build<'store>(
    layout: &'store Layout,
    manifest: &Manifest,
) -> Result<TemporaryTree<'store>, StoreError> {
    let (tree, directory) =
        TemporaryTree::create(layout.temporary(), "tree").at(|| layout.temporary_path("tree"))?;
    let place = layout.temporary_path(tree.name());
    fill(&directory, &place, manifest, Access::ReadOnly, &mut |entry, file| {
        write_blob(layout, entry, file, &place)
    })?;
    Ok(tree)
}
