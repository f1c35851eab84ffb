use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::support::Machine;

/// The areas of what is wrong, in order.
fn areas(told: &Value) -> Vec<&str> {
    let complaints = told["complaints"].as_array().unwrap();
    complaints.iter().map(|one| one["area"].as_str().unwrap()).collect()
}

#[test]
fn what_is_wrong_is_told_with_what_to_do() {
    let machine = alone();
    let ran = machine.run(&["doctor", "--offline", "--json"]);
    assert_eq!((ran.code, areas(&ran.json())), (0, vec![]), "{}", ran.shown());

    let ran = machine.run(&["doctor", "--json"]);
    assert_eq!((ran.code, areas(&ran.json())), (1, vec!["registry"]), "{}", ran.shown());

    machine.write("skillpkg.toml", "[skills]\nnotes = \"1\"\n");
    let ran = machine.run(&["doctor", "--offline", "--json"]);
    assert_eq!(areas(&ran.json()), ["project"], "{}", ran.shown());
    let told = machine.run(&["doctor", "--offline"]).stdout;
    assert!(told.starts_with("project: nothing of it was ever brought"), "{told}");
    assert!(told.contains("\n  `skillpkg sync` makes"), "{told}");
}

#[test]
fn a_configuration_that_cannot_be_read_is_told_too() {
    let mut machine = Machine::new();
    let path = machine.write("config.toml", "registry = [\n");
    machine.set("SKILLPKG_CONFIG", path.to_str().unwrap());
    machine.set("PATH", "/usr/bin:/bin");
    let ran = machine.run(&["doctor", "--json"]);
    assert_eq!((ran.code, areas(&ran.json())), (1, vec!["configuration"]), "{}", ran.shown());
}

#[test]
fn a_key_of_the_configuration_that_means_nothing_is_told() {
    let mut machine = Machine::new();
    let path = machine.write("config.toml", "registri = \"http://127.0.0.1:9\"\n");
    machine.set("SKILLPKG_CONFIG", path.to_str().unwrap());
    machine.set("PATH", "/usr/bin:/bin");
    let ran = machine.run(&["doctor", "--offline", "--json"]);
    let told = ran.json();
    assert_eq!((ran.code, areas(&told)), (1, vec!["configuration"; 2]), "{}", ran.shown());
    let all = told["complaints"].to_string();
    assert!(all.contains("registri") && all.contains("no registry is configured"), "{all}");
}

/// Every path beneath a directory with what is there.
fn everything(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut all, mut directories) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path.clone());
            }
            all.insert(path.clone(), std::fs::read(path).unwrap_or_default());
        }
    }
    all
}

/// A machine whose registry nobody serves.
fn alone() -> Machine {
    let mut machine = Machine::with_key();
    machine.set("SKILLPKG_REGISTRY", "http://127.0.0.1:9");
    machine.set("PATH", "/usr/bin:/bin");
    machine
}

/// [`alone`], with a skill from a file.
fn with_notes() -> Machine {
    let machine = alone();
    let text = "---\nname: notes\nversion: 1.0.0\ndescription: Keeps notes.\n---\n\nKeep.\n";
    machine.write("source/SKILL.md", text);
    machine.ok(&["pack", "source", "-o", "notes.skill.tar.zst", "-q"]);
    machine.ok(&["install", "notes.skill.tar.zst", "-y"]);
    machine
}

