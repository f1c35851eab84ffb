//! Collection: what nothing refers to any more is removed, beside installs and never under them.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use cap_std::fs::Dir;
use skillpkg_schema::{ContentAddress, Sha256Digest};

use super::blob::parse_name;
use super::directory::{WRITABLE_DIRECTORY, open_directory, remove_all, set_directory_mode};
use super::error::{AtPath as _, StoreError};
use super::layout::{Layout, snapshot_of_tree};
use super::lease::{Patience, lease_holder};
use super::lock::{Lock, LockFile, holder, is_unsupported};
use super::record;
use super::temporary::with_free_name;

/// What the name of a directory starts with that is to be deleted.
const GRAVE: &str = "removing";

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

/// A collection that keeps every install out while it lasts.
///
/// Begin it, then find out what is live, then finish it: whatever an install brought in is referred
/// to by then. Dropped unfinished, nothing was removed.
#[derive(Debug)]
pub struct Collection {
    layout: Arc<Layout>,
    // Let go in this order, so that who waits at the gate finds the store free.
    _store: Lock,
    _gate: Lock,
}

impl Collection {
    /// Closes the gate to new leases and waits for those that are held.
    pub(super) fn begin(layout: &Arc<Layout>, patience: &Patience) -> Result<Self, StoreError> {
        let held = |pid: String| StoreError::Held { path: layout.path().to_owned(), pid };
        let lock = |which: LockFile| -> Result<Option<Lock>, StoreError> {
            let path = || layout.path().join(which.name());
            let unlocked = which.open(layout).at(path)?;
            unlocked.exclusive(patience.collection).map_err(|error| {
                let error = if is_unsupported(&error) {
                    let message = "the file system has no locks, so nothing can be removed while \
                                   an install may run";
                    io::Error::new(io::ErrorKind::Unsupported, message)
                } else {
                    error
                };
                StoreError::io(path(), error)
            })
        };
        let Some(mut gate) = lock(LockFile::Gate)? else {
            return Err(held(holder(layout, LockFile::Gate)));
        };
        // Only for those who wait too long; a disk that has no room for it is why this runs.
        let _ = gate.sign();
        match lock(LockFile::Store)? {
            Some(store) => Ok(Self { layout: layout.clone(), _store: store, _gate: gate }),
            None => Err(held(lease_holder(layout))),
        }
    }

    /// Removes the snapshots that are not among `live`, and the blobs of no snapshot that stays.
    ///
    /// Also what lies in `tmp/`, which nobody can be at work on. What was set aside from a tree
    /// stays. Installs are let in as soon as all of it is out of its place, before it is deleted,
    /// which takes much longer. Whoever is killed here leaves whole snapshots and blobs, and in
    /// `tmp/` what the next collection deletes.
    pub fn finish(self, live: &[ContentAddress]) -> Result<Collected, StoreError> {
        let layout = self.layout.clone();
        let mut left = Grave::dig(&layout)?;
        left.bury_temporary()?;
        let mut grave = Grave::dig(&layout)?;
        let live = resolve_all(&layout, live)?;
        // First the records: from then on the snapshot is not found, whatever is left of it.
        let mut kept = Vec::new();
        let mut collected = Collected::default();
        for snapshot in record::list(&layout)? {
            if live.contains(&snapshot) {
                kept.push(snapshot);
            } else {
                let name = snapshot.to_string();
                grave.bury(layout.manifests(), &name).at(|| layout.manifest_path(&name))?;
                collected.snapshots += 1;
            }
        }
        bury_trees(&layout, &live, &mut grave)?;
        if let Some(wanted) = blobs_of(&layout, &kept)? {
            collected.blobs = bury_blobs(&layout, &wanted, &mut grave)?;
        }
        drop(self);
        left.empty()?;
        collected.bytes = grave.empty()?;
        Ok(collected)
    }
}

/// A directory in `tmp/` for what is to be deleted.
struct Grave<'store> {
    layout: &'store Layout,
    name: String,
    directory: Dir,
    buried: u64,
}

impl<'store> Grave<'store> {
    fn dig(layout: &'store Layout) -> Result<Self, StoreError> {
        let at = || layout.temporary_path(GRAVE);
        let temporary = layout.temporary();
        let (name, ()) = with_free_name(GRAVE, |name| temporary.create_dir(name)).at(at)?;
        let directory = open_directory(temporary, &name).at(at)?;
        Ok(Self { layout, name, directory, buried: 0 })
    }

