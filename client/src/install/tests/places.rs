//! Where skills are placed.

use std::fs;

use super::bench::{Machine, Watcher};
use crate::agents::Reach;
use crate::install::{Frozen, activate, deactivate, list};
use crate::project::ProjectFile;

fn agents_of(machine: &Machine) -> Vec<String> {
    let listed = list(&machine.settings, machine.options.reach, &mut Watcher::default()).unwrap();
    listed.into_iter().flat_map(|skill| skill.agents).collect()
}

#[test]
fn a_skill_goes_to_the_universal_directory_and_to_agents_in_use() {
    let machine = Machine::new();
    fs::create_dir(machine.project().join(".claude")).unwrap();
    fs::create_dir(machine.project().join("skills")).unwrap();
    let archive = machine.archive("first", "1.0.0", "first", None);
    let report = machine.install(&[&archive]).unwrap();
    assert_eq!(report.skills.len(), 1);
    for place in [".agents/skills/first", ".claude/skills/first"] {
        let notes = machine.project().join(place).join("NOTES.md");
        assert_eq!(fs::read_to_string(notes).unwrap(), "first");
    }
    assert!(!machine.project().join("skills/first").exists());
    assert_eq!(agents_of(&machine), ["claude-code", "universal"]);
    let again = machine.install(&[&archive]).unwrap();
    assert!(!again.has_changes());
}

#[test]
fn agents_that_are_named_are_the_only_ones_and_stay() {
    let mut machine = Machine::new();
    machine.options.agents = vec!["claude-code".to_owned()];
    let archive = machine.archive("first", "1.0.0", "first", None);
    machine.install(&[&archive]).unwrap();
    assert!(!machine.project().join(".agents").exists());
    machine.options.agents.clear();
    assert!(!machine.sync(Frozen::Yes).unwrap().has_changes());
    machine.options.agents = vec!["goose".to_owned()];
    machine.sync(Frozen::Yes).unwrap();
    assert_eq!(agents_of(&machine), ["claude-code", "goose"]);

    machine.options.agents = vec!["claud-code".to_owned()];
    let error = machine.sync(Frozen::Yes).unwrap_err();
    assert_eq!(error.code, "unknown_agent");
}

#[test]
fn the_project_decides_for_which_agents() {
    let machine = Machine::new();
    let archive = machine.archive("first", "1.0.0", "first", None);
    machine.install(&[&archive]).unwrap();
    let toml = machine.project().join("skillpkg.toml");
    let text = fs::read_to_string(&toml).unwrap() + "\n[agents]\nuse = [\"claude-code\"]\n";
    fs::write(&toml, &text).unwrap();
    machine.sync(Frozen::Yes).unwrap();
    assert_eq!(agents_of(&machine), ["claude-code"]);
    assert!(!machine.project().join(".agents/skills/first").exists());
    assert_eq!(fs::read_to_string(&toml).unwrap(), text);
}

#[cfg(unix)]
#[test]
fn a_directory_of_skills_that_is_a_link_works_and_two_ways_to_one_place_it_once() {
    let machine = Machine::new();
    let shared = machine.project().join("shared");
    fs::create_dir_all(&shared).unwrap();
    for agent in [".claude", ".agents"] {
        fs::create_dir(machine.project().join(agent)).unwrap();
        std::os::unix::fs::symlink(&shared, machine.project().join(agent).join("skills")).unwrap();
    }
    let archive = machine.archive("first", "1.0.0", "first", None);
    machine.install(&[&archive]).unwrap();
    assert_eq!(fs::read_to_string(shared.join("first/NOTES.md")).unwrap(), "first");
    assert!(!machine.sync(Frozen::Yes).unwrap().has_changes());
    machine.remove(&["first"]).unwrap();
    assert_eq!(fs::read_dir(&shared).unwrap().count(), 0);
    assert!(machine.project().join(".claude/skills").is_symlink());
}

