//! What is refused, with nothing changed.

use std::fs;

use skillpkg_schema::Manifest;

use super::bench::{Machine, Watcher};
#[cfg(unix)]
use super::skips::skipped;
use crate::Kind;
use crate::install::Frozen;

#[test]
fn what_we_did_not_place_is_left_alone() {
    for what in ["directory", "file", "link"] {
        let machine = Machine::new();
        let skills = machine.project().join(".agents/skills");
        fs::create_dir_all(&skills).unwrap();
        match what {
            "directory" => {
                fs::create_dir(skills.join("first")).unwrap();
                fs::write(skills.join("first/SKILL.md"), "theirs").unwrap();
            }
            "file" => fs::write(skills.join("first"), "theirs").unwrap(),
            _ => {
                #[cfg(unix)]
                std::os::unix::fs::symlink("/nowhere", skills.join("first")).unwrap();
            }
        }
        let before = machine.picture();
        let archive = machine.archive("first", "1.0.0", "first", None);
        let error = machine.install(&[&archive]).unwrap_err();
        assert_eq!((error.code.as_str(), error.kind), ("destination_occupied", Kind::Refused));
        assert!(error.hint.unwrap().contains("--as"));
        assert_eq!(machine.picture(), before, "{what}");
        machine.install_as(&[&archive], Some("mine"), false, &mut Watcher::default()).unwrap();
        machine.remove(&["first"]).unwrap();
        assert!(skills.join("first").symlink_metadata().is_ok(), "{what}");
    }
}

#[test]
fn what_took_the_place_of_ours_is_not_removed() {
    let machine = Machine::new();
    let archive = machine.archive("first", "1.0.0", "first", None);
    machine.install(&[&archive]).unwrap();
    let place = machine.project().join(".agents/skills/first");
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    fs::write(place.join("SKILL.md"), "theirs").unwrap();
    assert_eq!(machine.sync(Frozen::Yes).unwrap_err().code, "destination_occupied");
    machine.remove(&["first"]).unwrap();
    assert_eq!(fs::read_to_string(place.join("SKILL.md")).unwrap(), "theirs");
    assert!(
        !fs::read_to_string(machine.project().join("skillpkg.lock")).unwrap().contains("first")
    );
}

#[test]
fn nothing_is_written_before_it_is_approved() {
    let mut machine = Machine::new();
    machine.options.approve = false;
    let archive = machine.archive("first", "1.0.0", "first", Some("sh NOTES.md"));
    let mut watcher = Watcher::default();
    let error = machine.install_as(&[&archive], None, false, &mut watcher).unwrap_err();
    assert_eq!((error.code.as_str(), error.kind.exit_code()), ("approval_required", 5));
    assert!(watcher.asked[0].runs.iter().any(|line| line.contains("sh NOTES.md")));
    assert!(machine.picture().is_empty());

    machine.options.approve = true;
    machine.install(&[&archive]).unwrap();
    machine.options.approve = false;
    machine.remove(&["first"]).unwrap();
    // Approved once on this machine, by its address.
    machine.install(&[&archive]).unwrap();
}

#[test]
fn an_update_that_adds_something_needs_a_flag_of_its_own_and_one_that_does_not_asks_nothing() {
    let mut machine = Machine::new();
    let place = |version: &str, notes: &str, runs: &str| {
        let archive = machine.archive("first", version, notes, Some(runs));
        let vendored = machine.project().join("first.skill.tar.zst");
        fs::copy(archive, &vendored).unwrap();
        vendored.to_str().unwrap().to_owned()
    };
    let vendored = place("1.0.0", "first", "sh -n");
    machine.install(&[&vendored]).unwrap();
    place("1.1.0", "newer", "sh -n");
    machine.options.approve = false;
    let report = machine.update(&[], &mut Watcher::default()).unwrap();
    assert_eq!(report.skills[0].locked.version.to_string(), "1.1.0");

    let place = |version: &str, runs: &str| {
        let archive = machine.archive("first", version, "newer", Some(runs));
        fs::copy(archive, &vendored).unwrap();
    };
    place("1.2.0", "env sh -n");
    machine.options.approve = true;
    let mut watcher = Watcher::default();
    let before = machine.picture();
    assert_eq!(machine.update(&[], &mut watcher).unwrap_err().code, "approval_required");
    assert!(!watcher.asked[0].adds.as_ref().unwrap().is_empty());
    assert!(watcher.asked[0].widens, "the ordinary yes is not enough");
    assert_eq!(machine.picture(), before);
    machine.options.approve = false;
    machine.options.accept_permissions = true;
    assert!(machine.update(&["first"], &mut watcher).unwrap().has_changes());
    assert!(!machine.update(&["first"], &mut watcher).unwrap().has_changes());
}