    /// Takes what stands at `name` out of its place, in one step.
    fn bury(&mut self, directory: &Dir, name: &str) -> io::Result<()> {
        if let Ok(buried) = open_directory(directory, name) {
            // A directory that goes to another parent is written to, since its `..` changes.
            set_directory_mode(&buried, WRITABLE_DIRECTORY)?;
        }
        directory.rename(name, &self.directory, self.buried.to_string())?;
        self.buried += 1;
        Ok(())
    }

    /// Takes all that lies in `tmp/` but this.
    fn bury_temporary(&mut self) -> Result<(), StoreError> {
        let layout = self.layout;
        let at = || layout.temporary_path("");
        for entry in layout.temporary().entries().at(at)? {
            let name = entry.at(at)?.file_name();
            // We make no other names; what somebody else put there is theirs.
            let Some(name) = name.to_str().filter(|name| *name != self.name) else { continue };
            match self.bury(layout.temporary(), name) {
                // A collection before this one has just deleted it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                answer => answer.at(|| layout.temporary_path(name))?,
            }
        }
        Ok(())
    }

    /// Deletes all of it; answers with the bytes of its files.
    fn empty(self) -> Result<u64, StoreError> {
        let Self { layout, name, directory, .. } = self;
        drop(directory);
        remove_all(layout.temporary(), &name).at(|| layout.temporary_path(&name))
    }
}

/// The digests of the snapshots that stay; a BLAKE3 address that the store does not know says
/// nothing.
fn resolve_all(
    layout: &Layout,
    live: &[ContentAddress],
) -> Result<HashSet<Sha256Digest>, StoreError> {
    let mut digests = HashSet::new();
    for address in live {
        digests.extend(record::resolve(layout, address)?);
    }
    Ok(digests)
}

/// Takes away the trees of snapshots that are not live.
fn bury_trees(
    layout: &Layout,
    live: &HashSet<Sha256Digest>,
    grave: &mut Grave<'_>,
) -> Result<(), StoreError> {
    let at = || layout.snapshot_path("");
    for entry in layout.snapshots().entries().at(at)? {
        let name = entry.at(at)?.file_name();
        let Some(name) = name.to_str() else { continue };
        let Some(snapshot) = snapshot_of_tree(name) else { continue };
        if !live.contains(&snapshot) {
            grave.bury(layout.snapshots(), name).at(|| layout.snapshot_path(name))?;
        }
    }
    Ok(())
}

/// The blobs of the snapshots that stay; [`None`] where one of their manifests is damaged, and no
/// blob can be told to be of none.
fn blobs_of(
    layout: &Layout,
    kept: &[Sha256Digest],
) -> Result<Option<HashSet<Sha256Digest>>, StoreError> {
    let mut blobs = HashSet::new();
    for snapshot in kept {
        match record::read(layout, &snapshot.address()) {
            Ok(stored) => {
                let files = stored.into_iter().flat_map(|stored| stored.manifest.files);
                blobs.extend(files.map(|file| file.sha256));
            }
            Err(StoreError::Damaged { .. }) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(Some(blobs))
}

/// Takes away the blobs that are not wanted; answers with how many.
fn bury_blobs(
    layout: &Layout,
    wanted: &HashSet<Sha256Digest>,
    grave: &mut Grave<'_>,
) -> Result<u64, StoreError> {
    let at = || layout.shard_path("");
    let mut buried = 0;
    for shard in layout.blobs().entries().at(at)? {
        let shard_name = shard.at(at)?.file_name();
        let Some(shard_name) = shard_name.to_str() else { continue };
        let Ok(shard) = open_directory(layout.blobs(), shard_name) else { continue };
        let at = || layout.shard_path(shard_name);
        for entry in shard.entries().at(at)? {
            let name = entry.at(at)?.file_name();
            let Some(name) = name.to_str() else { continue };
            // One for either mode has the bytes, and may be the last that is whole.
            let Some((blob, _)) = parse_name(name) else { continue };
            if !wanted.contains(&blob) {
                grave.bury(&shard, name).at(|| at().join(name))?;
                buried += 1;
            }
        }
    }
    Ok(buried)
}
