//! A run that ends anywhere leaves the project as it was or as it was to be.

use super::bench::{Machine, Watcher};
use crate::Error;
use crate::install::commit::{Ending, end_after};
use crate::install::{Frozen, Report, list, settle};

/// Runs `change` on a machine made by `start`, ended at every place in turn; afterwards the project
/// looks as before or as after, and the next run of the same brings it there.
pub(super) fn ends_anywhere(
    start: impl Fn() -> Machine,
    change: impl Fn(&Machine) -> Result<Report, Error>,
) {
    let whole = start();
    let before = whole.picture();
    // A failure takes back what was made, at once.
    for places in 0.. {
        let machine = start();
        end_after(Some((places, Ending::Failure)));
        let failed = change(&machine);
        end_after(None);
        match failed {
            Err(error) if error.code == "failed_here" => {
                assert_eq!(machine.picture(), before, "failed after {places}");
                settle(&machine.settings, machine.options.reach, &mut Watcher::default()).unwrap();
                assert_eq!(machine.picture(), before, "failed after {places}");
            }
            other => {
                other.unwrap();
                break;
            }
        }
    }
    change(&whole).unwrap();
    let after = whole.picture();
    assert_ne!(before, after);
    for places in 0.. {
        let machine = start();
        end_after(Some((places, Ending::Kill)));
        let ended = change(&machine);
        end_after(None);
        let options = &machine.options;
        settle(&machine.settings, options.reach, &mut Watcher::default()).unwrap();
        let picture = without_staging(machine.picture());
        assert!(picture == before || picture == after, "after {places}: {picture:#?}");
        if ended.is_ok() {
            assert!(places >= 8, "only {places} places were passed");
            break;
        }
        // The next command that may write takes out of the project what was made beside its files.
        machine.sync(Frozen::No).unwrap();
        let left = machine.picture();
        assert!(!left.keys().any(|path| path.contains(".new")), "after {places}: {left:#?}");
        // Finished in part or not begun: the same command brings it to its end.
        if let Err(error) = change(&machine) {
            assert_eq!((error.code.as_str(), &picture), ("skill_not_found", &after));
        }
        assert_eq!(machine.picture(), after, "after {places}, run again");
        let mut watcher = Watcher::default();
        for skill in list(&machine.settings, options.reach, &mut watcher).unwrap() {
            assert!(skill.active && skill.modified.is_empty(), "{skill:?}");
        }
    }
}

/// What a run that ended before its change was begun may leave: ours by its name, and gone with the
/// next change.
fn without_staging(
    mut picture: std::collections::BTreeMap<String, String>,
) -> std::collections::BTreeMap<String, String> {
    picture.retain(|path, _| {
        let staged =
            [".skillpkg-staging", ".toml.new", ".lock.new"].iter().any(|mark| path.contains(mark));
        let is_made_for_it = matches!(path.as_str(), ".agents" | ".agents/skills");
        !staged && !is_made_for_it
    });
    picture
}

fn with_agents() -> Machine {
    let machine = Machine::new();
    std::fs::create_dir_all(machine.project().join(".claude/skills")).unwrap();
    machine
}

fn installed(copy: bool) -> Machine {
    let mut machine = with_agents();
    machine.options.copy = copy;
    machine.options.agents = vec!["claude-code".to_owned()];
    let first = machine.archive("first", "1.0.0", "first", None);
    let second = machine.archive("second", "1.0.0", "second", None);
    machine.install(&[&first, &second]).unwrap();
    machine
}

#[test]
fn an_install_that_ends_anywhere_is_old_or_new() {
    for copy in [false, true] {
        let start = || {
            let mut machine = with_agents();
            machine.options.copy = copy;
            machine.options.agents = vec!["claude-code".to_owned()];
            machine
        };
        ends_anywhere(start, |machine| {
            let first = machine.archive("first", "1.0.0", "first", None);
            let second = machine.archive("second", "1.0.0", "second", None);
            machine.install(&[&first, &second])
        });
    }
}

#[test]
fn an_update_that_ends_anywhere_is_old_or_new() {
    for copy in [false, true] {
        ends_anywhere(
            || installed(copy),
            |machine| {
                let first = machine.archive("first", "1.1.0", "newer first", None);
                let second = machine.archive("second", "1.1.0", "newer second", None);
                machine.install(&[&first, &second])
            },
        );
    }
}

#[test]
fn a_removal_that_ends_anywhere_is_old_or_new() {
    for copy in [false, true] {
        ends_anywhere(|| installed(copy), |machine| machine.remove(&["first", "second"]));
    }
}

#[test]
fn what_somebody_changed_after_a_kill_is_left_alone() {
    let machine = installed(false);
    let newer = machine.archive("first", "1.1.0", "newer", None);
    // Past the staging of one skill and the journal, before its first rename.
    end_after(Some((2, Ending::Kill)));
    assert!(machine.install(&[&newer]).is_err());
    end_after(None);
    let place = machine.project().join(".claude/skills/first");
    std::fs::remove_file(&place).unwrap();
    std::fs::write(&place, "theirs").unwrap();
    let toml = machine.project().join("skillpkg.toml");
    std::fs::write(&toml, "# theirs\n").unwrap();
    let mut watcher = Watcher::default();
    settle(&machine.settings, machine.options.reach, &mut watcher).unwrap();
    assert_eq!(std::fs::read_to_string(&place).unwrap(), "theirs");
    assert_eq!(std::fs::read_to_string(&toml).unwrap(), "# theirs\n");
    assert_eq!(watcher.told.iter().filter(|text| text.contains("somebody else")).count(), 2);
}
