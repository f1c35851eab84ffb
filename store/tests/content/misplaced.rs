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

/// Puts something in the place of `path` that the store never puts there.
fn replace_by(home: &Home, path: &Path, what: &str) {
    match what {
        "link" => replace_by_link(home, path),
        "dangling link" => {
            std::fs::rename(path, home.directory.path().join("elsewhere")).unwrap();
            symlink("/nowhere", path).unwrap();
        }
        "pipe" => {
            std::fs::rename(path, home.directory.path().join("elsewhere")).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        }
        _ => {
            std::fs::rename(path, home.directory.path().join("elsewhere")).unwrap();
            std::fs::create_dir(path).unwrap();
        }
    }
}

#[test]
fn what_stands_in_the_place_of_a_shard_or_a_blob_is_set_aside_and_the_blob_comes_again() {
    let sample = skill("linked", &[("a.txt", b"a")]);
    let archive = sample.archive().unwrap();
    for what in ["link", "dangling link", "pipe", "directory"] {
        for is_shard in [false, true] {
            if is_shard && what == "directory" {
                continue;
            }
            for read_first in [false, true] {
                let home = Home::new();
                let lease = home.store.lease().unwrap();
                home.store.ingest(&lease, archive.as_slice(), None).unwrap();
                let blob = blob_path(&home.store, &sample.manifest, "a.txt");
                let place = if is_shard { blob.parent().unwrap() } else { &blob };
                replace_by(&home, place, what);
                let address = sample.manifest.file("a.txt").unwrap().sha256.address();
                if read_first {
                    for error in [
                        home.store.read_blob(&address, 10).unwrap_err(),
                        home.store.materialise(&lease, &sample.manifest).unwrap_err(),
                    ] {
                        assert!(matches!(error, StoreError::Absent(_)), "{what}: {error}");
                    }
                }
                home.store.ingest(&lease, archive.as_slice(), None).unwrap();
                assert_eq!(home.store.read_blob(&address, 10).unwrap(), b"a", "{what}");
                assert!(home.directory.path().join("elsewhere").exists());
                drop(lease);
                home.store.collect(&[]).unwrap();
                assert!(home.directory.path().join("elsewhere").exists());
            }
        }
    }
}

#[test]
fn what_stands_in_the_place_of_a_record_is_damage_once_and_the_record_comes_again() {
    let sample = skill("linked", &[("a.txt", b"a")]);
    let other = skill("other", &[("b.txt", b"b")]);
    let archive = sample.archive().unwrap();
    for what in ["link", "dangling link", "pipe", "directory"] {
        let home = Home::new();
        let lease = home.store.lease().unwrap();
        for sample in [&sample, &other] {
            let archive = sample.archive().unwrap();
            home.store.ingest(&lease, archive.as_slice(), None).unwrap();
        }
        let (address, kept) = (sample.manifest.address(), other.manifest.address());
        let record = home.path("manifests").join(address.hex());
        replace_by(&home, &record, what);
        drop(lease);
        // A collection is not stopped, and removes no blob that may be of the damaged snapshot.
        let collected = home.store.collect(&[address, kept]).unwrap();
        assert_eq!((collected.snapshots, collected.blobs), (0, 0), "{what}");
        assert!(home.store.stored(&address).unwrap().is_none());
        assert!(home.store.stored(&kept).unwrap().is_some());
        let lease = home.store.lease().unwrap();
        home.store.ingest(&lease, archive.as_slice(), None).unwrap();
        assert!(home.store.stored(&address).unwrap().is_some());
        replace_by_again(&record, what);
        let error = home.store.stored(&address).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{what}: {error}");
        assert!(home.store.stored(&address).unwrap().is_none());
    }
}

fn replace_by_again(path: &Path, what: &str) {
    std::fs::remove_file(path).unwrap();
    match what {
        "directory" => std::fs::create_dir(path).unwrap(),
        _ => symlink("/nowhere", path).unwrap(),
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
