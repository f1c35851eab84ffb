//! What comes in is found again, exactly.

use skillpkg_schema::address::Digests;
#[cfg(unix)]
use skillpkg_schema::manifest::Mode;
use skillpkg_schema::{Blake3Digest, ContentAddress};
use skillpkg_store::archive::ArchiveError;
use skillpkg_store::content::{Store, StoreError};

use crate::support::{Home, address_of, blob_path, skill, varied};

#[test]
fn an_archive_that_comes_in_is_found_by_either_address() {
    let home = Home::new();
    let sample = varied();
    let bytes = sample.archive().unwrap();
    let lease = home.store.lease().unwrap();
    let ingested = home.store.ingest(&lease, bytes.as_slice(), None).unwrap();
    assert_eq!(ingested.address, sample.manifest.address());
    assert_eq!(ingested.archive, Digests::of(&bytes));
    let blake3 = Blake3Digest::of(&sample.manifest.to_bytes()).address();
    for address in [ingested.address, blake3] {
        let stored = home.store.stored(&address).unwrap().unwrap();
        assert_eq!(
            (stored.manifest, stored.envelope),
            (ingested.manifest.clone(), sample.envelope.clone())
        );
    }
    assert_eq!(home.store.snapshots().unwrap(), [ingested.address]);
    assert_eq!(home.store.tree_path(&blake3), home.store.tree_path(&ingested.address));
    assert!(home.store.stored(&address_of(b"another")).unwrap().is_none());
    let other = Blake3Digest::of(b"another").address();
    assert!(home.store.stored(&other).unwrap().is_none());
    drop(lease);
    assert!(home.nothing_is_left());
}

#[test]
fn a_tree_holds_the_files_of_its_manifest_and_nothing_of_ours() {
    let home = Home::new();
    let sample = varied();
    let tree = home.install(&sample);
    assert_eq!(tree, home.store.tree_path(&sample.manifest.address()));
    assert!(tree.is_absolute());
    for (file, bytes) in &sample.files {
        assert_eq!(&std::fs::read(tree.join(file.as_str())).unwrap(), bytes, "{file}");
    }
    assert_eq!(home.store.verify_tree(&sample.manifest).unwrap(), []);
    assert!(home.nothing_is_left());
    let again = home.install(&sample);
    assert_eq!(again, tree);
}

#[cfg(unix)]
#[test]
fn nothing_in_the_store_can_be_written_whatever_the_umask() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let sample = varied();
    let tree = home.install(&sample);
    let mode = |path: &std::path::Path| {
        std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    };
    for entry in &sample.manifest.files {
        let wanted = if entry.mode == Mode::Executable { 0o555 } else { 0o444 };
        let file = entry.path.as_str();
        assert_eq!(mode(&tree.join(file)), wanted, "{file}");
        assert_eq!(mode(&blob_path(&home.store, &sample.manifest, file)), wanted, "{file}");
        for parent in entry.path.parents() {
            assert_eq!(mode(&tree.join(parent)), 0o555, "{parent}");
        }
    }
    assert_eq!(mode(&tree), 0o555);
    assert_eq!(mode(home.store.root()), 0o700);
}

#[test]
fn one_content_in_two_modes_is_two_blobs_and_one_file_each() {
    let home = Home::new();
    let sample = skill("twice", &[("bin/run", b"same"), ("text", b"same")]);
    let tree = home.install(&sample);
    assert_ne!(
        blob_path(&home.store, &sample.manifest, "bin/run"),
        blob_path(&home.store, &sample.manifest, "text")
    );
    assert_eq!(std::fs::read(tree.join("bin/run")).unwrap(), b"same");
    assert_eq!(home.store.verify_tree(&sample.manifest).unwrap(), []);
}

#[test]
fn another_snapshot_than_the_one_wanted_is_refused_and_leaves_nothing() {
    let home = Home::new();
    let sample = varied();
    let archive = sample.archive().unwrap();
    let lease = home.store.lease().unwrap();
    let wanted =
        |address: ContentAddress| home.store.ingest(&lease, archive.as_slice(), Some(&address));
    for other in [address_of(b"x"), Blake3Digest::of(b"x").address()] {
        let error = wanted(other).unwrap_err();
        assert!(matches!(
            error,
            StoreError::Archive(ArchiveError::OtherSnapshot { wanted, .. }) if wanted == other
        ));
        assert_eq!(home.store.snapshots().unwrap(), []);
        assert!(!blob_path(&home.store, &sample.manifest, "a.txt").exists());
    }
    let bytes = sample.manifest.to_bytes();
    wanted(address_of(&bytes)).unwrap();
    wanted(Blake3Digest::of(&bytes).address()).unwrap();
}

