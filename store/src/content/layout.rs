//! Where things lie beneath the store's root, each directory opened once and held.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use skillpkg_schema::{Algorithm, ContentAddress, Sha256Digest};

use super::directory::{make_directory, open_directory};
use super::error::{AtPath as _, StoreError};
use super::sync::Written;

const BLOBS: &str = "blobs";
const SHA256: &str = "sha256";
const MANIFESTS: &str = "manifests";
const SNAPSHOTS: &str = "snapshots";
const TEMPORARY: &str = "tmp";
const ASIDE: &str = "aside";
const PROOFS: &str = "proofs";

/// The store's directories, opened beneath its root without following a link.
#[derive(Debug)]
pub(super) struct Layout {
    path: PathBuf,
    root: Dir,
    blobs: Dir,
    manifests: Dir,
    snapshots: Dir,
    temporary: Dir,
    aside: Dir,
    written: Written,
    /// Whether it is only looked at: then nothing in it is moved.
    is_looking: bool,
}

impl Layout {
    /// Opens every directory of the store at `root`, each made where it is absent.
    ///
    /// A root that is not there is made for its owner alone, as the XDG base directory
    /// specification asks. The way to it may hold links; nothing beneath it may.
    pub(super) fn open(root: &Path) -> Result<Self, StoreError> {
        let path = std::path::absolute(root).at(|| root.to_owned())?;
        make_root(&path).at(|| path.clone())?;
        let root = Dir::open_ambient_dir(&path, ambient_authority()).at(|| path.clone())?;
        let beneath = |parent: &Dir, place: &Path, name: &str| -> Result<Dir, StoreError> {
            open_own(parent, &path.join(place), name)
        };
        let top = Path::new("");
        let blobs = beneath(&root, top, BLOBS)?;
        let blobs = beneath(&blobs, Path::new(BLOBS), SHA256)?;
        let manifests = beneath(&root, top, MANIFESTS)?;
        let snapshots = beneath(&root, top, SNAPSHOTS)?;
        let temporary = beneath(&root, top, TEMPORARY)?;
        let aside = beneath(&root, top, ASIDE)?;
        beneath(&root, top, PROOFS)?;
        let written = Written::default();
        let is_looking = false;
        Ok(Self { path, root, blobs, manifests, snapshots, temporary, aside, written, is_looking })
    }

    /// As [`Layout::open`], and makes nothing; [`None`] where there is no store, or no whole one.
    pub(super) fn look(root: &Path) -> Result<Option<Self>, StoreError> {
        let path = std::path::absolute(root).at(|| root.to_owned())?;
        let root = match Dir::open_ambient_dir(&path, ambient_authority()) {
            Ok(root) => root,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io(path, error)),
        };
        let beneath = |parent: &Dir, place: &str, name: &str| -> Result<Option<Dir>, StoreError> {
            match open_directory(parent, name) {
                Ok(directory) => Ok(Some(directory)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(misplaced(parent, &path.join(place), name, "a directory", error)),
            }
        };
        let Some(blobs) = beneath(&root, "", BLOBS)? else { return Ok(None) };
        let Some(blobs) = beneath(&blobs, BLOBS, SHA256)? else { return Ok(None) };
        let Some(manifests) = beneath(&root, "", MANIFESTS)? else { return Ok(None) };
        let Some(snapshots) = beneath(&root, "", SNAPSHOTS)? else { return Ok(None) };
        let Some(temporary) = beneath(&root, "", TEMPORARY)? else { return Ok(None) };
        let Some(aside) = beneath(&root, "", ASIDE)? else { return Ok(None) };
        let (written, is_looking) = (Written::default(), true);
        Ok(Some(Self {
            path,
            root,
            blobs,
            manifests,
            snapshots,
            temporary,
            aside,
            written,
            is_looking,
        }))
    }

    /// Whether it is only looked at.
    pub(super) fn is_looking(&self) -> bool {
        self.is_looking
    }

    /// Where the store lies, an absolute path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The root.
    pub(super) fn root(&self) -> &Dir {
        &self.root
    }

    /// `blobs/sha256`, a directory for each first byte of a digest beneath it.
    pub(super) fn blobs(&self) -> &Dir {
        &self.blobs
    }

