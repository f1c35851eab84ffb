//! Edits of copies that an update replaces: merged, and never lost, whatever happens meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::bench::{Machine, Watcher, picture_of};
use crate::install::commit::{Ending, end_after, meanwhile_after};
use crate::install::{Report, list, settle};

const BASE: &str = "one\ntwo\nthree\nfour\nfive\n";
const MINE: &str = "my one\ntwo\nthree\nfour\nfive\n";
const THEIRS: &str = "one\ntwo\nthree\nfour\ntheir five\n";
const BOTH: &str = "my one\ntwo\nthree\nfour\ntheir five\n";

/// Two copies of a skill, of which a newer version lies where the one came from.
fn with_copies() -> Machine {
    let mut machine = Machine::new();
    machine.options.copy = true;
    machine.options.agents = vec!["claude-code".to_owned(), "universal".to_owned()];
    let archive = machine.archive("notes", "1.0.0", BASE, None);
    let newer = machine.archive("notes", "1.1.0", THEIRS, None);
    machine.install(&[&archive]).unwrap();
    fs::copy(newer, archive).unwrap();
    machine.options.copy = false;
    machine.options.agents.clear();
    machine.options.merge_edits = true;
    machine
}

fn copies(machine: &Machine) -> [PathBuf; 2] {
    [".agents/skills/notes", ".claude/skills/notes"].map(|path| machine.project().join(path))
}

fn update(machine: &Machine) -> Result<Report, crate::Error> {
    machine.update(&[], &mut Watcher::default())
}

/// The text of every file that is kept.
fn kept(machine: &Machine) -> Vec<String> {
    let edits = machine.settings.home.join("edits");
    if edits.exists() { picture_of(&edits).into_values().collect() } else { Vec::new() }
}

fn has_staging(machine: &Machine) -> bool {
    machine.picture().keys().any(|path| path.contains(".skillpkg-"))
}

#[test]
fn edits_are_merged_and_the_copy_as_it_was_is_kept_whole() {
    let machine = with_copies();
    let [agents, claude] = copies(&machine);
    fs::write(agents.join("NOTES.md"), MINE).unwrap();
    fs::create_dir_all(agents.join("own/empty")).unwrap();
    fs::write(agents.join("own/file"), [0_u8, 255]).unwrap();
    let before = picture_of(&agents);
    let report = update(&machine).unwrap();
    let [merged] = report.merged.as_slice() else { panic!("{report:?}") };
    assert_eq!((&merged.path, merged.merged[0].as_str()), (&agents, "NOTES.md"));
    assert!(merged.conflicts.is_empty() && merged.missed.is_empty(), "{merged:?}");
    assert_eq!(picture_of(&merged.kept), before);
    assert_eq!(fs::read_to_string(agents.join("NOTES.md")).unwrap(), BOTH);
    assert_eq!(fs::read(agents.join("own/file")).unwrap(), [0, 255]);
    assert!(agents.join("own/empty").is_dir());
    assert_eq!(fs::read_to_string(claude.join("NOTES.md")).unwrap(), THEIRS);
    assert!(!has_staging(&machine));
    // All is there: nothing moves any more.
    assert!(update(&machine).unwrap().merged.is_empty());
}

#[test]
fn what_no_skill_can_hold_keeps_a_copy_as_it_is_and_lets_the_others_move_on() {
    let machine = with_copies();
    let other = machine.archive("other", "1.0.0", "other", None);
    machine.install(&[&other]).unwrap();
    fs::copy(machine.archive("other", "1.1.0", "newer", None), &other).unwrap();
    let [agents, _] = copies(&machine);
    for (name, text) in [("a:b", "colon"), ("NOTES.md/", "")] {
        if text.is_empty() {
            fs::remove_file(agents.join("NOTES.md")).unwrap();
            fs::create_dir(agents.join("NOTES.md")).unwrap();
        } else {
            fs::write(agents.join(name), text).unwrap();
        }
        let before = picture_of(&agents);
        let report = update(&machine).unwrap();
        assert_eq!(report.kept.len(), 1, "{report:?}");
        assert!(report.kept[0].reason.contains("cannot be merged"), "{report:?}");
        assert_eq!(picture_of(&agents), before);
        if !text.is_empty() {
            fs::remove_file(agents.join(name)).unwrap();
        }
    }
    let moved = machine.project().join(".agents/skills/other/NOTES.md");
    assert_eq!(fs::read_to_string(moved).unwrap(), "newer");
}