#[test]
fn an_archive_that_is_refused_leaves_nothing() {
    let home = Home::new();
    let sample = varied();
    let whole = sample.archive().unwrap();
    let lease = home.store.lease().unwrap();
    for cut in [0, 100, whole.len() / 2, whole.len() - 1] {
        let refused = home.store.ingest(&lease, &whole[..cut], None);
        assert!(matches!(refused, Err(StoreError::Archive(_))), "cut at {cut}");
        assert!(home.store.snapshots().unwrap().is_empty());
        for entry in &sample.manifest.files {
            assert!(!blob_path(&home.store, &sample.manifest, entry.path.as_str()).exists());
        }
    }
    drop(lease);
    assert!(home.nothing_is_left());
}

#[test]
fn blobs_are_read_exactly_by_either_address_and_within_a_bound() {
    let home = Home::new();
    let sample = varied();
    home.install(&sample);
    for entry in &sample.manifest.files {
        let wanted = &sample.files[&entry.path];
        for address in [entry.sha256.address(), entry.blake3.address()] {
            assert_eq!(&home.store.read_blob(&address, entry.size).unwrap(), wanted);
            let mut out = Vec::new();
            assert_eq!(home.store.write_blob_to(&address, &mut out).unwrap(), entry.size);
            assert_eq!(&out, wanted);
            if entry.size > 0 {
                let error = home.store.read_blob(&address, entry.size - 1).unwrap_err();
                assert!(matches!(error, StoreError::TooLong { size, .. } if size == entry.size));
            }
        }
    }
    for absent in [address_of(b"absent"), Blake3Digest::of(b"absent").address()] {
        assert!(matches!(home.store.read_blob(&absent, 9), Err(StoreError::Absent(_))));
    }
}

#[test]
fn a_tree_is_read_beneath_its_handle() {
    use skillpkg_schema::tree::Tree as _;
    let home = Home::new();
    let sample = varied();
    let absent = home.store.open_tree(&sample.manifest);
    assert!(matches!(absent, Err(StoreError::Absent(_))));
    home.install(&sample);
    let tree = home.store.open_tree(&sample.manifest).unwrap();
    assert_eq!(tree.read("a/b/c/d.txt", 10).unwrap(), b"deep");
}

#[test]
fn a_copy_is_its_owners_to_edit_and_appears_whole_or_not_at_all() {
    let home = Home::new();
    let sample = varied();
    home.install(&sample);
    let target = home.directory.path().join("copy");
    home.store.copy_tree(&sample.manifest, &target).unwrap();
    assert_eq!(home.store.verify_copy(&sample.manifest, &target).unwrap(), []);
    std::fs::write(target.join("a.txt"), "edited").unwrap();
    std::fs::write(target.join("new.txt"), "new").unwrap();
    let again = home.store.copy_tree(&sample.manifest, &target);
    assert!(matches!(again, Err(StoreError::Exists(_))));
    assert_eq!(std::fs::read(target.join("a.txt")).unwrap(), b"edited");

    let home = Home::new();
    let failed = home.store.copy_tree(&sample.manifest, &home.directory.path().join("c"));
    assert!(matches!(failed, Err(StoreError::Absent(_))));
    let left: Vec<_> = std::fs::read_dir(home.directory.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "only the store itself: {left:?}");
}

#[test]
fn a_store_of_a_later_format_is_refused_with_both_formats() {
    let home = Home::new();
    std::fs::write(home.path("format"), "skillpkg.store/2\n").unwrap();
    let error = Store::open(home.store.root()).unwrap_err();
    let StoreError::Format { found, known, .. } = error else { panic!("{error}") };
    assert_eq!((found.as_str(), known), ("2", 1));
    for (text, told) in [
        ("", "it is empty"),
        ("skillpkg.store/", "it says `skillpkg.store/`"),
        ("\x1b[31m", "it says `\\u{1b}[31m`"),
    ] {
        std::fs::write(home.path("format"), text).unwrap();
        let error = Store::open(home.store.root()).unwrap_err();
        let StoreError::FormatUnread { path, reason, known } = error else { panic!("{error}") };
        assert_eq!((path, reason.as_str(), known), (home.path("format"), told, 1));
    }
    std::fs::write(home.path("format"), "skillpkg.store/1\n").unwrap();
    Store::open(home.store.root()).unwrap();
}

#[test]
fn a_store_is_durable_after_one_call() {
    let home = Home::new();
    let sample = skill("durable", &[("x", b"x")]);
    home.install(&sample);
    home.store.sync().unwrap();
    let again = Store::open(home.store.root()).unwrap();
    assert_eq!(again.verify_tree(&sample.manifest).unwrap(), []);
    assert!(again.stored(&sample.manifest.address()).unwrap().is_some());
}
