//! A link in the place of something of the store's own is refused, wherever it leads.
#![cfg(unix)]

use std::os::unix::fs::symlink;
use std::path::Path;

use skillpkg_store::content::{Store, StoreError};

use crate::support::{Home, blob_path, open_up, skill};

/// Moves `path` away and puts a link to it in its place.
fn replace_by_link(home: &Home, path: &Path) {
    let elsewhere = home.directory.path().join("elsewhere");
    std::fs::rename(path, &elsewhere).unwrap();
    symlink(&elsewhere, path).unwrap();
}

#[test]
fn a_link_in_the_place_of_a_directory_of_the_store_is_refused() {
    for directory in ["blobs", "blobs/sha256", "manifests", "snapshots", "tmp", "aside", "proofs"] {
        let home = Home::new();
        replace_by_link(&home, &home.path(directory));
        let error = Store::open(home.store.root()).unwrap_err();
        let StoreError::Misplaced { path, expected } = error else {
            panic!("{directory}: {error}")
        };
        assert_eq!((path, expected), (home.path(directory), "a directory"));
    }
}

#[test]
fn a_link_in_the_place_of_a_lock_or_the_format_is_refused() {
    for file in ["lock", "lock.gate"] {
        let home = Home::new();
        drop(home.store.lease().unwrap());
        replace_by_link(&home, &home.path(file));
        assert!(home.store.lease().is_err(), "{file}");
        assert!(home.store.collect(&[]).is_err(), "{file}");
    }
    let home = Home::new();
    replace_by_link(&home, &home.path("format"));
    assert!(Store::open(home.store.root()).is_err());
}

#[test]
fn the_way_to_the_store_may_hold_links() {
    let home = Home::new();
    let link = home.directory.path().join("link");
    symlink(home.store.root(), &link).unwrap();
    assert!(Store::open(&link).is_ok());
}

#[test]
fn a_link_in_the_place_of_a_shard_or_a_blob_is_refused() {
    let sample = skill("linked", &[("a.txt", b"a")]);
    let archive = sample.archive().unwrap();
    for place in ["shard", "blob", "directory"] {
        let home = Home::new();
        let lease = home.store.lease().unwrap();
        home.store.ingest(&lease, archive.as_slice(), None).unwrap();
        let blob = blob_path(&home.store, &sample.manifest, "a.txt");
        match place {
            "shard" => replace_by_link(&home, blob.parent().unwrap()),
            "blob" => replace_by_link(&home, &blob),
            _ => {
                std::fs::remove_file(&blob).unwrap();
                std::fs::create_dir(&blob).unwrap();
            }
        }
        let address = sample.manifest.file("a.txt").unwrap().sha256.address();
        for error in [
            home.store.read_blob(&address, 10).unwrap_err(),
            home.store.materialise(&lease, &sample.manifest).unwrap_err(),
            home.store.ingest(&lease, archive.as_slice(), None).unwrap_err(),
        ] {
            assert!(matches!(error, StoreError::Misplaced { .. }), "{place}: {error}");
        }
    }
}

#[test]
fn a_link_in_the_place_of_a_tree_is_refused_and_repaired() {
    let home = Home::new();
    let sample = skill("linked", &[("a.txt", b"a")]);
    let tree = home.install(&sample);
    open_up(&tree);
    replace_by_link(&home, &tree);
    let lease = home.store.lease().unwrap();
    for error in [
        home.store.materialise(&lease, &sample.manifest).unwrap_err(),
        home.store.verify_tree(&sample.manifest).unwrap_err(),
        home.store.open_tree(&sample.manifest).unwrap_err(),
        home.store.quarantine_extras(&sample.manifest).unwrap_err(),
    ] {
        assert!(matches!(&error, StoreError::Misplaced { path, .. } if *path == tree), "{error}");
    }
    assert_eq!(home.store.repair_tree(&lease, &sample.manifest).unwrap(), []);
    assert_eq!(home.store.verify_tree(&sample.manifest).unwrap(), []);
    assert!(home.directory.path().join("elsewhere/a.txt").exists());
}

#[test]
fn a_collection_removes_a_link_and_not_where_it_leads() {
    let home = Home::new();
    let sample = skill("linked", &[("a.txt", b"a")]);
    let tree = home.install(&sample);
    open_up(&tree);
    replace_by_link(&home, &tree);
    home.store.collect(&[]).unwrap();
    assert!(std::fs::symlink_metadata(&tree).is_err());
    assert!(home.directory.path().join("elsewhere/a.txt").exists());
}