    /// `manifests`, a file for each snapshot.
    pub(super) fn manifests(&self) -> &Dir {
        &self.manifests
    }

    /// `snapshots`, a tree for each snapshot that was materialised.
    pub(super) fn snapshots(&self) -> &Dir {
        &self.snapshots
    }

    /// `tmp`: nothing in it means anything once no lease is held.
    pub(super) fn temporary(&self) -> &Dir {
        &self.temporary
    }

    /// `aside`: what stood in a tree and did not belong there.
    pub(super) fn aside(&self) -> &Dir {
        &self.aside
    }

    /// What a sync has to reach.
    pub(super) fn written(&self) -> &Written {
        &self.written
    }

    /// The path of the directory of blobs whose digests start with `shard`.
    pub(super) fn shard_path(&self, shard: &str) -> PathBuf {
        self.path.join(BLOBS).join(SHA256).join(shard)
    }

    /// The path of a manifest.
    pub(super) fn manifest_path(&self, name: &str) -> PathBuf {
        self.path.join(MANIFESTS).join(name)
    }

    /// The path of a snapshot's tree.
    pub(super) fn snapshot_path(&self, name: &str) -> PathBuf {
        self.path.join(SNAPSHOTS).join(name)
    }

    /// The path of something temporary.
    pub(super) fn temporary_path(&self, name: &str) -> PathBuf {
        self.path.join(TEMPORARY).join(name)
    }

    /// The path of something set aside.
    pub(super) fn aside_path(&self, name: &str) -> PathBuf {
        self.path.join(ASIDE).join(name)
    }
}

/// Opens a directory of the store's own, made where it is absent.
pub(super) fn open_own(parent: &Dir, place: &Path, name: &str) -> Result<Dir, StoreError> {
    make_directory(parent, name)
        .map_err(|error| misplaced(parent, place, name, "a directory", error))
}

/// The error for something of the store's own that could not be opened: that another thing stands
/// in its place, where that is the reason.
pub(super) fn misplaced(
    parent: &Dir,
    place: &Path,
    name: &str,
    expected: &'static str,
    error: io::Error,
) -> StoreError {
    let path = place.join(name);
    match parent.symlink_metadata(name) {
        Ok(found) if found.is_dir() == (expected == "a directory") && !found.is_symlink() => {
            StoreError::io(path, error)
        }
        Ok(_) => StoreError::Misplaced { path, expected },
        Err(_) => StoreError::io(path, error),
    }
}

/// The name of a snapshot's tree; without the colon of an address, which Windows cannot hold.
pub(super) fn tree_name(snapshot: &ContentAddress) -> String {
    format!("{}-{}", snapshot.algorithm().name(), snapshot.hex())
}

/// The snapshot whose tree has this name.
pub(super) fn snapshot_of_tree(name: &str) -> Option<Sha256Digest> {
    name.strip_prefix(Algorithm::Sha256.name())?.strip_prefix('-')?.parse().ok()
}

fn make_root(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path)
}

#[cfg(test)]
mod tests {
    use crate::content::{Store, StoreError};

    #[test]
    fn looking_makes_nothing_and_leaves_what_is_damaged() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("store");
        assert!(Store::look(&root).unwrap().is_none());
        assert!(!root.exists());
        drop(Store::open(&root).unwrap());
        let address = skillpkg_schema::Sha256Digest::of(b"x").address();
        let record = root.join("manifests").join(address.hex());
        std::fs::write(&record, "damaged").unwrap();
        let list = || std::fs::read_dir(root.join("tmp")).unwrap().count();
        let store = Store::look(&root).unwrap().unwrap();
        let _lease = store.lease().unwrap();
        assert!(matches!(store.stored(&address), Err(StoreError::Damaged { .. })));
        assert!(record.exists() && list() == 0 && store.is_looking());
        // Whoever may change it sets it aside.
        let store = Store::open(&root).unwrap();
        assert!(matches!(store.stored(&address), Err(StoreError::Damaged { .. })));
        assert!(!record.exists() && list() == 1);
        std::fs::remove_dir(root.join("aside")).unwrap();
        assert!(Store::look(&root).unwrap().is_none());
    }
}
