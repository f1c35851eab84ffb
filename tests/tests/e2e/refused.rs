//! Wrong input: a clear error, and nothing changed.

use std::fs;

use skillpkg_tests::{Answer, Machine, TestContext};

/// Runs it, and holds that it failed in this way and changed nothing of the project.
#[track_caller]
fn refused(machine: &Machine, arguments: &[&str], exit: i32, code: &str) -> Answer {
    let before = machine.picture();
    let mut all = arguments.to_vec();
    all.push("--json");
    let answer = machine.run(&all).ended_with(exit);
    assert_eq!(answer.error_code(), code, "{}", answer.stderr);
    assert_eq!(machine.picture(), before, "{arguments:?}");
    answer
}

#[track_caller]
fn says(answer: &Answer, text: &str) {
    assert!(answer.stderr.contains(text), "{text:?} is not in: {}", answer.stderr);
}

#[test]
fn what_is_not_there_is_told_with_the_nearest() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.2.0", "notes", None);
    let machine = context.machine("reader");
    let answer = refused(&machine, &["install", "waitlits", "-y"], 1, "skill_not_found");
    says(&answer, "did you mean `waitlist`?");
    let answer = refused(&machine, &["install", "waitlist@3", "-y"], 1, "version_not_found");
    says(&answer, "the nearest is `1.2.0`");
    refused(&machine, &["install", "Wait List", "-y"], 2, "reference_invalid");
    refused(&machine, &["install", "waitlist@one", "-y"], 2, "reference_invalid");
    let answer = refused(
        &machine,
        &["install", "waitlist", "--agent", "claud-code", "-y"],
        2,
        "unknown_agent",
    );
    says(&answer, "did you mean `claude-code`?");
    refused(&machine, &["remove", "waitlist"], 1, "skill_not_found");
    // One that is there beside one that is not: neither.
    refused(&machine, &["install", "waitlist", "nothing-like-it", "-y"], 1, "skill_not_found");
}

#[test]
fn a_lockfile_that_names_a_deleted_version_is_told_why_it_is_gone() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.2.0", "notes", None);
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    let reason = ["--reason", "it sends keys away"];
    context.registry.command(&[&["name", "delete", "waitlist@1.2.0"], &reason[..]].concat());
    // The registry learns of it within a second; what is installed stays.
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    machine.run(&["sync", "--frozen"]).succeeded();
    let other = context.machine("newcomer");
    for file in ["skillpkg.toml", "skillpkg.lock"] {
        fs::copy(machine.project.join(file), other.project.join(file)).unwrap();
    }
    let answer = refused(&other, &["sync", "--frozen", "-y"], 1, "version_deleted");
    says(&answer, "it sends keys away");
    for wanted in ["waitlist", "waitlist@1", "waitlist@=1.2.0"] {
        let answer =
            refused(&context.machine(wanted), &["install", wanted, "-y"], 1, "version_deleted");
        says(&answer, "it sends keys away");
    }
}

#[test]
fn nothing_becomes_active_that_was_not_approved() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.2.0", "notes", Some("sh NOTES.md"));
    let machine = context.machine("reader");
    let answer = refused(&machine, &["install", "waitlist"], 5, "approval_required");
    says(&answer, "sh NOTES.md");
    says(&answer, "`-y`");
    machine.run(&["install", "waitlist", "--no-activate"]).succeeded();
    assert!(!machine.project.join(".agents/skills/waitlist").exists());
    assert_eq!(machine.json(&["list"])["skills"][0]["active"], false);
    refused(&machine, &["activate", "waitlist"], 5, "approval_required");
    machine.run(&["activate", "waitlist", "-y"]).succeeded();
    assert_eq!(machine.json(&["list"])["skills"][0]["active"], true);
    machine.run(&["deactivate", "waitlist"]).succeeded();
    assert!(!machine.project.join(".agents/skills/waitlist").exists());
}

#[test]
fn without_a_network_or_a_registry_it_says_which() {
    let mut context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.2.0", "notes", None);
    let mut machine = context.machine("reader");
    context.registry.stop();
    let answer = refused(&machine, &["install", "waitlist", "-y"], 1, "registry_unreachable");
    says(&answer, &context.registry.url());
    machine.registry = None;
    let answer = refused(&machine, &["install", "waitlist", "-y"], 1, "no_registry");
    says(&answer, "SKILLPKG_REGISTRY");
}

#[test]
fn a_token_that_is_none_is_refused() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.2.0", "notes", None);
    let mut machine = context.machine("reader");
    machine.token = Some(format!("skp_{}", "0".repeat(64)));
    refused(&machine, &["install", "waitlist", "-y"], 5, "unauthorized");
}

