//! What was damaged is found whenever it is used, set aside, never served, and can come in again.

use std::sync::Barrier;

use skillpkg_schema::manifest::Mode;
use skillpkg_store::content::StoreError;

use crate::support::{Change, Home, blob_path, damages, install, overwrite, skill, varied};

fn is_damaged<T>(answer: Result<T, StoreError>, file: &str) -> bool {
    match answer {
        Err(StoreError::Damaged { .. }) => true,
        Err(error) => panic!("{file}: {error}"),
        Ok(_) => panic!("{file}: served"),
    }
}

#[test]
fn a_damaged_blob_is_never_made_part_of_a_tree() {
    for (what, change) in damages() {
        for file in ["a.txt", "bin/run.sh", "large.bin"] {
            let home = Home::new();
            let sample = varied();
            let lease = home.store.lease().unwrap();
            home.store.ingest(&lease, sample.archive().unwrap().as_slice(), None).unwrap();
            let blob = blob_path(&home.store, &sample.manifest, file);
            overwrite(&blob, change);
            assert!(is_damaged(home.store.materialise(&lease, &sample.manifest), file), "{what}");
            assert!(!blob.exists(), "{what} {file} was not set aside");
            assert!(!home.store.tree_path(&sample.manifest.address()).exists());

            let again = home.store.materialise(&lease, &sample.manifest);
            assert!(matches!(again, Err(StoreError::Absent(_))), "{what} {file}");
            drop(lease);
            install(&home.store, &sample);
            assert_eq!(home.store.verify_tree(&sample.manifest).unwrap(), []);
        }
    }
}

#[test]
fn a_damaged_blob_is_never_read_or_copied() {
    for (what, change) in damages() {
        for file in ["a.txt", "large.bin"] {
            let home = Home::new();
            let sample = varied();
            let lease = home.store.lease().unwrap();
            home.store.ingest(&lease, sample.archive().unwrap().as_slice(), None).unwrap();
            let blob = blob_path(&home.store, &sample.manifest, file);
            let address = sample.manifest.file(file).unwrap().sha256.address();
            let whole = std::fs::read(&blob).unwrap();

            overwrite(&blob, change);
            assert!(is_damaged(home.store.read_blob(&address, 1 << 30), file), "{what}");
            assert!(!blob.exists());

            std::fs::write(&blob, &whole).unwrap();
            overwrite(&blob, change);
            let mut out = Vec::new();
            assert!(is_damaged(home.store.write_blob_to(&address, &mut out), file), "{what}");
            assert_eq!(out, b"", "{what} {file}");
            assert!(!blob.exists());

            std::fs::write(&blob, &whole).unwrap();
            overwrite(&blob, change);
            let target = home.directory.path().join("copy");
            assert!(is_damaged(home.store.copy_tree(&sample.manifest, &target), file), "{what}");
            assert!(!target.exists());
        }
    }
}

#[test]
fn a_damaged_blob_is_replaced_by_the_one_that_comes_in() {
    for (what, change) in damages() {
        let home = Home::new();
        let sample = varied();
        let lease = home.store.lease().unwrap();
        let archive = sample.archive().unwrap();
        home.store.ingest(&lease, archive.as_slice(), None).unwrap();
        for entry in &sample.manifest.files {
            let blob = blob_path(&home.store, &sample.manifest, entry.path.as_str());
            if entry.size > 0 {
                overwrite(&blob, change);
            }
        }
        home.store.ingest(&lease, archive.as_slice(), None).unwrap();
        home.store.materialise(&lease, &sample.manifest).unwrap();
        assert_eq!(home.store.verify_tree(&sample.manifest).unwrap(), [], "{what}");
    }
}

#[test]
fn a_blob_of_either_mode_stands_in_for_the_other() {
    let home = Home::new();
    let sample = skill("twice", &[("bin/run", b"same"), ("text", b"same")]);
    let lease = home.store.lease().unwrap();
    home.store.ingest(&lease, sample.archive().unwrap().as_slice(), None).unwrap();
    overwrite(&blob_path(&home.store, &sample.manifest, "bin/run"), |bytes| bytes[0] ^= 1);
    home.store.materialise(&lease, &sample.manifest).unwrap();
    assert_eq!(home.store.verify_tree(&sample.manifest).unwrap(), []);
    assert_eq!(sample.manifest.file("bin/run").unwrap().mode, Mode::Executable);
}

#[test]
fn a_damaged_record_is_told_once_and_then_absent() {
    let address = varied().manifest.address();
    let changes: [(&str, Change); 5] = [
        ("cut", |bytes| bytes.truncate(40)),
        ("empty", Vec::clear),
        ("a bit of the manifest", |bytes| bytes[200] ^= 1),
        ("a bit of the envelope", |bytes| {
            let last = bytes.len() - 20;
            bytes[last] ^= 1;
        }),
        ("longer", |bytes| bytes.push(b'x')),
    ];
    for (what, change) in changes {
        let home = Home::new();
        let sample = varied();
        home.install(&sample);
        overwrite(&home.path(&format!("manifests/{}", address.hex())), change);
        let told = home.store.stored(&address);
        assert!(
            matches!(told, Err(StoreError::Damaged { address: told }) if told == address),
            "{what}"
        );
        assert!(home.store.stored(&address).unwrap().is_none(), "{what}");
        assert!(home.store.snapshots().unwrap().is_empty());
        home.install(&sample);
        assert!(home.store.stored(&address).unwrap().is_some());
    }
}

#[test]
fn other_signatures_of_the_same_manifest_take_the_place_of_the_first() {
    use skillpkg_schema::Sha256Digest;
    use skillpkg_schema::signature::{SigningKey, sign_release};
    let home = Home::new();
    let first = varied();
    home.install(&first);
    let manifest = &first.manifest;
    let digest = Sha256Digest::of(&manifest.to_bytes());
    let key = SigningKey::generate().unwrap();
    let envelope = sign_release(&manifest.name, &manifest.version, digest, &[key]);
    let second = skillpkg_store::attacks::Sample { envelope: envelope.clone(), ..first.clone() };
    home.install(&second);
    assert_eq!(home.store.stored(&manifest.address()).unwrap().unwrap().envelope, envelope);
}

#[test]
fn who_finds_damage_never_takes_away_what_has_just_replaced_it() {
    let home = Home::new();
    let sample = skill("raced", &[("a.txt", b"the bytes")]);
    let archive = sample.archive().unwrap();
    home.install(&sample);
    let blob = blob_path(&home.store, &sample.manifest, "a.txt");
    let address = sample.manifest.file("a.txt").unwrap().sha256.address();
    for round in 0..60 {
        overwrite(&blob, |bytes| bytes[0] ^= 1);
        let barrier = Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    barrier.wait();
                    match home.store.read_blob(&address, 100) {
                        Ok(bytes) => assert_eq!(bytes, b"the bytes"),
                        Err(StoreError::Damaged { .. } | StoreError::Absent(_)) => {}
                        Err(error) => panic!("{error}"),
                    }
                });
            }
            scope.spawn(|| {
                let lease = home.store.lease().unwrap();
                barrier.wait();
                home.store.ingest(&lease, archive.as_slice(), None).unwrap();
                // From here on it is there for good.
                assert_eq!(home.store.read_blob(&address, 100).unwrap(), b"the bytes");
            });
        });
        assert_eq!(home.store.read_blob(&address, 100).unwrap(), b"the bytes", "round {round}");
    }
}
