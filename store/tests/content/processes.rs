//! Several processes on one store, some of them killed.
#![cfg(unix)]

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use skillpkg_schema::{Manifest, Sha256Digest};
use skillpkg_store::attacks::Sample;
use skillpkg_store::content::{Store, StoreError};

use crate::support::{Home, install, open_up, skill};

const ROLE: &str = "SKILLPKG_STORE_TEST_ROLE";
const ROOT: &str = "SKILLPKG_STORE_TEST_ROOT";

/// Skills that share a file with each other, one of them with a file too large for memory alone.
fn skills() -> Vec<Sample> {
    let large = vec![7; 400_000];
    (0u8..5)
        .map(|number| {
            let own = [number; 3000];
            let files: [(&str, &[u8]); 4] = [
                ("shared.txt", b"all of them have this"),
                ("docs/own.txt", &own),
                ("bin/run", &own),
                ("large.bin", if number == 0 { &large } else { b"small" }),
            ];
            skill(&format!("skill-{number}"), &files)
        })
        .collect()
}

/// What a process does that another test has started; a test of nothing when run by hand.
#[test]
fn a_process_of_another_test() {
    let (Ok(role), Some(root)) = (std::env::var(ROLE), std::env::var_os(ROOT)) else { return };
    let root = PathBuf::from(root);
    match role.as_str() {
        "install every skill" => {
            let store = Store::open(&root).unwrap();
            for sample in skills() {
                install(&store, &sample);
                assert_eq!(store.verify_tree(&sample.manifest).unwrap(), []);
            }
        }
        "install again and again" => {
            let store = Store::open(&root).unwrap();
            let samples = skills();
            let archives: Vec<_> = samples.iter().map(|one| one.archive().unwrap()).collect();
            // On a busy machine the other process may not have had its turn by then.
            let is_enough = || root.with_extension("enough").exists();
            for round in (0..).take_while(|round| *round < 40 || !is_enough()) {
                let turn = (round + std::process::id() as usize) % samples.len();
                let manifest = &samples[turn].manifest;
                let lease = store.lease().unwrap();
                store.ingest(&lease, archives[turn].as_slice(), None).unwrap();
                assert!(store.stored(&manifest.address()).unwrap().is_some());
                store.materialise(&lease, manifest).unwrap();
                assert_eq!(store.verify_tree(manifest).unwrap(), [], "round {round}");
            }
        }
        "install until killed" => {
            let samples = skills();
            let archives: Vec<_> = samples.iter().map(|one| one.archive().unwrap()).collect();
            let store = Store::open(&root).unwrap();
            loop {
                for (sample, archive) in samples.iter().zip(&archives) {
                    let lease = store.lease().unwrap();
                    store.ingest(&lease, archive.as_slice(), None).unwrap();
                    store.materialise(&lease, &sample.manifest).unwrap();
                }
                store.collect(&[]).unwrap();
            }
        }
        "hold a lease" => {
            let store = Store::open(&root).unwrap();
            let _lease = store.lease().unwrap();
            std::fs::write(root.join("held"), "").unwrap();
            std::thread::sleep(Duration::from_mins(1));
        }
        "everything without privileges" => without_privileges(&root),
        other => panic!("no such role: {other}"),
    }
}