#[test]
fn another_signer_is_refused_until_it_is_accepted() {
    let context = TestContext::new();
    let ada = context.author("ada");
    context.publish(&ada, "waitlist", "1.0.0", "by ada", None);
    let machine = context.machine("reader");
    let first = machine.run(&["install", "waitlist@1", "-y"]).succeeded();
    says(&first, "`ada`");
    let bob = context.author("bob");
    context.share(&ada, "waitlist", ("bob", &bob));
    context.publish(&bob, "waitlist", "1.1.0", "by bob", None);
    let answer = refused(&machine, &["update", "-y"], 5, "signer_changed");
    says(&answer, "`ada`");
    says(&answer, "`bob`");
    refused(&machine, &["install", "waitlist@=1.1.0", "-y"], 5, "signer_changed");
    // What was approved of one signer is not approved of another, though nothing runs.
    refused(&machine, &["update", "--accept-signer"], 5, "approval_required");
    machine.run(&["update", "-y", "--accept-signer"]).succeeded();
    assert_eq!(machine.read(".agents/skills/waitlist/NOTES.md"), "by bob");
}

#[test]
fn a_lockfile_that_was_tampered_with_is_refused() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.2.0", "notes", None);
    let reader = context.machine("reader");
    reader.run(&["install", "waitlist", "-y"]).succeeded();
    let lock = reader.read("skillpkg.lock");
    let of = |field: &str| {
        let line = lock.lines().find(|line| line.starts_with(field)).unwrap();
        line.split('"').nth(1).unwrap().to_owned()
    };
    let zeros = format!("sha256:{}", "0".repeat(64));
    for (number, (from, to, exit, code)) in [
        (of("address"), zeros.clone(), 3, "digest_mismatch"),
        (of("archive"), zeros, 3, "digest_mismatch"),
        (of("key"), "0".repeat(64), 3, "signature_refused"),
        (of("registry"), "http://127.0.0.1:9".to_owned(), 5, "registry_changed"),
    ]
    .into_iter()
    .enumerate()
    {
        let machine = context.machine(&format!("tampered-{number}"));
        machine.write("skillpkg.toml", &reader.read("skillpkg.toml"));
        machine.write("skillpkg.lock", &lock.replace(&from, &to));
        for arguments in [["sync", "--frozen", "-y"].as_slice(), &["sync", "-y"]] {
            refused(&machine, arguments, exit, code);
        }
    }
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.2.0", "notes", None);
    let machine = context.machine("reader");
    machine.write(".agents/skills/waitlist/SKILL.md", "theirs");
    let answer = refused(&machine, &["install", "waitlist", "-y"], 5, "destination_occupied");
    says(&answer, "--as");
    machine.run(&["install", "waitlist", "--as", "queue", "-y"]).succeeded();
    assert_eq!(machine.read(".agents/skills/queue/NOTES.md"), "notes");
    machine.run(&["remove", "waitlist"]).succeeded();
    assert_eq!(machine.read(".agents/skills/waitlist/SKILL.md"), "theirs");
}

#[test]
fn two_skills_of_one_name_live_side_by_side_under_names_of_their_own() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.registry.command(&["scope", "add", "acme", "--owner", "ada"]);
    context.publish(&author, "waitlist", "1.0.0", "bare", None);
    context.publish(&author, "acme/waitlist", "1.0.0", "of acme", None);
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    let answer = refused(&machine, &["install", "acme/waitlist", "-y"], 5, "name_taken");
    says(&answer, "--as acme-waitlist");
    machine.run(&["install", "acme/waitlist", "--as", "acme-waitlist", "-y"]).succeeded();
    assert_eq!(machine.read(".agents/skills/waitlist/NOTES.md"), "bare");
    assert_eq!(machine.read(".agents/skills/acme-waitlist/NOTES.md"), "of acme");
}

#[test]
fn an_edited_copy_is_shown_kept_and_let_go_only_where_that_is_said() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "old", None);
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist@1", "--copy", "-y"]).succeeded();
    machine.write(".agents/skills/waitlist/NOTES.md", "mine");
    assert_eq!(machine.json(&["list"])["skills"][0]["modified"], serde_json::json!(["NOTES.md"]));
    machine.run(&["sync", "--check"]).ended_with(6);
    let answer = machine.run(&["sync"]).succeeded();
    says(&answer, "edited");
    context.publish(&author, "waitlist", "1.1.0", "new", None);
    says(&answer, "with your edits");
    context.publish(&author, "other", "1.0.0", "old", None);
    machine.run(&["install", "other@1", "-y"]).succeeded();
    context.publish(&author, "other", "1.1.0", "new", None);
    let answer = machine.run(&["update", "-y"]).ended_with(6);
    for told in ["kept waitlist at 1.0.0", "NOTES.md", "from 1.0.0 to 1.1.0"] {
        assert!(answer.stdout.contains(told), "{told}: {}", answer.stdout);
    }
    says(&answer, "--discard-edits");
    assert_eq!(machine.read(".agents/skills/waitlist/NOTES.md"), "mine");
    assert_eq!(machine.read(".agents/skills/other/NOTES.md"), "new");
    let answer = machine.run(&["update", "-y", "--json"]).ended_with(6).json();
    assert_eq!(answer["kept"][0]["name"], "waitlist");
    assert_eq!(answer["kept"][0]["offered"], "1.1.0");
    refused(&machine, &["remove", "waitlist"], 5, "edited");
    machine.run(&["update", "-y", "--discard-edits"]).succeeded();
    assert_eq!(machine.read(".agents/skills/waitlist/NOTES.md"), "new");
    let place = machine.project.join(".agents/skills/waitlist");
    assert!(fs::symlink_metadata(place).unwrap().is_dir(), "a copy stays a copy");
}
