//! Taking over what another tool placed.

use std::fs;
use std::path::{Path, PathBuf};

use super::bench::{Machine, Watcher, block_on};
use super::kills::ends_anywhere;
use crate::adopt::FoundTree;
use crate::install::{Report, TakenOver, take_over};
use crate::state::Foreign;
use crate::{Error, Kind};

/// Writes the files of the archive `first`, and what no version has beside them.
fn place(directory: &Path) {
    fs::create_dir_all(directory).unwrap();
    let text = "---\nskill: first\ndescription: A skill of a test.\nversion: 1.0.0\n\
                includes: NOTES.md\n---\n\nRead NOTES.md.\n";
    fs::write(directory.join("SKILL.md"), text).unwrap();
    fs::write(directory.join("NOTES.md"), "first").unwrap();
    fs::write(directory.join(".DS_Store"), "of the desktop").unwrap();
}

/// A machine that has `first` and shows it to nobody, and on which another tool placed it twice.
fn start() -> Machine {
    let mut machine = Machine::new();
    machine.options.agents = vec!["claude-code".to_owned()];
    let first = machine.archive("first", "1.0.0", "first", None);
    machine.install_as(&[&first], None, true, &mut Watcher::default()).unwrap();
    place(&machine.project().join(".claude/skills/first"));
    #[cfg(unix)]
    {
        fs::create_dir_all(machine.project().join(".windsurf/skills")).unwrap();
        let link = machine.project().join(".windsurf/skills/first");
        std::os::unix::fs::symlink("../../.claude/skills/first", link).unwrap();
    }
    machine
}

fn fingerprint() -> Foreign {
    let directory = tempfile::tempdir().unwrap();
    place(directory.path());
    Foreign::Tree(FoundTree::read(directory.path()).unwrap().fingerprint())
}

fn taken(machine: &Machine, found: Foreign) -> Result<Report, Error> {
    let lock = fs::read_to_string(machine.project().join("skillpkg.lock")).unwrap();
    let address = lock.lines().find_map(|line| line.strip_prefix("address = \"")).unwrap();
    let at = |path: &str| machine.project().join(path);
    let mut places: Vec<(PathBuf, Foreign)> = vec![(at(".claude/skills/first"), found)];
    if cfg!(unix) {
        let said = Foreign::Link("../../.claude/skills/first".into());
        places.push((at(".windsurf/skills/first"), said));
    }
    let skill = TakenOver {
        name: "first".parse().unwrap(),
        address: address.trim_end_matches('"').parse().unwrap(),
        placed_as: None,
        requirement: None,
        places,
    };
    let options = &machine.options;
    block_on(take_over(&machine.settings, options, &[skill], &mut Watcher::default()))
}

#[test]
fn what_is_taken_over_and_ends_anywhere_is_theirs_or_ours() {
    let found = fingerprint();
    ends_anywhere(start, |machine| taken(machine, found.clone()));
}

#[test]
fn what_was_edited_since_it_was_looked_at_is_kept_and_nothing_is_changed() {
    let machine = start();
    let found = fingerprint();
    let notes = machine.project().join(".claude/skills/first/NOTES.md");
    for (file, text) in [("NOTES.md", "edited"), ("mine.md", "new")] {
        let path = notes.with_file_name(file);
        fs::write(&path, text).unwrap();
        let before = machine.picture();
        let error = taken(&machine, found.clone()).unwrap_err();
        assert_eq!((error.kind, error.code.as_str()), (Kind::Refused, "destination_occupied"));
        assert_eq!(machine.picture(), before);
        fs::write(&notes, "first").unwrap();
    }
    fs::remove_file(notes.with_file_name("mine.md")).unwrap();
    let report = taken(&machine, found.clone()).unwrap();
    assert!(report.has_changes());
    assert!(machine.project().join(".claude/skills/first").is_symlink() || cfg!(windows));
    assert!(!taken(&machine, found).unwrap().has_changes());
}
