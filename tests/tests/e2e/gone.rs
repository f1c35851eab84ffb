//! One skill that its registry does not show any more hides nothing of the others.

use serde_json::json;
use skillpkg_tests::{Machine, TestContext};

/// Somebody who has `plain` and `acme/plan`, and was then removed from the private scope; `plain` has a
/// newer version.
fn removed() -> (TestContext, Machine) {
    let context = TestContext::new();
    let (ada, bob) = (context.author("ada"), context.author("bob"));
    context.registry.command(&["scope", "add", "acme", "--owner", "ada", "--private"]);
    context.publish(&ada, "acme/plan", "1.0.0", "notes", None);
    context.publish(&ada, "plain", "1.0.0", "notes", None);
    ada.run(&["scope", "invite", "acme", "bob", "--role", "reader"]).succeeded();
    bob.run(&["scope", "accept", "acme"]).succeeded();
    bob.run(&["install", "acme/plan", "plain", "-y"]).succeeded();
    ada.run(&["scope", "remove", "acme", "bob"]).succeeded();
    context.publish(&ada, "plain", "1.1.0", "more", None);
    (context, bob)
}

#[test]
fn outdated_and_update_go_on_without_it_and_say_so() {
    let (_context, bob) = removed();
    let answer = bob.run(&["outdated", "--json"]).ended_with(6);
    let skills = answer.json()["skills"].clone();
    let problem = skills[0]["problem"].as_str().unwrap();
    assert!(problem.contains("`acme/plan` is not in the registry"), "{problem}");
    assert_eq!((&skills[0]["fits"], &skills[1]["fits"]), (&json!(null), &json!("1.1.0")));
    let rehearsed = bob.run(&["update", "--dry-run"]).succeeded();
    assert!(rehearsed.stderr.contains("`acme/plan` is not in"), "{}", rehearsed.stderr);
    let updated = bob.run(&["update", "-y", "--json"]).ended_with(6).json();
    assert_eq!(updated["updated"][0]["name"], "plain");
    assert_eq!(updated["kept"][0]["name"], "acme/plan");
    assert_eq!(updated["kept"][0]["offered"], json!(null));
    assert_eq!(bob.read(".agents/skills/plain/NOTES.md"), "more");
    assert_eq!(bob.read(".agents/skills/plan/NOTES.md"), "notes");
    bob.run(&["sync", "--check"]).succeeded();
    let told = bob.run(&["update"]).ended_with(6);
    assert!(!told.stderr.contains("--merge"), "{}", told.stderr);
    // Whoever names it is answered about it.
    let refused = bob.run(&["update", "acme/plan", "--json"]).ended_with(1);
    assert_eq!(refused.error_code(), "skill_not_found");
}

#[test]
fn a_bundle_of_the_lockfile_leaves_it_out_and_says_so() {
    let (_context, bob) = removed();
    let made = bob.run(&["bundle", "-o", "out.bundle", "--json"]).ended_with(6);
    assert_eq!(made.json()["left_out"], json!(["acme/plan"]));
    assert!(made.stderr.contains("`acme/plan` is left out"), "{}", made.stderr);
    let listed = bob.json(&["bundle", "--list", "out.bundle"]);
    assert_eq!(listed["registries"][0]["skills"].as_array().unwrap().len(), 1);
    bob.run(&["verify", "out.bundle"]).succeeded();
    let refused = bob.run(&["bundle", "acme/plan", "plain", "-o", "b", "--json"]).ended_with(1);
    assert_eq!(refused.error_code(), "skill_not_found");
    bob.run(&["remove", "plain"]).succeeded();
    bob.run(&["bundle", "-o", "none.bundle"]).ended_with(1);
    assert!(!bob.project.join("none.bundle").exists());
}

#[test]
fn a_version_that_was_deleted_keeps_no_other_skill_back() {
    let context = TestContext::new();
    let ada = context.author("ada");
    context.publish(&ada, "first", "1.0.0", "notes", None);
    context.publish(&ada, "second", "1.0.0", "notes", None);
    let machine = context.machine("reader");
    machine.run(&["install", "first", "second", "-y"]).succeeded();
    let reason = ["--reason", "it sent keys away"];
    context.registry.command(&[&["name", "delete", "first@1.0.0"], &reason[..]].concat());
    context.publish(&ada, "second", "1.1.0", "more", None);
    let is_told = || machine.json(&["outdated"])["skills"][0]["problem"].is_string();
    assert!((0..100).any(|_| is_told() || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        false
    }));
    let updated = machine.run(&["update", "-y"]).ended_with(6);
    assert!(updated.stdout.contains("updated second from 1.0.0 to 1.1.0"), "{}", updated.stdout);
    assert!(updated.stdout.contains("kept first at 1.0.0"), "{}", updated.stdout);
    machine.run(&["bundle", "-o", "out.bundle"]).ended_with(6);
}
