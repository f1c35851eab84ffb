//! Where skills are placed.

use std::fs;

use super::bench::{Machine, Watcher};
use crate::agents::Reach;
use crate::install::{Frozen, activate, deactivate, list, overview, reset_agents, use_agents};
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

fn remembered(machine: &Machine) -> Option<Vec<String>> {
    let state = crate::state::State::new(&machine.settings.home);
    state.project(machine.project()).unwrap().agents
}

#[test]
fn what_was_found_at_first_is_remembered_and_a_directory_made_later_brings_no_skill_there() {
    let machine = Machine::new();
    fs::create_dir(machine.project().join(".claude")).unwrap();
    let first = machine.archive("first", "1.0.0", "first", None);
    machine.install(&[&first]).unwrap();
    assert_eq!(remembered(&machine).unwrap(), ["universal", "claude-code"]);
    fs::create_dir(machine.project().join(".goose")).unwrap();
    let second = machine.archive("second", "1.0.0", "second", None);
    let mut watcher = Watcher::default();
    machine.install_as(&[&second], None, false, &mut watcher).unwrap();
    assert!(!machine.project().join(".goose/skills").exists());
    assert!(machine.project().join(".claude/skills/second").exists());
    let told = watcher.told.iter().find(|told| told.contains("Goose")).unwrap();
    assert!(told.contains("`skillpkg agents reset`"), "{told}");
    machine.sync(Frozen::Yes).unwrap();
    assert_eq!(remembered(&machine).unwrap(), ["universal", "claude-code"]);

    reset_agents(&machine.settings, &machine.options, &mut Watcher::default()).unwrap();
    assert!(machine.project().join(".goose/skills/first").exists());
    assert_eq!(remembered(&machine).unwrap(), ["universal", "claude-code", "goose"]);
}

#[test]
fn a_skill_shows_once_in_an_agent_that_reads_the_directory_of_another() {
    let machine = Machine::new();
    for directory in [".claude", ".cursor"] {
        fs::create_dir(machine.project().join(directory)).unwrap();
    }
    let archive = machine.archive("first", "1.0.0", "first", None);
    machine.install(&[&archive]).unwrap();
    assert!(machine.project().join(".claude/skills/first").exists());
    assert!(!machine.project().join(".agents").exists());
    assert!(!machine.project().join(".cursor/skills").exists());
    let told = overview(&machine.settings, &machine.options, &mut Watcher::default()).unwrap();
    assert!(told.agents.iter().all(|view| view.twice.is_empty()));
    let cursor = told.agents.iter().find(|view| view.id == "cursor").unwrap();
    assert_eq!(cursor.writes, Some(machine.project().join(".claude/skills")));
    assert_eq!(cursor.skills.len(), 1);

    // One that is named and finds the skill already gets no second one.
    let mut machine = machine;
    machine.options.agents = vec!["opencode".to_owned()];
    machine.sync(Frozen::Yes).unwrap();
    assert!(!machine.project().join(".agents").exists());
    assert_eq!(agents_of(&machine), ["claude-code", "cursor", "opencode"]);
}

#[test]
fn the_agents_that_are_named_are_written_down_and_every_skill_moves_at_once() {
    let machine = Machine::new();
    for name in ["first", "second"] {
        let archive = machine.archive(name, "1.0.0", name, None);
        machine.install(&[&archive]).unwrap();
    }
    let toml = machine.project().join("skillpkg.toml");
    let text = format!("# ours\n{}", fs::read_to_string(&toml).unwrap());
    fs::write(&toml, &text).unwrap();
    let named = ["claude-code".to_owned(), "zed".to_owned(), "claude-code".to_owned()];
    let (settings, options) = (&machine.settings, &machine.options);
    use_agents(settings, options, &named, &mut Watcher::default()).unwrap();
    let written = fs::read_to_string(&toml).unwrap();
    assert_eq!(written, format!("{text}\n[agents]\nuse = [\"claude-code\", \"zed\"]\n"));
    for name in ["first", "second"] {
        assert!(machine.project().join(".claude/skills").join(name).exists());
        assert!(machine.project().join(".agents/skills").join(name).exists());
    }
    assert_eq!(remembered(&machine), None);
    let before = machine.picture();

    // What stands in the way of one keeps all of it from changing.
    fs::create_dir_all(machine.project().join(".kiro/skills/second")).unwrap();
    let kiro = ["kiro-cli".to_owned()];
    let error = use_agents(settings, options, &kiro, &mut Watcher::default()).unwrap_err();
    assert_eq!(error.code, "destination_occupied");
    fs::remove_dir_all(machine.project().join(".kiro")).unwrap();
    assert_eq!(machine.picture(), before);
    use_agents(settings, options, &kiro, &mut Watcher::default()).unwrap();
    assert!(!machine.project().join(".claude/skills/first").exists());
    assert!(machine.project().join(".kiro/skills/first").exists());
    assert!(!machine.sync(Frozen::Yes).unwrap().has_changes());

    reset_agents(settings, options, &mut Watcher::default()).unwrap();
    let (file, _) = ProjectFile::parse(&fs::read_to_string(&toml).unwrap()).unwrap();
    assert_eq!(file.agents.used, None);
    // What we made for an agent is no sign of it, and goes with what was in it.
    assert_eq!(agents_of(&machine), ["universal", "universal"]);
    for directory in [".claude", ".kiro"] {
        assert!(!machine.project().join(directory).exists(), "{directory}");
    }
    let error = use_agents(settings, options, &["kira-cli".to_owned()], &mut Watcher::default());
    assert_eq!(error.unwrap_err().hint.as_deref(), Some("did you mean `kiro-cli`?"));
}