#[test]
fn an_update_that_changes_a_file_that_runs_is_asked_about() {
    let mut machine = Machine::new();
    let place = |version: &str, notes: &str| {
        let archive = machine.archive("first", version, notes, Some("sh NOTES.md"));
        let vendored = machine.project().join("first.skill.tar.zst");
        fs::copy(archive, &vendored).unwrap();
        vendored.to_str().unwrap().to_owned()
    };
    let vendored = place("1.0.0", "first");
    machine.install(&[&vendored]).unwrap();
    place("1.1.0", "other");
    let before = machine.picture();
    let mut watcher = Watcher::default();
    machine.options.approve = false;
    let error = machine.update(&[], &mut watcher).unwrap_err();
    assert_eq!((error.code.as_str(), error.kind.exit_code()), ("approval_required", 5));
    let told = "`NOTES.md`, which tool `go` runs, has other content";
    assert_eq!(watcher.asked[0].adds.as_deref().unwrap(), [told]);
    assert_eq!(machine.picture(), before);
    // It may do no more than before, so that the ordinary yes is enough.
    assert!(!watcher.asked[0].widens);
    machine.options.approve = true;
    assert!(machine.update(&[], &mut watcher).unwrap().has_changes());
}

#[test]
fn an_update_that_has_its_host_run_something_needs_the_flag_for_it() {
    let mut machine = Machine::new();
    let vendored = machine.project().join("first.skill.tar.zst");
    let place = |machine: &Machine, version: &str, key: &str, prose: &str| {
        let text = format!(
            "---\nskill: first\ndescription: A skill of a test.\nversion: {version}\n\
             includes: NOTES.md\n{key}---\n\nRead NOTES.md. {prose}\n"
        );
        fs::write(&vendored, machine.pack_text(&text, "first")).unwrap();
    };
    place(&machine, "1.0.0", "author: ada\n", "");
    machine.install(&[vendored.to_str().unwrap()]).unwrap();
    for (key, prose, told) in [
        ("hooks:\n  Stop:\n    - id\n", "", "it tells its host `hooks.Stop`: id"),
        ("", "Changes: !`git diff`", "the prose has its host run: git diff"),
    ] {
        place(&machine, "1.1.0", key, prose);
        for approve in [false, true] {
            machine.options.approve = approve;
            let mut watcher = Watcher::default();
            let error = machine.update(&[], &mut watcher).unwrap_err();
            assert_eq!(error.code, "approval_required");
            assert_eq!(watcher.asked[0].adds.as_deref().unwrap(), [told]);
            assert!(watcher.asked[0].runs_anything);
        }
    }
    place(&machine, "1.1.0", "author: ada and others\n", "Other prose.");
    machine.options.approve = false;
    assert!(machine.update(&[], &mut Watcher::default()).unwrap().has_changes());
}

#[test]
fn an_update_that_cannot_be_held_against_what_was_approved_needs_the_flag_for_additions() {
    let mut machine = Machine::new();
    let vendored = machine.project().join("first.skill.tar.zst");
    let place = |machine: &Machine, version: &str| {
        let archive = machine.archive("first", version, version, Some("sh -n"));
        fs::copy(archive, &vendored).unwrap();
    };
    place(&machine, "1.0.0");
    machine.install(&[vendored.to_str().unwrap()]).unwrap();
    place(&machine, "1.1.0");
    let records = machine.settings.home.join("manifests");
    for record in fs::read_dir(&records).unwrap() {
        fs::remove_file(record.unwrap().path()).unwrap();
    }
    let mut watcher = Watcher::default();
    assert_eq!(machine.update(&[], &mut watcher).unwrap_err().code, "approval_required");
    assert_eq!(watcher.asked[0].adds, None);
    machine.options.accept_permissions = true;
    assert!(machine.update(&[], &mut watcher).unwrap().has_changes());
}

#[test]
fn a_program_that_is_missing_is_named_before_anything_is_placed() {
    let machine = Machine::new();
    let archive = machine.archive("first", "1.0.0", "first", Some("no-such-program-here x"));
    let error = machine.install(&[&archive]).unwrap_err();
    assert_eq!((error.code.as_str(), error.kind.exit_code()), ("program_missing", 4));
    assert!(error.message.contains("no-such-program-here"));
    assert!(machine.picture().is_empty());
}

#[test]
fn what_is_missing_for_several_skills_is_told_at_once() {
    let machine = Machine::new();
    let archives: Vec<String> = ["first", "second", "third"]
        .iter()
        .map(|name| {
            let program = if *name == "second" { "sh -n" } else { "no-such-program-here x" };
            machine.archive(name, "1.0.0", name, Some(program))
        })
        .collect();
    let archives: Vec<&str> = archives.iter().map(String::as_str).collect();
    let error = machine.install(&archives).unwrap_err();
    assert_eq!((error.code.as_str(), error.kind.exit_code()), ("program_missing", 4));
    let told: Vec<&str> = error.faults.iter().map(|fault| fault.message.as_str()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("`first`") && told[1].contains("`third`"), "{told:?}");
    assert!(machine.picture().is_empty());
}

