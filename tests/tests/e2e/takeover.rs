//! Somebody else takes the name of a skill that was approved: nothing of theirs becomes active
//! without a question.

use std::path::PathBuf;

use skillpkg_tests::{Answer, Machine, TestContext, write_skill};

const RUNS: Option<&str> = Some("sh NOTES.md");

/// A user whose registry is in the configuration, with `waitlist` of ada and `harmless` of eve
/// approved; and both authors.
fn victim(context: &TestContext) -> (Machine, Machine, Machine) {
    let (ada, eve) = (context.author("ada"), context.author("eve"));
    context.publish(&ada, "waitlist", "1.2.0", "echo good", RUNS);
    context.publish(&eve, "harmless", "1.0.0", "echo harmless", RUNS);
    let mut machine = context.machine("victim");
    machine.registry = None;
    let configuration = format!("registry = \"{}\"\n", context.registry.url());
    std::fs::write(&machine.configuration, configuration).unwrap();
    machine.run(&["install", "waitlist", "harmless", "-y"]).succeeded();
    (machine, ada, eve)
}

/// Holds that it was refused in this way, and that agents do not see the skill.
#[track_caller]
fn refused(machine: &Machine, arguments: &[&str], exit: i32, code: &str) -> Answer {
    let mut all = arguments.to_vec();
    all.extend(["--no-input", "--json"]);
    let answer = machine.run(&all).ended_with(exit);
    assert_eq!(answer.error_code(), code, "{}", answer.stderr);
    assert!(!machine.project.join(".agents/skills/waitlist").exists());
    assert_ne!(machine.run(&["call", "waitlist", "go", "--no-input"]).code, 0);
    answer
}

#[test]
fn a_projects_own_registry_is_given_nothing_that_was_approved_of_another() {
    let context = TestContext::new();
    let (machine, ..) = victim(&context);
    let (registry, mallory) = context.elsewhere("mallory");
    // Without a run line that grows, and also with the very same bytes.
    for (version, notes) in [("1.2.7", "echo pwned"), ("1.2.8", "echo good")] {
        context.publish(&mallory, "waitlist", version, notes, RUNS);
        let clone = machine.in_project(&context.path(format!("clone-{version}")));
        let project =
            format!("registry = \"{}\"\n[skills]\nwaitlist = \"={version}\"\n", registry.url());
        clone.write("skillpkg.toml", &project);
        let answer = refused(&clone, &["sync"], 5, "approval_required");
        assert!(!answer.stderr.contains("adds to what was approved"), "{}", answer.stderr);
    }
}

/// A version of `waitlist` that eve signed.
fn pack(eve: &Machine) -> PathBuf {
    write_skill(&eve.project.join("source"), "waitlist", "echo pwned", RUNS);
    eve.run(&["pack", "source", "--version", "1.2.7", "-o", "w.skill.tar.zst"]).succeeded();
    eve.project.join("w.skill.tar.zst")
}

#[test]
fn a_file_takes_no_name_of_another_signer_over() {
    let context = TestContext::new();
    let (machine, _, eve) = victim(&context);
    let clone = machine.in_project(&context.path("clone"));
    std::fs::copy(pack(&eve), clone.project.join("w.skill.tar.zst")).unwrap();
    clone.write("skillpkg.toml", "[skills]\nwaitlist = { file = \"w.skill.tar.zst\" }\n");
    // That the key was seen of another skill says nothing of this one.
    for arguments in [["sync"].as_slice(), &["sync", "-y"], &["install", "./w.skill.tar.zst", "-y"]]
    {
        refused(&clone, arguments, 3, "signature_refused");
    }
    let verified = |exit: i32| {
        let answer = clone.run(&["verify", "./w.skill.tar.zst", "--json"]).ended_with(exit).json();
        answer["problems"][0]["code"].as_str().map(str::to_owned)
    };
    assert_eq!(verified(3).as_deref(), Some("signer_unknown"));
    // Nor does it where it is trusted: the name is pinned to ada.
    eve.run(&["keys", "export", "-o", "eve.pem"]).succeeded();
    machine.run(&["keys", "trust", eve.project.join("eve.pem").to_str().unwrap()]).succeeded();
    assert_eq!(verified(3).as_deref(), Some("signer_changed"));
    let answer = refused(&clone, &["sync", "-y"], 5, "signer_changed");
    assert!(answer.stderr.contains("`ada`"), "{}", answer.stderr);
    refused(&clone, &["sync", "--accept-signer"], 5, "approval_required");
    clone.run(&["sync", "--accept-signer", "-y"]).succeeded();
    assert_eq!(clone.read(".agents/skills/waitlist/NOTES.md"), "echo pwned");
    assert_eq!(verified(0), None);
}

#[test]
fn a_new_key_of_the_same_account_is_refused_until_it_is_accepted() {
    let context = TestContext::new();
    let (machine, ada, _) = victim(&context);
    let mut other = context.machine("ada-elsewhere");
    other.token.clone_from(&ada.token);
    other.run(&["keygen"]).succeeded();
    other.run(&["keys", "add"]).succeeded();
    context.publish(&other, "waitlist", "1.3.0", "echo good", RUNS);
    let before = machine.picture();
    let answer = machine.run(&["update", "-y", "--json"]).ended_with(5);
    assert_eq!(answer.error_code(), "signer_changed");
    assert!(answer.stderr.contains("a new key of `ada`"), "{}", answer.stderr);
    assert_eq!(machine.picture(), before);
    // The same signer then: what adds nothing is not asked about.
    machine.run(&["update", "--accept-signer"]).succeeded();
    context.publish(&other, "waitlist", "1.3.1", "echo good", RUNS);
    context.publish(&ada, "waitlist", "1.3.2", "echo good", RUNS);
    machine.run(&["update"]).succeeded();
}

#[test]
fn an_update_from_another_registry_is_not_approved_with_what_stands_for_other_bytes() {
    let context = TestContext::new();
    let (machine, ..) = victim(&context);
    let (registry, mallory) = context.elsewhere("mallory");
    context.publish(&mallory, "waitlist", "1.2.7", "echo pwned", RUNS);
    // Whoever may write to the project says that it comes from elsewhere now.
    let text = machine.read("skillpkg.toml");
    machine.write("skillpkg.toml", &format!("registry = \"{}\"\n{text}", registry.url()));
    let before = machine.picture();
    for flags in [["-y"].as_slice(), &["-y", "--accept-signer"]] {
        let mut all = vec!["update", "waitlist", "--no-input", "--json"];
        all.extend(flags);
        let answer = machine.run(&all).ended_with(5);
        assert_eq!(answer.error_code(), "approval_required", "{}", answer.stderr);
        assert_eq!(machine.picture(), before);
    }
    machine.run(&["update", "waitlist", "--accept-permissions"]).succeeded();
    assert_eq!(machine.read(".agents/skills/waitlist/NOTES.md"), "echo pwned");
}