fn command(program: &Path, role: &str, root: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(["processes::a_process_of_another_test", "--exact", "--nocapture"])
        .env(ROLE, role)
        .env(ROOT, root)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

fn start(role: &str, root: &Path) -> Child {
    command(&std::env::current_exe().unwrap(), role, root).spawn().unwrap()
}

/// Checks that whatever stands at a final path is whole.
fn nothing_is_torn(store: &Store) {
    for shard in std::fs::read_dir(store.root().join("blobs/sha256")).unwrap() {
        for blob in std::fs::read_dir(shard.unwrap().path()).unwrap() {
            let blob = blob.unwrap();
            let name = blob.file_name().into_string().unwrap();
            let digest = Sha256Digest::of(&std::fs::read(blob.path()).unwrap()).to_string();
            assert_eq!(name.strip_suffix("-x").unwrap_or(&name), digest);
        }
    }
    for address in store.snapshots().unwrap() {
        let stored = store.stored(&address).unwrap().unwrap();
        for file in &stored.manifest.files {
            store.read_blob(&file.sha256.address(), file.size).unwrap();
        }
    }
    for sample in skills() {
        if store.tree_path(&sample.manifest.address()).exists() {
            assert_eq!(store.verify_tree(&sample.manifest).unwrap(), []);
        }
    }
}

#[test]
fn eight_processes_fill_one_cold_store() {
    let home = Home::new();
    // Not even the root is there.
    let root = home.directory.path().join("cold/store");
    let children: Vec<Child> = (0..8).map(|_| start("install every skill", &root)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let store = Store::open(&root).unwrap();
    nothing_is_torn(&store);
    assert_eq!(store.snapshots().unwrap().len(), skills().len());
    assert!(std::fs::read_dir(root.join("tmp")).unwrap().next().is_none());
    open_up(&root);
}

#[test]
fn collections_beside_installs_take_nothing_from_them() {
    let home = Home::new();
    let start_of_all = Instant::now();
    let root = home.store.root();
    let mut children: Vec<Child> = (0..4).map(|_| start("install again and again", root)).collect();
    let (mut rounds, mut removed) = (0, 0);
    while children.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
        removed += home.store.collect(&[]).unwrap().snapshots;
        rounds += 1;
        if rounds >= 10 && removed > 0 {
            std::fs::write(root.with_extension("enough"), "").unwrap();
        }
        assert!(start_of_all.elapsed() < Duration::from_mins(2), "{rounds} rounds, {removed} gone");
        std::thread::sleep(Duration::from_millis(2));
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    home.store.collect(&[]).unwrap();
    assert!(home.nothing_is_left());
    let shards = std::fs::read_dir(home.path("blobs/sha256")).unwrap();
    for shard in shards {
        assert!(std::fs::read_dir(shard.unwrap().path()).unwrap().next().is_none());
    }
}

#[test]
fn a_killed_process_tears_nothing_and_holds_nothing() {
    let home = Home::new();
    for round in 0u32..24 {
        let mut child = start("install until killed", home.store.root());
        // From before it opens the store to some way into its rounds.
        std::thread::sleep(Duration::from_micros(u64::from(round) * 5_300 + 4_000));
        child.kill().unwrap();
        child.wait().unwrap();
        nothing_is_torn(&home.store);
        let sample = &skills()[round as usize % 5];
        install(&home.store, sample);
        assert_eq!(home.store.verify_tree(&sample.manifest).unwrap(), []);
        let live: Vec<_> = skills().iter().map(|one| one.manifest.address()).collect();
        home.store.collect(&live).unwrap();
        assert!(home.nothing_is_left(), "round {round}");
        assert_eq!(home.store.verify_tree(&sample.manifest).unwrap(), []);
    }
}

#[test]
fn a_lease_ends_with_its_process_however_it_ends() {
    let home = Home::new();
    let mut child = start("hold a lease", home.store.root());
    let start = Instant::now();
    while !home.path("held").exists() {
        assert!(start.elapsed() < Duration::from_secs(20), "no lease was taken");
        std::thread::sleep(Duration::from_millis(5));
    }
    let lease = std::fs::read_dir(home.path("tmp")).unwrap().next().unwrap().unwrap().file_name();
    let wanted = format!("lease-{}-", child.id());
    assert!(lease.to_str().unwrap().starts_with(&wanted), "{lease:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    home.store.collect(&[]).unwrap();
    assert!(home.nothing_is_left());
}

/// Everything that moves read-only directories, which root may do whatever their permissions are.
fn without_privileges(root: &Path) {
    assert_ne!(user(), 0);
    let store = Store::open(&root.join("store")).unwrap();
    let sample = &skills()[0];
    let manifest: &Manifest = &sample.manifest;
    let tree = install(&store, sample);
    assert_eq!(store.verify_tree(manifest).unwrap(), []);
    assert!(std::fs::write(tree.join("new"), "x").is_err(), "the tree can be written to");
    assert!(std::fs::write(tree.join("SKILL.md"), "x").is_err(), "a file can be written to");

    let lease = store.lease().unwrap();
    open_up(&tree);
    std::fs::create_dir(tree.join("docs/__pycache__")).unwrap();
    std::fs::write(tree.join("docs/__pycache__/x"), "x").unwrap();
    assert_eq!(store.quarantine_extras(manifest).unwrap().len(), 1);
    assert_eq!(store.verify_tree(manifest).unwrap(), []);

    open_up(&tree);
    std::fs::remove_file(tree.join("shared.txt")).unwrap();
    assert_eq!(store.repair_tree(&lease, manifest).unwrap(), []);
    assert_eq!(store.verify_tree(manifest).unwrap(), []);

    let copy = root.join("copy");
    store.copy_tree(manifest, &copy).unwrap();
    std::fs::write(copy.join("SKILL.md"), "edited").unwrap();

    drop(lease);
    assert_eq!(store.collect(&[]).unwrap().snapshots, 1);
    assert!(!tree.exists());

    // A store whose blobs cannot be written to.
    let blobs = root.join("store/blobs/sha256");
    let closed = std::fs::Permissions::from_mode(0o555);
    open_up(&blobs);
    for shard in std::fs::read_dir(&blobs).unwrap() {
        std::fs::set_permissions(shard.unwrap().path(), closed.clone()).unwrap();
    }
    let lease = store.lease().unwrap();
    let refused = store.ingest(&lease, sample.archive().unwrap().as_slice(), None);
    let Err(StoreError::Io { path, source }) = refused else { panic!("{refused:?}") };
    assert_eq!(source.kind(), std::io::ErrorKind::PermissionDenied);
    assert!(path.starts_with(&blobs), "{}", path.display());
    assert!(store.snapshots().unwrap().is_empty());
}

fn user() -> u32 {
    // The owner of what this process has just made is this process's user.
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().metadata().unwrap().uid()
}

#[test]
fn no_step_needs_more_than_the_rights_of_an_owner() {
    let directory = tempfile::tempdir().unwrap();
    if user() != 0 {
        without_privileges(directory.path());
        open_up(directory.path());
        return;
    }
    // As root every permission is passed over, so another user's process does it. It may be unable
    // to reach the program where it lies.
    let nobody = 65_534;
    let program = directory.path().join("program");
    let own = std::env::current_exe().unwrap();
    if std::fs::hard_link(&own, &program).is_err() {
        std::fs::copy(&own, &program).unwrap();
    }
    let work = directory.path().join("work");
    std::fs::create_dir(&work).unwrap();
    std::os::unix::fs::chown(&work, Some(nobody), Some(nobody)).unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(directory.path(), open).unwrap();
    let status = command(&program, "everything without privileges", &work)
        .current_dir(&work)
        .env("TMPDIR", &work)
        .uid(nobody)
        .gid(nobody)
        .status()
        .unwrap();
    assert!(status.success());
}
