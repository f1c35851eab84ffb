//! Projects that came from elsewhere with what was placed in them: links of another home, copies, and
//! copies that were edited.

use std::fs;
use std::os::unix::fs::symlink;

use skillpkg_tests::{Machine, TestContext, copy_all};

const PLACE: &str = ".agents/skills/waitlist";

/// A registry with `waitlist` 1.2.0, and a machine that has it.
fn installed(options: &[&str]) -> (TestContext, Machine, Machine) {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.2.0", "1.2.0", None);
    let machine = context.machine("reader");
    machine.run(&[&["install", "waitlist@1", "-y"], options].concat()).succeeded();
    (context, author, machine)
}

/// The project as a version control system brings it to another machine, with a link as a link.
fn cloned(context: &TestContext, machine: &Machine, name: &str) -> Machine {
    let clone = context.machine(name);
    for file in ["skillpkg.toml", "skillpkg.lock"] {
        clone.write(file, &machine.read(file));
    }
    let place = clone.project.join(PLACE);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    match fs::read_link(machine.project.join(PLACE)) {
        Ok(target) => symlink(target, place).unwrap(),
        Err(_) => copy_all(&machine.project.join(PLACE), &place),
    }
    clone
}

#[test]
fn a_link_of_another_home_is_replaced_and_what_it_leads_to_is_left() {
    let (context, _author, machine) = installed(&[]);
    let theirs = fs::read_link(machine.project.join(PLACE)).unwrap();
    for (name, frozen) in [("first", true), ("second", false)] {
        let clone = cloned(&context, &machine, name);
        let checked = clone.run(&["sync", "--check"]).ended_with(6);
        assert!(checked.stdout.contains("leads into another store"), "{}", checked.stdout);
        clone.run(if frozen { &["sync", "--frozen", "-y"] } else { &["sync", "-y"] }).succeeded();
        let ours = fs::read_link(clone.project.join(PLACE)).unwrap();
        assert!(ours.starts_with(&clone.home), "{}", ours.display());
        clone.run(&["sync", "--check"]).succeeded();
        clone.run(&["verify"]).succeeded();
    }
    assert_eq!(fs::read_to_string(theirs.join("NOTES.md")).unwrap(), "1.2.0");
    machine.run(&["verify"]).succeeded();
    // Where it leads nowhere on this machine, and where the home itself moved.
    let dangling = cloned(&context, &machine, "dangling");
    let gone = theirs.file_name().unwrap();
    let place = dangling.project.join(PLACE);
    fs::remove_file(&place).unwrap();
    symlink(std::path::Path::new("/nowhere/skillpkg/snapshots").join(gone), &place).unwrap();
    dangling.run(&["sync", "-y"]).succeeded();
    assert_eq!(dangling.read(".agents/skills/waitlist/NOTES.md"), "1.2.0");
    let mut moved = machine;
    let home = context.path("moved-home");
    fs::rename(&moved.home, &home).unwrap();
    moved.home = home.canonicalize().unwrap();
    moved.run(&["sync", "-y"]).succeeded();
    moved.run(&["sync", "--check"]).succeeded();
    moved.run(&["remove", "waitlist"]).succeeded();
    assert!(!moved.project.join(PLACE).is_symlink());
}

#[test]
fn a_link_to_anything_else_and_one_of_what_is_not_locked_stay() {
    let (context, _author, machine) = installed(&[]);
    let snapshot = fs::read_link(machine.project.join(PLACE)).unwrap();
    let name = snapshot.file_name().unwrap().to_str().unwrap().to_owned();
    let mine = context.path("mine");
    fs::create_dir_all(&mine).unwrap();
    fs::write(mine.join("NOTES.md"), "mine").unwrap();
    for (number, target) in [
        mine.to_str().unwrap().to_owned(),
        format!("../../snapshots/{name}"),
        format!("/somewhere/{name}"),
        format!("/somewhere/snapshots/{}", &name[..name.len() - 1]),
        format!("/somewhere/snapshots/{name}/NOTES.md"),
    ]
    .into_iter()
    .enumerate()
    {
        let clone = cloned(&context, &machine, &format!("other-{number}"));
        let place = clone.project.join(PLACE);
        fs::remove_file(&place).unwrap();
        symlink(&target, &place).unwrap();
        let refused = clone.run(&["sync", "-y", "--json"]).ended_with(5);
        assert_eq!(refused.error_code(), "destination_occupied", "{target}");
        assert!(!refused.stdout.contains("--as"), "{}", refused.stdout);
        assert_eq!(fs::read_link(&place).unwrap().to_str(), Some(&*target));
    }
    assert_eq!(fs::read_to_string(mine.join("NOTES.md")).unwrap(), "mine");
    // Nobody said that the skill is wanted there.
    let clone = cloned(&context, &machine, "unlocked");
    for file in ["skillpkg.toml", "skillpkg.lock"] {
        fs::remove_file(clone.project.join(file)).unwrap();
    }
    let refused = clone.run(&["install", "waitlist", "-y", "--json"]).ended_with(5);
    assert_eq!(refused.error_code(), "destination_occupied");
    assert!(refused.stdout.contains("--as waitlist-2"), "{}", refused.stdout);
}

