//! What users of such tools have reported, each as it would be met here; docs/field-reports.md has
//! them all.

use std::fs;

use skillpkg_tests::{TestContext, write_skill};

#[test]
fn a_second_install_changes_nothing_and_finds_nothing_changed() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.2.0", "of\r\ntwo systems\n", None);
    let machine = context.machine("reader");
    for copy in [&[][..], &["--copy"]] {
        let machine = machine.in_project(&context.path(format!("project{}", copy.len())));
        machine.run(&[&["install", "waitlist", "-y"], copy].concat()).succeeded();
        let before = machine.picture();
        for again in [&["install", "waitlist", "-y"][..], &["sync"], &["update"], &["verify"]] {
            let answer = machine.run(again).succeeded();
            for word in ["mismatch", "edited", "changed", "pdated", "differ"] {
                let told = format!("{}{}", answer.stdout, answer.stderr);
                assert!(!told.contains(word), "{again:?} {copy:?}: {told}");
            }
            assert_eq!(machine.picture(), before, "{again:?} {copy:?}");
        }
        machine.run(&["sync", "--check"]).succeeded();
    }
}

#[test]
fn no_variable_of_the_environment_makes_an_entry_mean_another_source() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.2.0", "mine", None);
    let (elsewhere, other) = context.elsewhere("eve");
    context.publish(&other, "waitlist", "1.2.0", "theirs", None);
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    for fresh in [false, true] {
        let mut turned = if fresh { context.machine("fresh") } else { machine.clone() };
        for name in ["skillpkg.toml", "skillpkg.lock"] {
            turned.write(name, &machine.read(name));
        }
        turned.registry = Some(elsewhere.url());
        for command in [&["sync", "-y"][..], &["sync", "--frozen", "-y"], &["update", "-y"]] {
            let answer = turned.run(command);
            let there = turned.project.join(".agents/skills/waitlist/NOTES.md");
            if let Ok(notes) = fs::read_to_string(there) {
                assert_eq!(notes, "mine", "{command:?}: {answer:?}");
            }
            assert_eq!(turned.read("skillpkg.lock"), machine.read("skillpkg.lock"), "{command:?}");
        }
    }
}

#[test]
fn the_sources_of_a_skill_survive_its_publishing_installing_and_removing() {
    let context = TestContext::new();
    let author = context.author("ada");
    let places = ["skills/waitlist", ".agents/skills/waitlist", ".claude/skills/waitlist"];
    for place in places {
        write_skill(&author.project.join(place), "waitlist", "source", None);
    }
    let before = author.picture();
    author.run(&["publish", places[1], "--version", "1.0.0"]).succeeded();
    let answer = author.run(&["install", "waitlist", "-y", "--json"]).ended_with(5);
    assert_eq!(answer.error_code(), "destination_occupied");
    for command in [&["remove", "waitlist"][..], &["sync"], &["update"], &["gc"]] {
        author.run(command);
        for (path, what) in &before {
            assert_eq!(author.picture().get(path), Some(what), "{command:?}: {path}");
        }
    }
    // Under another name it goes in beside them, and out again.
    author.run(&["install", "waitlist", "--as", "queue", "-y"]).succeeded();
    author.run(&["remove", "queue"]).succeeded();
    for (path, what) in &before {
        assert_eq!(author.picture().get(path), Some(what), "{path}");
    }
}

#[test]
fn what_a_skill_or_its_user_put_beside_its_files_survives_an_update() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "old", None);
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist@1", "--copy", "-y"]).succeeded();
    machine.write(".agents/skills/waitlist/.env", "TOKEN=mine");
    machine.write(".agents/skills/waitlist/state/seen.json", "[1]");
    context.publish(&author, "waitlist", "1.1.0", "new", None);
    for command in [&["update"][..], &["update", "-y"], &["sync"], &["remove", "waitlist"]] {
        let answer = machine.run(command);
        for (path, text) in [(".env", "TOKEN=mine"), ("state/seen.json", "[1]")] {
            let found = machine.read(format!(".agents/skills/waitlist/{path}"));
            assert_eq!(found, text, "{command:?}: {answer:?}");
        }
    }
}

#[test]
fn no_name_reaches_out_of_the_directory_of_skills() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "notes", None);
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    machine.write("keep.txt", "mine");
    let before = machine.picture();
    for name in ["..", ".", "../..", "/", "waitlist/../..", "..%2f..", "waitlist\\..", "~", ""] {
        for command in [
            &["remove", name][..],
            &["deactivate", name],
            &["activate", name],
            &["update", name],
            &["install", name, "-y"],
            &["install", "waitlist", "--as", name, "-y"],
        ] {
            let answer = machine.run(command);
            assert!((1..=6).contains(&answer.code), "{command:?}: {answer:?}");
            assert_eq!(machine.picture(), before, "{command:?}: {answer:?}");
        }
    }
}
