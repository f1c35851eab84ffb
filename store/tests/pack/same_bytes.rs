//! The same tree gives the same archive, whatever else differs.

use std::fs::{self, File, FileTimes};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use skillpkg_schema::Sha256Digest;
use skillpkg_store::attacks::tar_stream;
use skillpkg_store::pack::{PackOptions, Packing};

use crate::skips::skipped;
use crate::support::{SKILL, archive, plan, write};

/// The directory that a child process packs, and prints the digest of.
const DIRECTORY: &str = "SKILLPKG_TEST_PACKS";

const FILES: [(&str, &str, bool); 6] = [
    ("SKILL.md", SKILL, false),
    ("a.md", "a\n", false),
    ("bin/run", "#!/bin/sh\n", true),
    ("bin/I\u{131}i\u{130}.txt", "Turkish\n", false),
    ("\u{e9}t\u{e9}.md", "summer\n", false),
    ("z/y/x.txt", "deep\n", false),
];

fn fill(root: &Path) {
    for (path, content, is_executable) in FILES {
        write(root, path, content, is_executable);
    }
}

fn digest(root: &Path) -> String {
    Sha256Digest::of(&archive(&plan(root).unwrap())).to_string()
}

fn expected() -> String {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path());
    digest(directory.path())
}

#[test]
fn the_vectors_files_pack_to_its_snapshot_and_its_stream() {
    let vector: Value = serde_json::from_str(include_str!("../vectors/archive.json")).unwrap();
    let text = |value: &Value, key: &str| value[key].as_str().unwrap().to_owned();
    let directory = tempfile::tempdir().unwrap();
    for file in vector["files"].as_array().unwrap() {
        let is_executable = file["mode"] == "755";
        write(directory.path(), &text(file, "path"), &text(file, "text"), is_executable);
    }
    let options = PackOptions {
        name: Some(text(&vector, "name").parse().unwrap()),
        version: Some(text(&vector, "version").parse().unwrap()),
        allow_secrets: false,
    };
    let packing = Packing::plan(directory.path(), &options).unwrap();
    assert_eq!(packing.manifest().address().to_string(), text(&vector, "address"));
    let stream = tar_stream(&archive(&packing)).unwrap();
    assert_eq!(Sha256Digest::of(&stream).to_string(), text(&vector["stream"], "sha256"));
}

#[test]
fn times_do_not_count() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path());
    for (number, (path, _, _)) in (0_u32..).zip(FILES) {
        let time = SystemTime::UNIX_EPOCH + Duration::from_hours(10_000) * number;
        let file = File::options().append(true).open(directory.path().join(path)).unwrap();
        file.set_times(FileTimes::new().set_modified(time).set_accessed(time)).unwrap();
    }
    assert_eq!(digest(directory.path()), expected());
}

#[test]
fn the_order_in_which_files_were_made_does_not_count() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "removed", "", false);
    for (path, content, is_executable) in FILES.into_iter().rev() {
        write(directory.path(), path, content, is_executable);
    }
    fs::remove_file(directory.path().join("removed")).unwrap();
    assert_eq!(digest(directory.path()), expected());
}

#[test]
fn the_place_of_the_directory_does_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("a b/\u{e9}/.hidden/node_modules");
    fill(&root);
    assert_eq!(digest(&root), expected());
}

#[test]
fn empty_directories_do_not_count() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path());
    fs::create_dir_all(directory.path().join("empty/deeper")).unwrap();
    assert_eq!(digest(directory.path()), expected());
}

#[cfg(unix)]
#[test]
fn permissions_beside_the_owners_execution_do_not_count() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path());
    for (path, _, is_executable) in FILES {
        let mode = if is_executable { 0o700 } else { 0o466 };
        let path = directory.path().join(path);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    assert_eq!(digest(directory.path()), expected());
}

#[test]
fn the_same_process_gives_the_same_bytes_from_many_threads() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path());
    let expected = expected();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(digest(directory.path()), expected));
        }
    });
}

/// What a child process of the other tests runs; nothing where nobody asks.
#[test]
fn a_child_packs_for_its_parent() {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        println!("digest={}", digest(Path::new(&directory)));
    }
}

/// The digest that a child process finds, started through `wrapper`; [`None`] where that cannot be.
fn digest_of_child(wrapper: &[&str], change: impl FnOnce(&mut Command)) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("skill");
    fill(&root);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let program = std::env::current_exe().unwrap();
    let mut command = match wrapper {
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(&program);
            command
        }
        [] => Command::new(&program),
    };
    command
        .args(["--exact", "same_bytes::a_child_packs_for_its_parent", "--nocapture"])
        .env(DIRECTORY, &root);
    change(&mut command);
    let output = command.output().ok()?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    stdout.lines().find_map(|line| Some(line.split_once("digest=")?.1.to_owned()))
}

#[test]
fn environment_does_not_count() {
    let expected = expected();
    for (name, value) in [
        ("LC_ALL", "tr_TR.UTF-8"),
        ("LC_ALL", "C"),
        ("TZ", "Pacific/Kiritimati"),
        ("USER", "somebody"),
        ("HOME", "/nonexistent"),
        ("SOURCE_DATE_EPOCH", "1"),
        ("ZSTD_CLEVEL", "19"),
        ("ZSTD_NBTHREADS", "4"),
    ] {
        let found = digest_of_child(&[], |command| {
            command.env(name, value);
        });
        assert_eq!(found.as_ref(), Some(&expected), "{name}={value}");
    }
}

#[cfg(unix)]
#[test]
fn umask_user_clock_and_processors_do_not_count() {
    use std::os::unix::process::CommandExt as _;
    let test = "umask_user_clock_and_processors_do_not_count";
    let expected = expected();
    for (what, wrapper) in [
        ("umask", &["sh", "-c", "umask 077; exec \"$0\" \"$@\""][..]),
        ("one processor", &["taskset", "-c", "0"]),
        ("another clock", &["faketime", "2001-01-01 00:00:00"]),
    ] {
        match digest_of_child(wrapper, |_| {}) {
            Some(found) => assert_eq!(found, expected, "{what}"),
            None => skipped(test, &format!("`{}`", wrapper[0]), true),
        }
    }
    let nobody = digest_of_child(&[], |command| {
        command.uid(65_534).gid(65_534);
    });
    match nobody {
        Some(found) => assert_eq!(found, expected, "another user"),
        None => skipped(test, "the privilege to become another user", false),
    }
}
