//! Copies, and what their user did to them.

use std::fs;

use super::bench::{Machine, Watcher};
use crate::install::{Frozen, drift, list};

fn with_copy() -> Machine {
    let mut machine = Machine::new();
    machine.options.copy = true;
    let archive = machine.archive("first", "1.0.0", "first", None);
    machine.install(&[&archive]).unwrap();
    machine.options.copy = false;
    machine
}

#[test]
fn an_edited_copy_is_found_exactly_and_kept() {
    let machine = with_copy();
    let copy = machine.project().join(".agents/skills/first");
    fs::write(copy.join("NOTES.md"), "mine").unwrap();
    fs::write(copy.join("more.txt"), "mine too").unwrap();
    let reach = machine.options.reach;
    let listed = list(&machine.settings, reach, &mut Watcher::default()).unwrap();
    assert_eq!(listed[0].modified, ["NOTES.md", "more.txt"]);

    assert!(!machine.sync(Frozen::Yes).unwrap().has_changes());
    let differs = drift(&machine.settings, &machine.options, &mut Watcher::default()).unwrap();
    assert!(differs[0].what.contains("NOTES.md, more.txt"), "{differs:?}");

    let newer = machine.archive("first", "1.1.0", "newer", None);
    let before = machine.picture();
    for error in [machine.install(&[&newer]).unwrap_err(), machine.remove(&["first"]).unwrap_err()]
    {
        assert_eq!(error.code, "edited");
        assert!(error.message.contains("NOTES.md, more.txt"), "{error}");
    }
    assert_eq!(machine.picture(), before);
}

#[test]
fn edits_go_where_that_is_asked_for_and_a_copy_stays_a_copy() {
    let mut machine = with_copy();
    let copy = machine.project().join(".agents/skills/first");
    fs::write(copy.join("NOTES.md"), "mine").unwrap();
    machine.options.discard_edits = true;
    let newer = machine.archive("first", "1.1.0", "newer", None);
    machine.install(&[&newer]).unwrap();
    assert!(copy.symlink_metadata().unwrap().is_dir());
    assert_eq!(fs::read_to_string(copy.join("NOTES.md")).unwrap(), "newer");
    fs::write(copy.join("NOTES.md"), "mine").unwrap();
    machine.remove(&["first"]).unwrap();
    assert!(!copy.exists());
    assert!(!machine.project().join(".agents/skills/.skillpkg-staging").exists());
}

#[test]
fn a_copy_that_is_as_it_was_placed_is_updated_and_removed() {
    let machine = with_copy();
    let copy = machine.project().join(".agents/skills/first");
    let newer = machine.archive("first", "1.1.0", "newer", None);
    machine.install(&[&newer]).unwrap();
    assert_eq!(fs::read_to_string(copy.join("NOTES.md")).unwrap(), "newer");
    machine.remove(&["first"]).unwrap();
    assert!(!copy.exists());
}

#[test]
fn an_edit_does_not_reach_the_store() {
    let machine = with_copy();
    let copy = machine.project().join(".agents/skills/first");
    fs::write(copy.join("NOTES.md"), "mine").unwrap();
    let mut other = Machine::new();
    other.settings.home.clone_from(&machine.settings.home);
    let archive = machine.path("first-1.0.0.skill.tar.zst");
    other.install(&[archive.to_str().unwrap()]).unwrap();
    let link = other.project().join(".agents/skills/first");
    assert_eq!(fs::read_to_string(link.join("NOTES.md")).unwrap(), "first");
}