#[test]
fn a_copy_that_was_edited_is_not_left_behind_by_a_choice_of_agents() {
    let mut machine = Machine::new();
    machine.options.copy = true;
    let archive = machine.archive("first", "1.0.0", "first", None);
    machine.install(&[&archive]).unwrap();
    machine.options.copy = false;
    let edited = machine.project().join(".agents/skills/first/NOTES.md");
    fs::write(&edited, "mine").unwrap();
    let claude = ["claude-code".to_owned()];
    let error = use_agents(&machine.settings, &machine.options, &claude, &mut Watcher::default());
    assert_eq!(error.unwrap_err().code, "edited");
    assert_eq!(fs::read_to_string(&edited).unwrap(), "mine");
    assert!(!machine.project().join(".claude").exists());
    machine.options.discard_edits = true;
    use_agents(&machine.settings, &machine.options, &claude, &mut Watcher::default()).unwrap();
    assert!(!edited.exists());
    assert!(machine.project().join(".claude/skills/first").exists());
}

#[cfg(unix)]
#[test]
fn where_no_link_can_be_made_a_copy_is_placed_and_told_and_stays_one() {
    use crate::install::link::refusals::refuse_links;
    let machine = Machine::new();
    let archive = machine.archive("first", "1.0.0", "first", None);
    let mut watcher = Watcher::default();
    refuse_links(true);
    machine.install_as(&[&archive], None, false, &mut watcher).unwrap();
    let place = machine.project().join(".agents/skills/first");
    assert!(!place.is_symlink() && place.is_dir());
    assert_eq!(fs::read_to_string(place.join("NOTES.md")).unwrap(), "first");
    assert!(watcher.told.iter().any(|told| told.contains("is a copy: no link can be made")));
    let newer = machine.archive("first", "1.1.0", "newer", None);
    machine.install(&[&newer]).unwrap();
    assert_eq!(fs::read_to_string(place.join("NOTES.md")).unwrap(), "newer");
    refuse_links(false);
    assert!(!machine.sync(Frozen::Yes).unwrap().has_changes());
    assert!(!place.is_symlink());
    fs::write(place.join("NOTES.md"), "mine").unwrap();
    let listed = list(&machine.settings, Reach::Project, &mut Watcher::default()).unwrap();
    assert_eq!(listed[0].modified, ["NOTES.md"]);
}

#[test]
fn what_is_shown_twice_is_told_whoever_put_it_there() {
    let machine = Machine::new();
    let archive = machine.archive("first", "1.0.0", "first", None);
    machine.install(&[&archive]).unwrap();
    let other = machine.project().join(".cursor/skills/first");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("SKILL.md"), "theirs").unwrap();
    let of_user = machine.settings.user_home.join(".gemini/skills/first");
    fs::create_dir_all(&of_user).unwrap();
    fs::write(of_user.join("SKILL.md"), "theirs").unwrap();
    let told = overview(&machine.settings, &machine.options, &mut Watcher::default()).unwrap();
    let view = |id: &str| told.agents.iter().find(|view| view.id == id).unwrap();
    let ours = machine.project().join(".agents/skills/first");
    assert_eq!(view("cursor").twice[0].paths, [ours.clone(), other]);
    assert!(view("cursor").advice[0].contains("is not skillpkg's"), "{:?}", view("cursor").advice);
    assert_eq!(view("gemini-cli").twice[0].paths, [ours, of_user]);
    assert!(view("codex").twice.is_empty());
    assert!(view("claude-code").skills.is_empty());
}
