//! What `list`, `sync --check`, `doctor` and `skillpkg mcp` say of one skill is one thing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use skillpkg_tests::{Machine, TestContext};

fn installed() -> (TestContext, Machine, Machine) {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.2.0", "1.2.0", Some("sh NOTES.md"));
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist@1", "-y"]).succeeded();
    (context, author, machine)
}

/// `active` of the listing and of its verdict, which must be one, and the code of the refusal.
fn active(machine: &Machine) -> (bool, Option<String>) {
    let listed = machine.json(&["list", "--eligible"]);
    let skill = &listed["skills"][0];
    assert_eq!(skill["active"], skill["verdict"]["active"], "{skill}");
    assert_eq!(skill["refusal"]["code"], skill["verdict"]["refusal"]["code"], "{skill}");
    let plain = machine.json(&["list"])["skills"][0].clone();
    assert_eq!((&plain["active"], &plain["refusal"]), (&skill["active"], &skill["refusal"]));
    (skill["active"].as_bool().unwrap(), skill["refusal"]["code"].as_str().map(str::to_owned))
}

#[test]
fn what_a_policy_or_an_advisory_forbids_is_marked_and_active_means_one_thing() {
    let (context, author, machine) = installed();
    assert_eq!(active(&machine), (true, None));
    let policy = machine.configuration.with_file_name("policy.toml");
    fs::write(&policy, "forbid-programs = [\"sh\"]\n").unwrap();
    assert_eq!(active(&machine), (false, Some("policy_program".to_owned())));
    let listed = machine.run(&["list"]).succeeded();
    assert!(listed.stdout.contains("FORBIDDEN by policy: `waitlist@1.2.0`"), "{}", listed.stdout);
    fs::write(&policy, "forbid-programz = []\n").unwrap();
    let listed = machine.json(&["list"])["skills"][0].clone();
    assert_eq!(
        (&listed["active"], &listed["refusal"]["code"]),
        (&false.into(), &"policy_invalid".into())
    );
    fs::remove_file(&policy).unwrap();
    let lock = machine.read("skillpkg.lock");
    machine.write("skillpkg.lock", &lock.replace("version = \"1.2.0", "version = \"1.2.1"));
    assert_eq!(active(&machine), (false, Some("lock_outdated".to_owned())));
    machine.write("skillpkg.lock", &lock);
    context.forbid(&author, "waitlist@=1.2.0", "it sends mail");
    machine.run(&["outdated"]);
    assert_eq!(active(&machine), (false, Some("advisory_forbids".to_owned())));
    let listed = machine.run(&["list"]).succeeded();
    assert!(listed.stdout.contains("FORBIDDEN by advisory"), "{}", listed.stdout);
    // What agents see it for is told all the same.
    assert!(!machine.json(&["list"])["skills"][0]["agents"].as_array().unwrap().is_empty());
}

#[test]
fn a_skill_of_a_file_whose_key_is_trusted_no_more_is_told_by_every_command() {
    let (_context, author, machine) = installed();
    machine.run(&["remove", "waitlist"]).succeeded();
    let source = author.project.join("filed");
    skillpkg_tests::write_skill(&source, "filed", "notes", None);
    author.run(&["pack", "filed", "--version", "1.0.0"]).succeeded();
    author.run(&["keys", "export", "-o", "ada.pem"]).succeeded();
    let archive = "filed-1.0.0.skill.tar.zst";
    fs::copy(author.project.join(archive), machine.project.join(archive)).unwrap();
    let key = author.project.join("ada.pem");
    let id = machine.json(&["keys", "trust", key.to_str().unwrap()])["id"].clone();
    machine.run(&["install", &format!("./{archive}"), "-y"]).succeeded();
    machine.run(&["sync", "--check"]).succeeded();
    machine.run(&["keys", "distrust", id.as_str().unwrap()]).succeeded();
    assert_eq!(active(&machine), (false, Some("signer_unknown".to_owned())));
    let checked = machine.run(&["sync", "--check"]).ended_with(6);
    assert!(checked.stderr.contains("`skillpkg keys trust FILE.pem`"), "{}", checked.stderr);
    fs::remove_file(machine.project.join(archive)).unwrap();
    for arguments in [&["sync", "-y"][..], &["sync", "--frozen", "-y"]] {
        let refused = machine.run(&[arguments, &["--json"]].concat()).ended_with(3);
        assert_eq!(refused.error_code(), "signer_unknown", "{arguments:?}");
    }
    machine.run(&["keys", "trust", key.to_str().unwrap()]).succeeded();
    machine.run(&["sync", "--frozen", "-y"]).succeeded();
}