#[cfg(unix)]
#[test]
fn every_obstacle_of_a_merge_is_told_at_once() {
    let machine = with_copies();
    let [agents, _] = copies(&machine);
    fs::write(agents.join("a:b"), "colon").unwrap();
    std::os::unix::fs::symlink("NOTES.md", agents.join("link")).unwrap();
    fs::remove_file(agents.join("NOTES.md")).unwrap();
    fs::create_dir(agents.join("NOTES.md")).unwrap();
    fs::write(agents.join("NOTES.md/mine"), "mine").unwrap();
    let report = update(&machine).unwrap();
    let reason = &report.kept[0].reason;
    for told in [
        "`a:b` is no file that a skill can hold",
        "`link` is no file that a skill can hold",
        "`NOTES.md/mine` is yours, and `NOTES.md` is a file of the new version",
    ] {
        assert!(reason.contains(told), "{reason}");
    }
}

#[cfg(unix)]
#[test]
fn a_copy_whose_place_became_a_link_is_nobodys_to_merge() {
    let machine = with_copies();
    let [agents, _] = copies(&machine);
    let outside = machine.path("outside");
    fs::rename(&agents, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &agents).unwrap();
    let before = picture_of(&outside);
    assert_eq!(update(&machine).unwrap_err().code, "destination_occupied");
    assert_eq!(picture_of(&outside), before);
}

#[test]
fn a_merge_that_is_ended_anywhere_loses_no_edit_and_is_made_whole_by_the_next_command() {
    for ending in [Ending::Kill, Ending::Failure] {
        for places in 0.. {
            let machine = with_copies();
            let [agents, claude] = copies(&machine);
            fs::write(agents.join("NOTES.md"), MINE).unwrap();
            end_after(Some((places, ending)));
            let ended = update(&machine);
            end_after(None);
            let mut watcher = Watcher::default();
            settle(&machine.settings, machine.options.reach, &mut watcher).unwrap();
            let place = fs::read_to_string(agents.join("NOTES.md")).unwrap();
            let is_old = place == MINE;
            assert!(is_old || place == BOTH, "after {places}: {place}");
            let lies_whole = kept(&machine).iter().any(|text| text == MINE);
            assert_eq!(lies_whole, !is_old, "after {places}");
            if ending == Ending::Failure && ended.is_err() {
                assert!(is_old, "after {places}");
            }
            if ending == Ending::Kill && ended.is_err() && !is_old {
                assert!(watcher.told.iter().any(|text| text.contains("edits")), "{watcher:?}");
            }
            // The next run brings it there.
            update(&machine).unwrap();
            assert_eq!(fs::read_to_string(agents.join("NOTES.md")).unwrap(), BOTH);
            assert_eq!(fs::read_to_string(claude.join("NOTES.md")).unwrap(), THEIRS);
            assert_eq!(kept(&machine).iter().filter(|text| *text == MINE).count(), 1);
            assert!(!has_staging(&machine), "after {places}");
            let listed =
                list(&machine.settings, machine.options.reach, &mut Watcher::default()).unwrap();
            assert_eq!(listed[0].modified, ["NOTES.md"]);
            if ended.is_ok() {
                assert!(places > 7, "only {places} places were passed");
                break;
            }
        }
    }
}

#[test]
fn a_kill_while_a_merge_is_finished_loses_no_edit_either() {
    for first in 4..9 {
        for second in 0..6 {
            let machine = with_copies();
            let place = copies(&machine)[0].join("NOTES.md");
            fs::write(&place, MINE).unwrap();
            end_after(Some((first, Ending::Kill)));
            let _ = update(&machine);
            end_after(Some((second, Ending::Kill)));
            let mut watcher = Watcher::default();
            let _ = settle(&machine.settings, machine.options.reach, &mut watcher);
            end_after(None);
            settle(&machine.settings, machine.options.reach, &mut watcher).unwrap();
            let text = fs::read_to_string(&place).unwrap();
            assert!(text == MINE || text == BOTH, "after {first} and {second}: {text}");
            let lies_whole = kept(&machine).iter().any(|text| text == MINE);
            assert_eq!(lies_whole, text == BOTH, "after {first} and {second}");
            update(&machine).unwrap();
            assert_eq!(fs::read_to_string(&place).unwrap(), BOTH);
            assert_eq!(kept(&machine).iter().filter(|text| *text == MINE).count(), 1);
            assert!(!has_staging(&machine), "after {first} and {second}");
        }
    }
}