#[test]
fn global_skills_go_to_the_user_and_have_files_of_their_own() {
    let mut machine = Machine::new();
    fs::create_dir(machine.settings.user_home.join(".claude")).unwrap();
    machine.options.reach = Reach::Global;
    let archive = machine.archive("first", "1.0.0", "first", None);
    machine.install(&[&archive]).unwrap();
    for place in [".agents/skills/first", ".claude/skills/first"] {
        assert!(machine.settings.user_home.join(place).join("SKILL.md").exists(), "{place}");
    }
    assert!(machine.settings.home.join("global/skillpkg.lock").exists());
    assert!(machine.picture().is_empty());
    machine.remove(&["first"]).unwrap();
    assert!(agents_of(&machine).is_empty());
}

#[test]
fn another_name_is_seen_written_and_undone() {
    let machine = Machine::new();
    let archive = machine.archive("first", "1.0.0", "first", None);
    machine.install_as(&[&archive], Some("other"), false, &mut Watcher::default()).unwrap();
    assert!(machine.project().join(".agents/skills/other/SKILL.md").exists());
    let text = fs::read_to_string(machine.project().join("skillpkg.toml")).unwrap();
    let (file, _) = ProjectFile::parse(&text).unwrap();
    assert_eq!(file.skills[0].directory_name().as_str(), "other");
    machine.install_as(&[&archive], Some("third"), false, &mut Watcher::default()).unwrap();
    assert!(!machine.project().join(".agents/skills/other").exists());
    machine.remove(&["third"]).unwrap();
    assert!(!machine.project().join(".agents/skills/third").exists());
}

#[test]
fn a_skill_that_is_not_activated_is_placed_nowhere_and_sync_leaves_it_so() {
    let machine = Machine::new();
    let archive = machine.archive("first", "1.0.0", "first", None);
    machine.install_as(&[&archive], None, true, &mut Watcher::default()).unwrap();
    let place = machine.project().join(".agents/skills/first");
    assert!(!place.exists());
    assert!(!machine.sync(Frozen::Yes).unwrap().has_changes());
    let names = ["first".to_owned()];
    let mut watcher = Watcher::default();
    let activated = activate(&machine.settings, &machine.options, &names, &mut watcher);
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(activated).unwrap();
    assert!(place.exists());
    deactivate(&machine.settings, &machine.options, &names, &mut watcher).unwrap();
    assert!(!place.exists());
    assert!(!machine.sync(Frozen::Yes).unwrap().has_changes());
    assert!(machine.project().join("skillpkg.lock").exists());
}

#[test]
fn what_was_deleted_is_placed_again() {
    let machine = Machine::new();
    let archive = machine.archive("first", "1.0.0", "first", None);
    machine.install(&[&archive]).unwrap();
    fs::remove_file(&archive).unwrap();
    let before = machine.picture();
    fs::remove_file(machine.project().join(".agents/skills/first")).unwrap();
    assert!(machine.sync(Frozen::Yes).unwrap().has_changes());
    fs::remove_dir_all(machine.project().join(".agents")).unwrap();
    assert!(machine.sync(Frozen::Yes).unwrap().has_changes());
    assert_eq!(machine.picture(), before);
}

#[test]
fn a_skill_takes_the_place_of_one_that_goes() {
    let machine = Machine::new();
    let first = machine.archive("first", "1.0.0", "first", None);
    let second = machine.archive("second", "1.0.0", "second", None);
    machine.install(&[&first]).unwrap();
    machine.install_as(&[&second], Some("other"), false, &mut Watcher::default()).unwrap();
    let toml = machine.project().join("skillpkg.toml");
    let text = fs::read_to_string(&toml).unwrap();
    let text: Vec<&str> = text.lines().filter(|line| !line.starts_with("first")).collect();
    fs::write(&toml, text.join("\n").replace("\"other\"", "\"first\"")).unwrap();
    machine.sync(Frozen::No).unwrap();
    let notes = machine.project().join(".agents/skills/first/NOTES.md");
    assert_eq!(fs::read_to_string(notes).unwrap(), "second");
    assert_eq!(fs::read_dir(machine.project().join(".agents/skills")).unwrap().count(), 1);
    assert!(!machine.sync(Frozen::Yes).unwrap().has_changes());
}