#[test]
fn damaged_state_is_told_and_left_as_it_is() {
    let machine = with_notes();
    let before = everything(&machine.home());
    let whole = machine.run(&["doctor", "--offline", "--json"]);
    assert_eq!((whole.code, areas(&whole.json())), (0, vec![]), "{}", whole.shown());
    assert_eq!(everything(&machine.home()), before);

    let state = machine.home().join("state");
    let of_project = std::fs::read_dir(state.join("projects")).unwrap().map(Result::unwrap);
    let ledger =
        of_project.map(|entry| entry.path()).find(|path| path.extension().unwrap() == "json");
    for (file, bytes) in [
        (state.join("signers.json"), &b"{\"version\": 1"[..]),
        (state.join("standings.json"), b"\xff\xff"),
        (ledger.unwrap(), b"{\"version\": 99}"),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let before = everything(&machine.home());
        let ran = machine.run(&["doctor", "--offline", "--json"]);
        let told = ran.json();
        let complaints = told["complaints"].as_array().unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        let is_of_it =
            |one: &&Value| one["area"] == "state" && one["what"].to_string().contains(name);
        assert_eq!(complaints.iter().filter(is_of_it).count(), 1, "{}", ran.shown());
        assert_eq!(ran.code, 1);
        assert!(
            complaints.iter().all(|one| one["advice"].as_str().is_some_and(|one| !one.is_empty()))
        );
        assert_eq!(everything(&machine.home()), before, "{name}");
    }
}

#[test]
fn damage_in_the_store_is_told_and_stays_where_it_is() {
    let machine = with_notes();
    for directory in ["snapshots", "manifests"] {
        let files = everything(&machine.home().join(directory)).into_keys();
        for file in files.filter(|path| path.is_file()) {
            std::fs::remove_file(&file)
                .or_else(|_| {
                    // A tree is closed to its owner too.
                    let mut open = file.parent().unwrap().metadata().unwrap().permissions();
                    #[expect(clippy::permissions_set_readonly_false, reason = "of a test's own")]
                    open.set_readonly(false);
                    std::fs::set_permissions(file.parent().unwrap(), open)?;
                    std::fs::remove_file(&file)
                })
                .unwrap();
            std::fs::write(&file, "other\n").unwrap();
        }
        let before = everything(&machine.home());
        let ran = machine.run(&["doctor", "--offline", "--json"]);
        assert!(areas(&ran.json()).contains(&"store"), "{directory}: {}", ran.shown());
        assert_eq!(ran.code, 1);
        assert_eq!(everything(&machine.home()), before, "{directory}");
    }
}

#[cfg(unix)]
#[test]
fn what_was_left_behind_and_a_path_that_is_not_absolute_are_told() {
    let mut machine = Machine::with_key();
    machine.set("SKILLPKG_REGISTRY", "http://127.0.0.1:9");
    machine.set("PATH", "/usr/bin:bin:/bin");
    let left = machine.home().join("state/.skillpkg-abcdef");
    std::fs::create_dir_all(left.parent().unwrap()).unwrap();
    let file = std::fs::File::create(&left).unwrap();
    let ran = machine.run(&["doctor", "--offline", "--json"]);
    assert_eq!(areas(&ran.json()), ["path"], "{}", ran.shown());
    file.set_modified(SystemTime::now() - Duration::from_hours(2)).unwrap();
    let ran = machine.run(&["doctor", "--offline", "--json"]);
    assert_eq!(areas(&ran.json()), ["path", "litter"], "{}", ran.shown());
    assert!(left.exists());
}

#[cfg(unix)]
#[test]
fn links_that_lead_nowhere_skills_seen_twice_and_open_secrets_are_told() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let machine = alone();
    let text = "---\nname: notes\ndescription: Keeps notes.\n---\n\nKeep.\n";
    machine.write(".agents/skills/notes/SKILL.md", text);
    machine.write(".agents/skills/copy-of-notes/SKILL.md", text);
    symlink("/nowhere/at-all", machine.work().join(".agents/skills/gone")).unwrap();
    let key = machine.home().join("keys/default.pem");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let ran = machine.run(&["doctor", "--offline", "--json"]);
    let told = ran.json();
    assert_eq!(areas(&told), ["link", "duplicate", "credentials"], "{}", ran.shown());
    let duplicate = told["complaints"][1]["what"].as_str().unwrap();
    assert!(duplicate.contains("universal sees `notes` at"), "{duplicate}");
}
