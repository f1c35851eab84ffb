//! Every attack on a store: what is refused leaves nothing where anything is found by its address.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use skillpkg_store::attacks::RefusedBy;
use skillpkg_store::content::{Store, StoreError};

use crate::support::attacks;

/// Every file beneath `root` with its length, and every directory.
fn everything(root: &Path) -> BTreeMap<PathBuf, Option<u64>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let place = entry.unwrap().path();
            let metadata = place.symlink_metadata().unwrap();
            let length = metadata.is_file().then_some(metadata.len());
            if metadata.is_dir() {
                pending.push(place.clone());
            }
            found.insert(place, length);
        }
    }
    found
}

#[test]
fn a_store_keeps_nothing_of_an_archive_that_it_refuses() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("store")).unwrap();
    let lease = store.lease().unwrap();
    let empty = everything(directory.path());
    let mut refused = 0;
    for attack in attacks() {
        let by = attack.expected.refused_by;
        // The signature is the caller's to verify, so these are kept.
        if matches!(by, RefusedBy::Signature | RefusedBy::Nobody) {
            continue;
        }
        match store.ingest(&lease, attack.archive.as_slice(), None) {
            Err(StoreError::Archive(error)) if by == RefusedBy::Reader => {
                assert_eq!(Some(error.code()), attack.expected.code.as_deref(), "{}", attack.name);
            }
            Err(StoreError::Mismatch(_)) if by == RefusedBy::Derivation => {}
            Err(error) => panic!("{}: {error}", attack.name),
            Ok(_) => panic!("{} was kept", attack.name),
        }
        refused += 1;
    }
    assert!(refused > 500);
    assert_eq!(everything(directory.path()), empty);
    assert!(store.snapshots().unwrap().is_empty());
}