#[cfg(unix)]
#[test]
fn a_link_to_a_directory_of_skills_that_is_not_there_yet_is_one_place() {
    use std::os::unix::fs::symlink;
    let machine = Machine::new();
    fs::create_dir(machine.project().join(".claude")).unwrap();
    symlink("../.agents/skills", machine.project().join(".claude/skills")).unwrap();
    let archive = machine.archive("first", "1.0.0", "first", None);
    machine.install(&[&archive]).unwrap();
    for place in [".agents/skills/first", ".claude/skills/first"] {
        let notes = machine.project().join(place).join("NOTES.md");
        assert_eq!(fs::read_to_string(notes).unwrap(), "first");
    }
    assert_eq!(agents_of(&machine), ["claude-code", "universal"]);
    assert!(!machine.sync(Frozen::Yes).unwrap().has_changes());
    machine.remove(&["first"]).unwrap();
    assert_eq!(fs::read_dir(machine.project().join(".agents/skills")).unwrap().count(), 0);

    // Also where the link alone is asked for.
    let mut machine = Machine::new();
    fs::create_dir(machine.project().join(".claude")).unwrap();
    symlink("../.agents/skills", machine.project().join(".claude/skills")).unwrap();
    machine.options.agents = vec!["claude-code".to_owned()];
    machine.install(&[&machine.archive("first", "1.0.0", "first", None)]).unwrap();
    assert!(machine.project().join(".agents/skills/first/NOTES.md").exists());
    assert!(!machine.sync(Frozen::Yes).unwrap().has_changes());
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_out_of_the_project_is_refused_and_says_where_to() {
    let machine = Machine::new();
    let (outside, link) = (machine.path("elsewhere"), machine.project().join(".claude"));
    fs::create_dir_all(outside.join("skills")).unwrap();
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let archive = machine.archive("first", "1.0.0", "first", None);
    let error = machine.install(&[&archive]).unwrap_err();
    assert_eq!((error.code.as_str(), error.kind), ("destination_outside", crate::Kind::Refused));
    assert!(error.message.contains("elsewhere"), "{error}");
    assert!(error.hint.unwrap().contains("--agent"));
    assert_eq!(fs::read_dir(outside.join("skills")).unwrap().count(), 0);
    assert!(!machine.project().join("skillpkg.toml").exists());
}

#[cfg(unix)]
#[test]
fn an_archive_behind_a_link_that_leads_out_of_the_project_is_read_only_where_a_person_names_it() {
    let machine = Machine::new();
    let archive = machine.archive("first", "1.0.0", "first", None);
    let link = machine.project().join("first.skill.tar.zst");
    std::os::unix::fs::symlink(&archive, &link).unwrap();
    let project = machine.project().join("skillpkg.toml");
    fs::write(&project, "[skills]\nfirst = { file = \"first.skill.tar.zst\" }\n").unwrap();
    let before = machine.picture();
    for error in [
        machine.sync(Frozen::No).unwrap_err(),
        machine.update(&[], &mut Watcher::default()).unwrap_err(),
    ] {
        assert_eq!((error.code.as_str(), error.kind), ("file_outside", crate::Kind::Refused));
        assert!(error.message.contains(&format!("`{archive}`")), "{error}");
    }
    assert_eq!(machine.picture(), before);
    machine.install(&[link.to_str().unwrap()]).unwrap();
    let written = fs::read_to_string(&project).unwrap();
    assert!(written.contains("file = \"../first-1.0.0.skill.tar.zst\""), "{written}");
    assert!(!machine.sync(Frozen::Yes).unwrap().has_changes());
}
