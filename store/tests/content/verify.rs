//! A tree or a copy is compared by content, and nothing in it is believed.

use skillpkg_store::content::TreeProblemKind::Modified;
#[cfg(unix)]
use skillpkg_store::content::TreeProblemKind::{Extra, Missing, Mode};

use crate::support::{Home, overwrite, problem, varied};

/// A copy, since it can be changed without opening it up first.
fn copy() -> (Home, skillpkg_schema::Manifest, std::path::PathBuf) {
    let home = Home::new();
    let sample = varied();
    home.install(&sample);
    let target = home.directory.path().join("copy");
    home.store.copy_tree(&sample.manifest, &target).unwrap();
    (home, sample.manifest, target)
}

#[test]
fn changed_bytes_are_found_whatever_the_modification_time_says() {
    type Change = fn(&mut Vec<u8>);
    let changes: [Change; 4] =
        [|bytes| bytes[0] ^= 1, |bytes| bytes.truncate(3), Vec::clear, |bytes| bytes.push(b'\n')];
    for change in changes {
        let (home, manifest, copy) = copy();
        overwrite(&copy.join("a/b/c/d.txt"), change);
        overwrite(&copy.join("large.bin"), change);
        let wanted = [problem(Modified, "a/b/c/d.txt"), problem(Modified, "large.bin")];
        assert_eq!(home.store.verify_copy(&manifest, &copy).unwrap(), wanted);
        assert_eq!(home.store.verify_tree(&manifest).unwrap(), []);
    }
}

// Windows has no such names.
#[cfg(unix)]
#[test]
fn what_is_missing_and_what_is_too_much_is_named() {
    let (home, manifest, copy) = copy();
    std::fs::remove_file(copy.join("a.txt")).unwrap();
    std::fs::remove_dir_all(copy.join("a/b")).unwrap();
    std::fs::create_dir_all(copy.join("bin/__pycache__/deep")).unwrap();
    std::fs::write(copy.join("bin/__pycache__/deep/x.pyc"), "x").unwrap();
    std::fs::create_dir(copy.join("nothing in it")).unwrap();
    std::fs::write(copy.join("skill.md"), "another case").unwrap();
    std::fs::write(copy.join("\u{1b}[31m"), "").unwrap();
    let wanted = [
        problem(Extra, "\\u{1b}[31m"),
        problem(Missing, "a.txt"),
        problem(Missing, "a/b/c/d.txt"),
        problem(Extra, "bin/__pycache__"),
        problem(Extra, "nothing in it"),
        problem(Extra, "skill.md"),
    ];
    assert_eq!(home.store.verify_copy(&manifest, &copy).unwrap(), wanted);
}

#[test]
fn a_tree_that_is_not_there_misses_every_file() {
    let home = Home::new();
    let manifest = varied().manifest;
    let wanted: Vec<_> =
        manifest.files.iter().map(|file| problem(Missing, file.path.as_str())).collect();
    assert_eq!(home.store.verify_tree(&manifest).unwrap(), wanted);
    let nowhere = home.directory.path().join("nowhere");
    assert_eq!(home.store.verify_copy(&manifest, &nowhere).unwrap(), wanted);
    std::fs::write(&nowhere, "a file").unwrap();
    assert_eq!(home.store.verify_copy(&manifest, &nowhere).unwrap(), wanted);
}

#[cfg(unix)]
#[test]
fn links_and_special_files_are_problems_and_never_followed() {
    use std::os::unix::fs::symlink;
    let (home, manifest, copy) = copy();
    // Links to the very bytes that belong there.
    let tree = home.store.tree_path(&manifest.address());
    std::fs::remove_file(copy.join("a.txt")).unwrap();
    symlink(tree.join("a.txt"), copy.join("a.txt")).unwrap();
    std::fs::remove_dir_all(copy.join("a")).unwrap();
    symlink(tree.join("a"), copy.join("a")).unwrap();
    std::fs::remove_file(copy.join("empty")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(copy.join("empty")).status();
    assert!(made.unwrap().success());
    std::fs::remove_file(copy.join("bin/run.sh")).unwrap();
    std::fs::create_dir(copy.join("bin/run.sh")).unwrap();
    symlink("/etc", copy.join("extra")).unwrap();
    let wanted = [
        problem(Mode, "a"),
        problem(Mode, "a.txt"),
        problem(Missing, "a/b/c/d.txt"),
        problem(Missing, "a/e.txt"),
        problem(Mode, "bin/run.sh"),
        problem(Mode, "empty"),
        problem(Extra, "extra"),
    ];
    assert_eq!(home.store.verify_copy(&manifest, &copy).unwrap(), wanted);
}

#[cfg(unix)]
#[test]
fn of_a_copys_permissions_only_whether_it_is_executed_counts() {
    use std::os::unix::fs::PermissionsExt as _;
    let (home, manifest, copy) = copy();
    let set = |file: &str, mode: u32| {
        std::fs::set_permissions(copy.join(file), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set("a.txt", 0o600);
    set("bin/run.sh", 0o700);
    assert_eq!(home.store.verify_copy(&manifest, &copy).unwrap(), []);
    set("a.txt", 0o755);
    set("bin/run.sh", 0o644);
    set("empty", 0o4644);
    let wanted = [problem(Mode, "a.txt"), problem(Mode, "bin/run.sh"), problem(Mode, "empty")];
    assert_eq!(home.store.verify_copy(&manifest, &copy).unwrap(), wanted);
}

#[cfg(unix)]
#[test]
fn a_name_that_is_no_text_is_too_much_and_shown() {
    use std::os::unix::ffi::OsStrExt as _;
    let (home, manifest, copy) = copy();
    std::fs::write(copy.join(std::ffi::OsStr::from_bytes(b"\xff.txt")), "").unwrap();
    let wanted = [problem(Extra, "\u{fffd}.txt")];
    assert_eq!(home.store.verify_copy(&manifest, &copy).unwrap(), wanted);
}