/// Runs `change` on machines made by `start`, with one edit more at every place in turn, and says
/// that none was lost.
fn loses_nothing(
    start: impl Fn() -> Machine,
    change: impl Fn(&Machine) -> Result<Report, crate::Error>,
) {
    const LATE: &str = "late\n";
    let all = |machine: &Machine| -> Vec<String> {
        machine.picture().into_values().chain(kept(machine)).collect()
    };
    for places in 0.. {
        let machine = start();
        let files = copies(&machine).map(|copy| copy.join("NOTES.md"));
        let written = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&written);
        meanwhile_after(Some((
            places,
            Box::new(move || {
                for file in files {
                    // Whoever saves a file writes what they have of it.
                    if file.exists() {
                        fs::write(file, LATE).unwrap();
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }),
        )));
        let report = change(&machine).unwrap();
        let is_undone = meanwhile_after(None);
        let found = all(&machine).iter().filter(|text| *text == LATE).count();
        assert!(
            found >= written.load(Ordering::Relaxed),
            "after {places}: {:#?}\n{report:?}",
            all(&machine)
        );
        assert!(!has_staging(&machine), "after {places}");
        if is_undone {
            assert!(places > 5, "only {places} places were passed");
            break;
        }
    }
}

#[test]
fn an_edit_made_while_a_copy_is_merged_is_kept() {
    let start = || {
        let machine = with_copies();
        fs::write(copies(&machine)[0].join("NOTES.md"), MINE).unwrap();
        machine
    };
    loses_nothing(start, update);
}

#[test]
fn an_edit_made_while_a_copy_is_replaced_or_removed_is_kept() {
    let start = || {
        let mut machine = with_copies();
        machine.options.merge_edits = false;
        machine
    };
    loses_nothing(start, update);
    loses_nothing(start, |machine| machine.remove(&["notes"]));
}

/// Files by their paths.
type Tree = BTreeMap<String, Vec<u8>>;

fn tree() -> impl Strategy<Value = Tree> {
    let lines = proptest::collection::vec("[a-e]{1,2}", 0..6).prop_map(|lines| {
        lines.into_iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
    });
    let content = prop_oneof![
        4 => lines,
        1 => proptest::collection::vec(any::<u8>(), 1..4),
    ];
    let path = proptest::sample::select(vec!["a.md", "b.txt", "d", "d/c.md", "d/e/f.md", "bin"]);
    proptest::collection::btree_map(path.prop_map(str::to_owned), content, 0..5)
        .prop_filter("a file has nothing beneath it", |tree: &Tree| {
            !tree.contains_key("d") || !tree.keys().any(|path| path.starts_with("d/"))
        })
}

fn write_tree(root: &Path, tree: &Tree) {
    for (path, bytes) in tree {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn read_tree(root: &Path) -> Tree {
    let paths = picture_of(root).into_keys().filter(|path| root.join(path).is_file());
    let files = paths.filter(|path| path != "SKILL.md");
    files.map(|path| (path.clone(), fs::read(root.join(path)).unwrap())).collect()
}

/// Packs a tree as a version of one skill.
fn pack(machine: &Machine, version: &str, tree: &Tree) -> Vec<u8> {
    let source = tempfile::tempdir().unwrap();
    let text = format!(
        "---\nname: notes\nversion: {version}\ndescription: A skill of a test.\n---\n\nBe kind.\n"
    );
    fs::write(source.path().join("SKILL.md"), text).unwrap();
    write_tree(source.path(), tree);
    machine.pack_changed(source.path(), |_| {})
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect()
}

/// A copy of one tree, edited by `edit`, after an update to another; and what became of it.
fn merged(base: &Tree, theirs: &Tree, edit: impl Fn(&Path)) -> (Machine, Report) {
    let mut machine = Machine::new();
    machine.options.copy = true;
    let archive = machine.path("notes.skill.tar.zst");
    fs::write(&archive, pack(&machine, "1.0.0", base)).unwrap();
    machine.install(&[archive.to_str().unwrap()]).unwrap();
    edit(&machine.project().join(".agents/skills/notes"));
    fs::write(&archive, pack(&machine, "1.1.0", theirs)).unwrap();
    machine.options.copy = false;
    machine.options.merge_edits = true;
    let report = update(&machine).unwrap();
    (machine, report)
}

fn of(files: &[(&str, &[u8])]) -> Tree {
    files.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect()
}

#[test]
fn what_is_no_text_stays_as_the_user_has_it_and_an_older_conflict_stays_too() {
    let base = of(&[("bin", &[0, 1]), ("a.md", b"one\n")]);
    let theirs = of(&[("bin", &[0, 3]), ("a.md", b"theirs\n")]);
    let (machine, report) = merged(&base, &theirs, |copy| {
        fs::write(copy.join("bin"), [0, 2]).unwrap();
        fs::write(copy.join("a.md"), "mine\n").unwrap();
        fs::write(copy.join("a.md.merge"), "of another day\n").unwrap();
    });
    let now = read_tree(&machine.project().join(".agents/skills/notes"));
    assert_eq!((&now["bin"], &now["bin.published"]), (&vec![0, 2], &vec![0, 3]));
    assert_eq!(now["a.md.merge"], b"of another day\n");
    let both = "<<<<<<< yours\nmine\n||||||| 1.0.0\none\n=======\ntheirs\n>>>>>>> 1.1.0\n";
    assert_eq!(now["a.md.merge-2"], both.as_bytes());
    let beside = report.merged[0].conflicts.iter().map(|one| one.beside.as_deref().unwrap());
    assert_eq!(beside.collect::<Vec<_>>(), ["a.md.merge-2", "bin.published"]);
}

#[cfg(unix)]
#[test]
fn whether_a_file_is_executable_is_an_edit_of_its_own() {
    use std::os::unix::fs::PermissionsExt as _;
    let (base, theirs) =
        (of(&[("a", b"one\n"), ("b", b"one\n")]), of(&[("a", b"two\n"), ("b", b"one\n")]));
    let (machine, report) = merged(&base, &theirs, |copy| {
        for file in ["a", "b"] {
            fs::set_permissions(copy.join(file), fs::Permissions::from_mode(0o755)).unwrap();
        }
    });
    let copy = machine.project().join(".agents/skills/notes");
    assert_eq!(read_tree(&copy), theirs);
    assert!(report.merged[0].conflicts.is_empty());
    for file in ["a", "b"] {
        assert_eq!(copy.join(file).metadata().unwrap().permissions().mode() & 0o777, 0o755);
    }
}

#[test]
fn a_file_of_the_users_where_a_directory_comes_keeps_the_copy() {
    let (machine, report) = merged(&of(&[]), &of(&[("d/a.md", b"a\n")]), |copy| {
        fs::write(copy.join("d"), "mine\n").unwrap();
    });
    assert!(report.kept[0].reason.contains("`d` is a file of yours"), "{report:?}");
    let copy = machine.project().join(".agents/skills/notes");
    assert_eq!(read_tree(&copy), of(&[("d", b"mine\n")]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_that_only_the_user_wrote_disappears(base in tree(), mine in tree(), theirs in tree()) {
        let mut machine = Machine::new();
        machine.options.copy = true;
        let archive = machine.path("notes.skill.tar.zst");
        fs::write(&archive, pack(&machine, "1.0.0", &base)).unwrap();
        machine.install(&[archive.to_str().unwrap()]).unwrap();
        let copy = machine.project().join(".agents/skills/notes");
        for path in base.keys() {
            fs::remove_file(copy.join(path)).unwrap();
        }
        let _ = fs::remove_dir_all(copy.join("d"));
        write_tree(&copy, &mine);
        fs::write(&archive, pack(&machine, "1.1.0", &theirs)).unwrap();
        machine.options.copy = false;
        machine.options.merge_edits = true;
        let report = update(&machine).unwrap();
        let now = read_tree(&copy);
        if !report.kept.is_empty() {
            prop_assert_eq!(now, mine);
            return Ok(());
        }
        if mine != base {
            prop_assert_eq!(&read_tree(&report.merged[0].kept), &mine);
        }
        let paths: Vec<&String> = base.keys().chain(mine.keys()).chain(theirs.keys()).collect();
        for path in paths {
            let (was, own, new) = (base.get(path), mine.get(path), theirs.get(path));
            if own == was {
                prop_assert_eq!(now.get(path), new, "{}", path);
            } else if new == was {
                prop_assert_eq!(now.get(path), own, "{}", path);
            }
            let old = was.map(|was| lines(was)).unwrap_or_default();
            for line in own.iter().flat_map(|own| lines(own)).filter(|line| !old.contains(line)) {
                let here = now.get(path).map(|now| lines(now)).unwrap_or_default();
                prop_assert!(here.contains(&line), "{}", path);
            }
        }
        for conflict in report.merged.iter().flat_map(|copy| &copy.conflicts) {
            let path = conflict.file.as_str();
            let expected = mine.get(path).or(theirs.get(path));
            prop_assert_eq!(now.get(path), expected);
            if let Some(beside) = &conflict.beside {
                prop_assert!(now.contains_key(beside));
            }
        }
    }
}
