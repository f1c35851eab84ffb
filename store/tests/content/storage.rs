//! Storage that is full or cannot be written to: a typed error, and nothing left behind.
#![cfg(target_os = "linux")]

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use skillpkg_store::content::{Store, StoreError};

use crate::skips::skipped;
use crate::support::{Home, skill};

/// A small file system in memory, unmounted when dropped; [`None`] where this process may not mount.
struct Small<'path>(&'path Path);

impl<'path> Small<'path> {
    fn mount(path: &'path Path) -> Option<Self> {
        let mounted = mount(&["-t", "tmpfs", "-o", "size=1m", "tmpfs"], path);
        mounted.then_some(Self(path))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

fn mount(arguments: &[&str], path: &Path) -> bool {
    let status = Command::new("mount").args(arguments).arg(path).status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn a_full_or_read_only_disk_is_a_typed_error_and_leaves_nothing() {
    let home = Home::new();
    let place = home.directory.path().join("small");
    std::fs::create_dir(&place).unwrap();
    let Some(_mounted) = Small::mount(&place) else {
        let test = "a_full_or_read_only_disk_is_a_typed_error_and_leaves_nothing";
        return skipped(test, "the privilege to mount a file system", false);
    };
    let store = Store::open(&place.join("store")).unwrap();
    let large: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
    let sample = skill("large", &[("a.bin", &large), ("b.bin", &large[1..]), ("c.txt", b"c")]);
    let archive = sample.archive().unwrap();
    let lease = store.lease().unwrap();
    let refused = store.ingest(&lease, archive.as_slice(), None);
    let Err(StoreError::Io { path, source }) = refused else { panic!("{refused:?}") };
    assert_eq!(source.kind(), ErrorKind::StorageFull);
    assert!(path.starts_with(store.root().join("tmp")), "{}", path.display());
    assert!(store.snapshots().unwrap().is_empty());
    drop(lease);
    assert!(std::fs::read_dir(store.root().join("tmp")).unwrap().next().is_none());

    // Room for the blobs and not for the tree.
    assert!(mount(&["-o", "remount,size=2500k"], &place));
    let lease = store.lease().unwrap();
    store.ingest(&lease, archive.as_slice(), None).unwrap();
    let refused = store.materialise(&lease, &sample.manifest);
    let Err(StoreError::Io { source, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(source.kind(), ErrorKind::StorageFull);
    let copy = place.join("copy");
    assert!(store.copy_tree(&sample.manifest, &copy).is_err() && !copy.exists());
    drop(lease);
    assert!(std::fs::read_dir(store.root().join("tmp")).unwrap().next().is_none());

    assert!(mount(&["-o", "remount,size=20m"], &place));
    let lease = store.lease().unwrap();
    store.materialise(&lease, &sample.manifest).unwrap();
    drop(lease);

    assert!(mount(&["-o", "remount,ro"], &place));
    let store = Store::open(store.root()).unwrap();
    assert_eq!(store.verify_tree(&sample.manifest).unwrap(), []);
    assert!(store.stored(&sample.manifest.address()).unwrap().is_some());
    let refused = store.lease();
    let Err(StoreError::Io { source, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(source.kind(), ErrorKind::ReadOnlyFilesystem);
}
