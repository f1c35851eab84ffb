//! Trees are made whole again, and what did not belong is kept.

#[cfg(unix)]
use skillpkg_store::content::SetAside;
use skillpkg_store::content::TreeProblemKind::Modified;
#[cfg(unix)]
use skillpkg_store::content::TreeProblemKind::{Extra, Missing, Mode};

use crate::support::{Home, blob_path, open_up, overwrite, path, problem, varied};

/// A tree whose directories can be written to, as after a `chmod -R u+w`.
fn opened() -> (Home, skillpkg_store::attacks::Sample, std::path::PathBuf) {
    let home = Home::new();
    let sample = varied();
    let tree = home.install(&sample);
    open_up(&tree);
    (home, sample, tree)
}

fn aside(home: &Home) -> Vec<std::path::PathBuf> {
    let mut found: Vec<_> =
        std::fs::read_dir(home.path("aside")).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[cfg(unix)]
fn closed(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777 == 0o555
}

#[cfg(unix)]
#[test]
fn a_spoiled_tree_is_replaced_whole_and_kept_aside() {
    let (home, sample, tree) = opened();
    overwrite(&tree.join("a.txt"), |bytes| bytes[0] ^= 1);
    std::fs::remove_file(tree.join("empty")).unwrap();
    std::fs::write(tree.join("mine.txt"), "mine").unwrap();
    std::fs::remove_dir_all(tree.join("a")).unwrap();
    std::os::unix::fs::symlink("/etc", tree.join("a")).unwrap();
    let wanted = [
        problem(Mode, "a"),
        problem(Modified, "a.txt"),
        problem(Missing, "a/b/c/d.txt"),
        problem(Missing, "a/e.txt"),
        problem(Missing, "empty"),
        problem(Extra, "mine.txt"),
    ];
    assert_eq!(home.store.verify_tree(&sample.manifest).unwrap(), wanted);
    let lease = home.store.lease().unwrap();
    assert_eq!(home.store.repair_tree(&lease, &sample.manifest).unwrap(), []);
    assert_eq!(home.store.verify_tree(&sample.manifest).unwrap(), []);
    assert!(closed(&tree) && closed(&tree.join("a")));
    let [old] = &aside(&home)[..] else { panic!("{:?}", aside(&home)) };
    assert_eq!(std::fs::read(old.join("mine.txt")).unwrap(), b"mine");
    assert!(std::fs::symlink_metadata(old.join("a")).unwrap().is_symlink());
    // Nothing more to do.
    assert_eq!(home.store.repair_tree(&lease, &sample.manifest).unwrap(), []);
    assert_eq!(aside(&home).len(), 1);
    drop(lease);
    assert!(home.nothing_is_left());
}

#[test]
fn a_tree_whose_blobs_are_lost_too_is_left_as_it_was() {
    let (home, sample, tree) = opened();
    overwrite(&tree.join("a.txt"), |bytes| bytes[0] ^= 1);
    overwrite(&tree.join("large.bin"), |bytes| bytes[0] ^= 1);
    overwrite(&blob_path(&home.store, &sample.manifest, "a.txt"), |bytes| bytes[0] ^= 1);
    std::fs::remove_file(blob_path(&home.store, &sample.manifest, "large.bin")).unwrap();
    // Lost as a blob, whole in the tree: the tree's own bytes serve.
    std::fs::remove_file(blob_path(&home.store, &sample.manifest, "a/e.txt")).unwrap();
    let lease = home.store.lease().unwrap();
    let lost = home.store.repair_tree(&lease, &sample.manifest).unwrap();
    assert_eq!(lost, [path("a.txt"), path("large.bin")]);
    let wanted = [problem(Modified, "a.txt"), problem(Modified, "large.bin")];
    assert_eq!(home.store.verify_tree(&sample.manifest).unwrap(), wanted);
    assert!(aside(&home).is_empty());

    let archive = sample.archive().unwrap();
    home.store.ingest(&lease, archive.as_slice(), None).unwrap();
    assert_eq!(home.store.repair_tree(&lease, &sample.manifest).unwrap(), []);
    assert_eq!(home.store.verify_tree(&sample.manifest).unwrap(), []);
}

#[test]
fn a_tree_that_is_gone_is_made_again() {
    let (home, sample, tree) = opened();
    std::fs::remove_dir_all(&tree).unwrap();
    let lease = home.store.lease().unwrap();
    assert_eq!(home.store.repair_tree(&lease, &sample.manifest).unwrap(), []);
    assert_eq!(home.store.verify_tree(&sample.manifest).unwrap(), []);
    assert!(aside(&home).is_empty());
}

#[cfg(unix)]
#[test]
fn what_is_too_much_is_set_aside_and_the_tree_closed_again() {
    let (home, sample, tree) = opened();
    std::fs::create_dir_all(tree.join("a/b/__pycache__")).unwrap();
    std::fs::write(tree.join("a/b/__pycache__/x.pyc"), "x").unwrap();
    std::fs::write(tree.join("evil.sh"), "x").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", tree.join("a/link")).unwrap();
    let moved = home.store.quarantine_extras(&sample.manifest).unwrap();
    let mut paths: Vec<&str> = moved.iter().map(|one| one.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["a/b/__pycache__", "a/link", "evil.sh"]);
    for SetAside { now, .. } in &moved {
        assert!(now.starts_with(home.path("aside")));
        assert!(std::fs::symlink_metadata(now).is_ok(), "{}", now.display());
    }
    let cache = &moved.iter().find(|one| one.path == "a/b/__pycache__").unwrap().now;
    assert_eq!(std::fs::read(cache.join("x.pyc")).unwrap(), b"x");
    assert_eq!(home.store.verify_tree(&sample.manifest).unwrap(), []);
    for directory in ["", "a", "a/b"] {
        assert!(closed(&tree.join(directory)), "{directory} was left open");
    }
    assert_eq!(home.store.quarantine_extras(&sample.manifest).unwrap(), []);
    // A collection keeps what was set aside.
    home.store.collect(&[sample.manifest.address()]).unwrap();
    assert_eq!(std::fs::read(cache.join("x.pyc")).unwrap(), b"x");
}

#[test]
fn a_repair_of_a_tree_with_files_too_many_alone_moves_just_those() {
    let (home, sample, tree) = opened();
    std::fs::write(tree.join("evil.sh"), "x").unwrap();
    let lease = home.store.lease().unwrap();
    assert_eq!(home.store.repair_tree(&lease, &sample.manifest).unwrap(), []);
    assert_eq!(home.store.verify_tree(&sample.manifest).unwrap(), []);
    let [set_aside] = &aside(&home)[..] else { panic!("{:?}", aside(&home)) };
    assert_eq!(std::fs::read(set_aside.join("evil.sh")).unwrap(), b"x");
    assert!(!set_aside.join("SKILL.md").exists());
}