#[test]
fn an_archive_of_an_unknown_signer_or_cut_short_is_refused() {
    let machine = Machine::new();
    let mut stranger = Machine::new();
    stranger.sign_as_a_stranger();
    let archive = stranger.archive("first", "1.0.0", "first", None);
    let error = machine.install(&[&archive]).unwrap_err();
    assert_eq!((error.code.as_str(), error.kind), ("signature_refused", Kind::Verification));
    let own = machine.archive("first", "1.0.0", "first", None);
    let bytes = fs::read(&own).unwrap();
    for length in [0, 10, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&own, &bytes[..length]).unwrap();
        let error = machine.install(&[&own]).unwrap_err();
        assert_eq!(error.kind, Kind::Verification, "{length}: {error}");
    }
    assert!(machine.picture().is_empty());
}

#[test]
fn a_lockfile_that_does_not_fit_is_refused_where_it_must_and_mended_where_it_may() {
    let machine = Machine::new();
    let archive = machine.archive("first", "1.0.0", "first", None);
    machine.install(&[&archive]).unwrap();
    let lock = machine.project().join("skillpkg.lock");
    let text = fs::read_to_string(&lock).unwrap();

    fs::remove_file(&lock).unwrap();
    let error = machine.sync(Frozen::Yes).unwrap_err();
    assert_eq!(error.code, "lock_outdated");
    assert!(error.message.contains("`first` is not locked"));
    machine.sync(Frozen::No).unwrap();
    assert_eq!(fs::read_to_string(&lock).unwrap(), text);

    for (change, code) in [
        (text.replace("version = 1\n", "version = 7\n"), "format_too_new"),
        (format!("<<<<<<< a\n{text}>>>>>>> b\n"), "lock_conflict"),
        (text.replace("archive = ", "other = "), "lock_invalid"),
    ] {
        fs::write(&lock, &change).unwrap();
        for error in [
            machine.sync(Frozen::No).unwrap_err(),
            machine.install(&[&archive]).unwrap_err(),
            machine.remove(&["first"]).unwrap_err(),
        ] {
            assert_eq!(error.code, code);
            assert!(error.line.is_some() && error.hint.is_some(), "{error}");
        }
        assert_eq!(fs::read_to_string(&lock).unwrap(), change);
    }
}

#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_written_is_named_and_nothing_is_changed() {
    use std::os::unix::fs::PermissionsExt as _;
    let machine = Machine::new();
    let skills = machine.project().join(".agents/skills");
    fs::create_dir_all(&skills).unwrap();
    fs::set_permissions(&skills, fs::Permissions::from_mode(0o555)).unwrap();
    // Whoever may do everything is not kept out.
    if fs::write(skills.join("x"), "").is_ok() {
        let test = "a_directory_that_cannot_be_written_is_named_and_nothing_is_changed";
        return skipped(test, "a user who may not do everything", false);
    }
    let archive = machine.archive("first", "1.0.0", "first", None);
    let error = machine.install(&[&archive]).unwrap_err();
    assert_eq!(error.code, "not_permitted");
    assert!(error.message.contains(".agents/skills"));
    assert_eq!(machine.picture().len(), 2);
}

#[test]
fn what_is_wrong_with_a_request_is_told_with_the_nearest() {
    let machine = Machine::new();
    let archive = machine.archive("first", "1.0.0", "first", None);
    machine.install(&[&archive]).unwrap();
    let error = machine.remove(&["frist"]).unwrap_err();
    assert_eq!(error.code, "skill_not_found");
    assert_eq!(error.hint.as_deref(), Some("did you mean `first`?"));
    let error = machine.install(&["other"]).unwrap_err();
    assert_eq!(error.code, "no_registry");
    let error = machine.install(&["."]).unwrap_err();
    assert_eq!((error.code.as_str(), error.kind), ("not_an_archive", Kind::Usage));
}

#[test]
fn an_archive_whose_manifest_says_what_its_files_do_not_is_refused() {
    let machine = Machine::new();
    let text = "---\nskill: first\ndescription: A skill of a test.\nversion: 1.0.0\n---\n\nRead.\n\n\
                ```tool\nid: go\ndescription: goes\nrun: sh -n\n```\n";
    let source = tempfile::tempdir().unwrap();
    fs::write(source.path().join("SKILL.md"), text).unwrap();
    let archive = machine.project().join("first.skill.tar.zst");
    let changes: [fn(&mut Manifest); 3] = [
        |manifest| manifest.tools.clear(),
        |manifest| manifest.programs.clear(),
        |manifest| manifest.description.push('!'),
    ];
    for (what, change) in changes.into_iter().enumerate() {
        fs::write(&archive, machine.pack_changed(source.path(), change)).unwrap();
        let error = machine.install(&[archive.to_str().unwrap()]).unwrap_err();
        assert_eq!(error.kind, Kind::Verification, "{what}: {error}");
        assert!(!machine.project().join(".agents").exists(), "{what}");
    }
}
