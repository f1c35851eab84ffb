//! Files that are not what they should be: each is told with its path and what to do, and nobody waits.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use skillpkg_tests::{Machine, TestContext};

/// How a file is damaged.
const DAMAGES: [&str; 4] = ["empty", "garbage", "directory", "pipe"];

fn damage(path: &Path, how: &str) {
    fs::remove_file(path).unwrap();
    match how {
        "empty" => fs::write(path, "").unwrap(),
        "garbage" => fs::write(path, "\u{0}\u{1}not it").unwrap(),
        "directory" => fs::create_dir(path).unwrap(),
        _ => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
    }
}

fn restore(path: &Path, bytes: &[u8]) {
    let removed = if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
    removed.unwrap();
    fs::write(path, bytes).unwrap();
}

/// Every file of the state, the store's own and those of the project.
fn files(machine: &Machine) -> Vec<PathBuf> {
    let beneath = |directory: PathBuf| {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_file()).collect::<Vec<_>>()
    };
    let state = machine.home.join("state");
    let mut files = vec![
        state.join("signers.json"),
        state.join("standings.json"),
        machine.home.join("format"),
        machine.project.join("skillpkg.toml"),
        machine.project.join("skillpkg.lock"),
    ];
    for directory in ["projects", "approvals"] {
        let of_state = beneath(state.join(directory)).into_iter();
        files.extend(of_state.filter(|path| path.extension().is_some_and(|one| one == "json")));
    }
    files
}

#[test]
fn a_damaged_file_is_told_with_its_path_and_what_to_do_and_nobody_waits_for_it() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", Some("sh NOTES.md"));
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    machine.run(&["sync", "-y"]).succeeded();
    let mut told_nowhere = Vec::new();
    for path in files(&machine) {
        let bytes = fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        for how in DAMAGES {
            // An empty project file says that nothing is wanted.
            if (name, how) == ("skillpkg.toml", "empty") {
                continue;
            }
            damage(&path, how);
            let mut is_told = false;
            for arguments in
                [&["list"][..], &["call", "waitlist", "go", "--no-input"], &["doctor", "--offline"]]
            {
                let start = Instant::now();
                let answer = machine.run(arguments);
                let told = format!("{}{}", answer.stdout, answer.stderr);
                let what = format!("{name} {how}: {arguments:?}: {told}");
                assert!(start.elapsed() < Duration::from_secs(20), "{what}");
                assert!(!told.contains("panicked"), "{what}");
                if arguments[0] == "doctor" {
                    let mends = "`skillpkg verify --repair` mends it";
                    assert!(!told.contains(mends), "nothing in the store is damaged: {what}");
                    let lines: Vec<&str> = told.lines().collect();
                    let at = lines.iter().position(|line| line.contains(name));
                    is_told = at.is_some_and(|at| {
                        lines.get(at + 1).is_some_and(|line| line.starts_with("  "))
                    });
                } else if answer.code != 0 && told.contains(name) {
                    // Of a project's file it is told where in it.
                    let is_placed = told.contains(&format!("{name}:1:"));
                    assert!(is_placed || told.contains("hint: "), "{what}");
                }
            }
            if !is_told {
                told_nowhere.push(format!("{name} {how}"));
            }
            restore(&path, &bytes);
        }
    }
    assert!(told_nowhere.is_empty(), "{told_nowhere:#?}");
    machine.run(&["verify"]).succeeded();
}

#[test]
fn what_stands_in_the_place_of_a_directory_or_a_lock_is_told_with_what_to_do() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    let state = machine.home.join("state");
    for name in ["approvals", "projects"] {
        let (place, aside) = (state.join(name), state.join("aside"));
        fs::rename(&place, &aside).unwrap();
        fs::write(&place, "").unwrap();
        let told = machine.run(&["doctor", "--offline"]).ended_with(1);
        let line = format!("{name}` is no directory\n  move it away");
        assert!(told.stdout.contains(&line), "{}", told.stdout);
        let refused = machine.run(&["sync", "-y"]);
        assert!(refused.code == 0 || refused.stderr.contains("hint: "), "{}", refused.stderr);
        fs::remove_file(&place).unwrap();
        fs::rename(&aside, &place).unwrap();
    }
    let projects = fs::read_dir(state.join("projects")).unwrap().map(|entry| entry.unwrap().path());
    let lock = projects.into_iter().find(|path| path.extension().is_some_and(|one| one == "lock"));
    for lock in [lock.unwrap(), machine.home.join("lock")] {
        for how in ["directory", "pipe"] {
            let start = Instant::now();
            damage(&lock, how);
            let refused = machine.run(&["sync", "-y"]);
            let told = format!("{} {how}: {}", lock.display(), refused.stderr);
            assert!(start.elapsed() < Duration::from_secs(20), "{told}");
            let is_told = refused.stderr.contains("hint: ")
                && refused.stderr.contains(lock.file_name().unwrap().to_str().unwrap());
            assert!(refused.code == 0 || is_told, "{told}");
            restore(&lock, b"");
        }
    }
    machine.run(&["sync", "-y"]).succeeded();
}