#[test]
fn edits_that_came_with_a_clone_are_listed_merged_and_discarded_like_any_others() {
    let (context, author, machine) = installed(&["--copy"]);
    machine.write(format!("{PLACE}/SKILL.md"), &{
        let text = machine.read(format!("{PLACE}/SKILL.md"));
        format!("{text}\nOurs.\n")
    });
    let kept = cloned(&context, &machine, "kept");
    let synced = kept.run(&["sync", "--frozen", "-y"]).succeeded();
    assert!(synced.stderr.contains("was edited and is kept so: SKILL.md"), "{}", synced.stderr);
    assert!(kept.read(format!("{PLACE}/SKILL.md")).ends_with("Ours.\n"));
    let listed = kept.json(&["list"]);
    assert_eq!(listed["skills"][0]["modified"], serde_json::json!(["SKILL.md"]));
    kept.run(&["verify"]).ended_with(6);
    let discarding = cloned(&context, &machine, "discarding");
    discarding.run(&["sync", "--discard-edits", "-y"]).succeeded();
    discarding.run(&["verify"]).succeeded();
    assert!(!discarding.project.join(PLACE).is_symlink());
    assert!(!discarding.read(format!("{PLACE}/SKILL.md")).contains("Ours."));

    context.publish(&author, "waitlist", "1.3.0", "1.3.0", None);
    assert!(kept.run(&["update", "-y"]).ended_with(6).stdout.contains("kept waitlist at 1.2.0"));
    kept.run(&["update", "--merge", "-y"]).succeeded();
    assert_eq!(kept.read(format!("{PLACE}/NOTES.md")), "1.3.0");
    assert!(kept.read(format!("{PLACE}/SKILL.md")).ends_with("Ours.\n"));
    // Without a sync before, what was signed is not here: the edits are kept.
    let fresh = cloned(&context, &machine, "fresh");
    let checked = fresh.run(&["sync", "--check"]).ended_with(6);
    assert!(!checked.stdout.contains("was edited"), "{}", checked.stdout);
    fresh.run(&["update", "-y"]).ended_with(6);
    assert!(fresh.read(format!("{PLACE}/SKILL.md")).ends_with("Ours.\n"));
    // What calls itself something else is nobody's copy of it.
    let other = cloned(&context, &machine, "other");
    let text = other.read(format!("{PLACE}/SKILL.md")).replace("skill: waitlist", "skill: plans");
    other.write(format!("{PLACE}/SKILL.md"), &text);
    let refused = other.run(&["sync", "--discard-edits", "-y", "--json"]).ended_with(5);
    assert_eq!(refused.error_code(), "destination_occupied");
    assert_eq!(other.read(format!("{PLACE}/SKILL.md")), text);
}

#[test]
fn what_came_with_a_project_goes_with_its_skill_before_anything_was_synced() {
    let (context, _author, machine) = installed(&[]);
    let linked = cloned(&context, &machine, "linked");
    linked.run(&["remove", "waitlist"]).succeeded();
    assert!(!linked.project.join(PLACE).is_symlink());
    let hidden = cloned(&context, &machine, "hidden");
    hidden.run(&["deactivate", "waitlist"]).succeeded();
    assert!(!hidden.project.join(PLACE).is_symlink());

    machine.run(&["install", "waitlist", "--copy", "-y"]).succeeded();
    let moved = machine.in_project(&context.path("moved"));
    copy_all(&machine.project, &moved.project);
    moved.run(&["remove", "waitlist"]).succeeded();
    assert!(!moved.project.join(PLACE).exists());
    let edited = machine.in_project(&context.path("edited"));
    copy_all(&machine.project, &edited.project);
    edited.write(format!("{PLACE}/NOTES.md"), "mine");
    let refused = edited.run(&["remove", "waitlist", "--json"]).ended_with(5);
    assert_eq!(refused.error_code(), "edited");
    assert_eq!(edited.read(format!("{PLACE}/NOTES.md")), "mine");
    // Nobody here knows what was signed.
    let fresh = cloned(&context, &machine, "fresh");
    let removed = fresh.run(&["remove", "waitlist"]).succeeded();
    assert!(removed.stderr.contains("remove it by hand"), "{}", removed.stderr);
    assert!(fresh.project.join(PLACE).is_dir());
}

#[test]
fn a_copy_comes_back_as_a_copy() {
    let (_context, _author, machine) = installed(&["--copy"]);
    let is_copy = |place: &str| {
        let place = machine.project.join(place).join("waitlist");
        place.is_dir() && !place.is_symlink()
    };
    machine.run(&["deactivate", "waitlist"]).succeeded();
    machine.run(&["sync"]).succeeded();
    machine.run(&["activate", "waitlist", "-y"]).succeeded();
    assert!(is_copy(".agents/skills"));
    machine.run(&["agents", "use", "claude-code"]).succeeded();
    assert!(is_copy(".claude/skills"));
    machine.run(&["sync", "-y"]).succeeded();
    assert!(is_copy(".claude/skills"));
    // A link stays a link.
    machine.run(&["remove", "waitlist"]).succeeded();
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    machine.run(&["deactivate", "waitlist"]).succeeded();
    machine.run(&["activate", "waitlist", "-y"]).succeeded();
    assert!(machine.project.join(".claude/skills/waitlist").is_symlink());
}

#[test]
fn doctor_blames_no_signature_of_what_was_not_brought_here_yet() {
    let (context, _author, machine) = installed(&[]);
    let clone = cloned(&context, &machine, "clone");
    // The store has it from another project, whose signer was forgotten.
    clone.run(&["install", "waitlist", "--global", "-y"]).succeeded();
    clone.run(&["remove", "waitlist", "--global"]).succeeded();
    fs::remove_file(clone.home.join("state/signers.json")).unwrap();
    let told = clone.run(&["doctor"]).ended_with(1);
    assert!(!told.stdout.contains("signature"), "{}", told.stdout);
    assert!(told.stdout.contains("`skillpkg sync`"), "{}", told.stdout);
    clone.run(&["sync", "-y"]).succeeded();
    clone.run(&["doctor"]).succeeded();
}
