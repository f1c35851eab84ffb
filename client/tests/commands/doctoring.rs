use serde_json::Value;

use crate::support::Machine;

/// The areas of what is wrong, in order.
fn areas(told: &Value) -> Vec<&str> {
    let complaints = told["complaints"].as_array().unwrap();
    complaints.iter().map(|one| one["area"].as_str().unwrap()).collect()
}

#[test]
fn what_is_wrong_is_told_with_what_to_do() {
    let mut machine = Machine::with_key();
    machine.set("SKILLPKG_REGISTRY", "http://127.0.0.1:9");
    let ran = machine.run(&["doctor", "--offline", "--json"]);
    assert_eq!((ran.code, areas(&ran.json())), (0, vec![]), "{}", ran.shown());

    let ran = machine.run(&["doctor", "--json"]);
    assert_eq!((ran.code, areas(&ran.json())), (6, vec!["registry"]), "{}", ran.shown());

    machine.write("skillpkg.toml", "[skills]\nnotes = \"1\"\n");
    let ran = machine.run(&["doctor", "--offline", "--json"]);
    assert_eq!(areas(&ran.json()), ["project"], "{}", ran.shown());
    let told = machine.run(&["doctor", "--offline"]).stdout;
    assert!(told.starts_with("project: `notes` is not locked\n  `skillpkg sync`"), "{told}");
}

#[test]
fn a_configuration_that_cannot_be_read_is_told_too() {
    let mut machine = Machine::new();
    let path = machine.write("config.toml", "registry = [\n");
    machine.set("SKILLPKG_CONFIG", path.to_str().unwrap());
    let ran = machine.run(&["doctor", "--json"]);
    assert_eq!((ran.code, areas(&ran.json())), (6, vec!["configuration"]), "{}", ran.shown());
}

#[cfg(unix)]
#[test]
fn links_that_lead_nowhere_skills_seen_twice_and_open_secrets_are_told() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let mut machine = Machine::with_key();
    machine.set("SKILLPKG_REGISTRY", "http://127.0.0.1:9");
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