/// Publishes a skill of prose with an executable file beside it that nothing here runs.
fn with_a_demo(author: &Machine, version: &str) {
    let source = author.project.join("prose");
    fs::create_dir_all(source.join("demo")).unwrap();
    let text = format!(
        "---\nname: prose\ndescription: A skill of a test.\nmetadata:\n  version: \"{version}\"\n---\n\nText.\n"
    );
    fs::write(source.join("SKILL.md"), text).unwrap();
    if version != "1.0.0" {
        let demo = source.join("demo/a.py");
        fs::write(&demo, "#!/usr/bin/env nosuchinterp\n").unwrap();
        fs::set_permissions(&demo, fs::Permissions::from_mode(0o755)).unwrap();
    }
    author.run(&["publish", "prose"]).succeeded();
}

#[test]
fn what_a_person_may_go_on_without_is_a_note_of_the_doctor() {
    let (_context, author, machine) = installed();
    with_a_demo(&author, "1.0.1");
    machine.run(&["install", "prose", "-y"]).succeeded();
    let listed = machine.json(&["list", "--eligible"]);
    let prose = listed["skills"].as_array().unwrap().iter().find(|one| one["name"] == "prose");
    assert_eq!(prose.unwrap()["verdict"]["missing"][0]["severity"], "warning");
    assert_eq!(prose.unwrap()["verdict"]["eligible"], false);
    let told = machine.run(&["doctor", "--json"]).succeeded().json();
    let of_prose: Vec<_> = told["complaints"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["area"] == "requirement")
        .collect();
    assert_eq!(of_prose.len(), 1, "{told}");
    assert_eq!(of_prose[0]["note"], true);
    assert!(of_prose[0]["what"].as_str().unwrap().contains("nosuchinterp"), "{told}");
}

#[test]
fn an_update_that_is_not_approved_names_the_skills_and_says_one_thing_of_each() {
    let (context, author, machine) = installed();
    with_a_demo(&author, "1.0.0");
    machine.run(&["install", "prose", "-y"]).succeeded();
    with_a_demo(&author, "1.0.1");
    context.publish(&author, "waitlist", "1.3.0", "1.3.0", Some("sh -e NOTES.md"));
    let refused = machine.run(&["update", "--json", "--no-input"]).ended_with(5);
    assert_eq!(refused.error_code(), "approval_required");
    assert_eq!(refused.json()["error"]["skills"], json!(["prose@1.0.1", "waitlist@1.3.0"]));
    assert!(refused.stderr.contains("executable file `demo/a.py` is new"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("runs nothing"), "{}", refused.stderr);
    assert!(refused.stderr.contains("An agent may run `demo/a.py`"), "{}", refused.stderr);
    let one = machine.run(&["update", "prose", "--json", "--no-input"]).ended_with(5);
    assert_eq!(one.json()["error"]["skills"], json!(["prose@1.0.1"]));
}

#[test]
fn doctor_tells_what_ended_commands_left_and_a_signing_key_that_was_revoked() {
    let (_context, author, machine) = installed();
    // No process has this number.
    fs::create_dir(machine.home.join("tmp/removing-4194303-0")).unwrap();
    fs::write(machine.home.join(format!("tmp/lease-{}-0", std::process::id())), "").unwrap();
    let told = machine.run(&["doctor"]).ended_with(1);
    assert!(told.stdout.contains("removing-4194303-0"), "{}", told.stdout);
    assert!(told.stdout.contains("`skillpkg gc` removes it"), "{}", told.stdout);
    assert!(!told.stdout.contains("lease-"), "{}", told.stdout);
    machine.run(&["gc"]).succeeded();
    machine.run(&["doctor"]).succeeded();

    author.run(&["doctor"]).succeeded();
    let id = author.json(&["keys"])["local"][0]["id"].as_str().unwrap().to_owned();
    author.run(&["keys", "revoke", &id, "-y"]).succeeded();
    let told = author.run(&["doctor"]).ended_with(1);
    assert!(told.stdout.contains("with which this machine signs, was revoked"), "{}", told.stdout);
    assert!(told.stdout.contains("keygen --output FILE"), "{}", told.stdout);
}
