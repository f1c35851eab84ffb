//! What nothing refers to is removed, and nothing else.

use skillpkg_schema::Blake3Digest;
use skillpkg_store::content::{Collected, StoreError};

use crate::support::{Home, blob_path, overwrite, skill};

#[test]
fn what_no_live_snapshot_needs_is_removed() {
    let home = Home::new();
    let shared = b"both have this".as_slice();
    let live = skill("live", &[("shared", shared), ("own", b"of the live one")]);
    let dead = skill("dead", &[("shared", shared), ("bin/own", b"of the dead one")]);
    let (live_tree, dead_tree) = (home.install(&live), home.install(&dead));
    // Left by somebody who was killed.
    std::fs::create_dir_all(home.path("tmp/tree-1-1/a")).unwrap();
    std::fs::write(home.path("tmp/tree-1-1/a/b"), "x").unwrap();
    // Of somebody else, who knows why.
    std::fs::write(home.path("snapshots/notes.txt"), "x").unwrap();
    std::fs::write(home.path("proofs/p"), "x").unwrap();
    std::fs::write(home.path("ledger.json"), "x").unwrap();

    let record =
        std::fs::metadata(home.path(&format!("manifests/{}", dead.manifest.address().hex())));
    let unpacked = dead.manifest.unpacked_size();
    let shared_size = shared.len() as u64;
    let wanted = Collected {
        snapshots: 1,
        blobs: 2,
        bytes: record.unwrap().len() + unpacked + (unpacked - shared_size),
    };
    let address = live.manifest.address();
    assert_eq!(home.store.collect(&[address]).unwrap(), wanted);
    assert_eq!(home.store.snapshots().unwrap(), [address]);
    assert_eq!(home.store.verify_tree(&live.manifest).unwrap(), []);
    assert!(live_tree.exists() && !dead_tree.exists());
    assert!(home.store.stored(&dead.manifest.address()).unwrap().is_none());
    assert!(home.nothing_is_left());
    for kept in ["snapshots/notes.txt", "proofs/p", "ledger.json"] {
        assert!(home.path(kept).exists(), "{kept}");
    }
    assert_eq!(home.store.collect(&[address]).unwrap(), Collected::default());

    let by_blake3 = Blake3Digest::of(&live.manifest.to_bytes()).address();
    assert_eq!(home.store.collect(&[by_blake3]).unwrap(), Collected::default());
    assert_eq!(home.store.collect(&[]).unwrap().snapshots, 1);
    assert!(!live_tree.exists());
    home.install(&live);
    assert_eq!(home.store.verify_tree(&live.manifest).unwrap(), []);
}

#[test]
fn a_damaged_manifest_of_a_live_snapshot_keeps_every_blob() {
    let home = Home::new();
    let live = skill("live", &[("own", b"of the live one")]);
    let dead = skill("dead", &[("own", b"of the dead one")]);
    home.install(&live);
    home.install(&dead);
    let address = live.manifest.address();
    overwrite(&home.path(&format!("manifests/{}", address.hex())), |bytes| bytes[100] ^= 1);
    let collected = home.store.collect(&[address]).unwrap();
    assert_eq!((collected.snapshots, collected.blobs), (1, 0));
    assert!(blob_path(&home.store, &live.manifest, "own").exists());
    assert_eq!(home.store.verify_tree(&live.manifest).unwrap(), []);
}

#[test]
fn what_is_live_may_be_found_out_while_installs_are_kept_out() {
    let home = Home::new();
    let sample = skill("late", &[("x", b"x")]);
    let collection = home.store.begin_collection().unwrap();
    let store = home.store.clone();
    let installing = std::thread::spawn(move || {
        let lease = store.lease().unwrap();
        let sample = skill("late", &[("x", b"x")]);
        store.ingest(&lease, sample.archive().unwrap().as_slice(), None).unwrap();
    });
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert!(home.store.snapshots().unwrap().is_empty(), "an install came in");
    assert_eq!(collection.finish(&[]).unwrap(), Collected::default());
    installing.join().unwrap();
    assert_eq!(home.store.snapshots().unwrap(), [sample.manifest.address()]);
}

#[test]
fn a_collection_that_is_dropped_removes_nothing_and_lets_go() {
    let home = Home::new();
    let sample = skill("kept", &[("x", b"x")]);
    home.install(&sample);
    drop(home.store.begin_collection().unwrap());
    home.install(&sample);
    assert!(matches!(home.store.stored(&sample.manifest.address()), Ok(Some(_))));
    let other = skill("other", &[]).manifest.address();
    assert!(matches!(home.store.read_blob(&other, 1), Err(StoreError::Absent(_))));
}
