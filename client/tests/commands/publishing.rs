use crate::support::Machine;

fn skill(machine: &Machine, directory: &str, name: &str, rest: &str) {
    let text = format!(
        "---\nname: {name}\ndescription: A skill of a test.\nmetadata:\n  version: \"1.0.0\"\n---\n\n{rest}\n"
    );
    machine.write(&format!("{directory}/SKILL.md"), text);
}

#[test]
fn a_directory_of_skills_stands_for_those_beneath_it_and_each_is_told_in_order() {
    let machine = Machine::with_key();
    skill(&machine, "skills/b", "b", "Read.");
    skill(&machine, "skills/a", "a", "Read.");
    skill(&machine, "skills/a/examples/inner", "inner", "Not one of its own.");
    skill(&machine, "skills/.hidden/c", "c", "Read.");
    skill(&machine, "skills/node_modules/d", "d", "Read.");
    machine.write("skills/wrong/SKILL.md", "---\nname: wrong\ndescription: [\n---\n");
    let ran = machine.run(&["publish", "skills", "--dry-run"]);
    assert_eq!(ran.code, 1, "{}", ran.shown());
    insta::assert_snapshot!(ran.shown());
    let shown = machine.run(&["publish", "skills", "--dry-run", "--json"]).json();
    let status = |at: usize| shown["skills"][at]["status"].as_str().unwrap().to_owned();
    assert_eq!([status(0), status(1), status(2)], ["not_asked", "not_asked", "refused"]);
    assert_eq!(shown["skills"][0]["name"], "a");
    assert_eq!(shown["skills"][2]["error"]["file"], "skills/wrong/SKILL.md");
    assert_eq!(shown["error"], shown["skills"][2]["error"]);
    // Named one by one and by the directory that holds them, each is there once.
    let both = machine.run(&["publish", "skills/b", "skills", "--dry-run", "--json"]).json();
    assert_eq!(both["skills"].as_array().unwrap().len(), 3);
    assert_eq!(both["skills"][0]["name"], "b");
}

#[test]
fn skills_are_published_in_a_scope_under_their_own_names() {
    let machine = Machine::with_key();
    skill(&machine, "skills/a", "a", "Read.");
    skill(&machine, "skills/b", "b", "Read.");
    let shown = machine.ok(&["publish", "skills", "--scope", "acme", "--dry-run", "--json"]).json();
    assert_eq!(
        (&shown["skills"][0]["name"], &shown["skills"][1]["name"]),
        (&"acme/a".into(), &"acme/b".into())
    );
    let one = machine.ok(&["publish", "skills/a", "--scope", "acme", "--dry-run", "--json"]).json();
    assert_eq!(one["name"], "acme/a");
    for (arguments, code) in [
        (&["publish", "skills", "--name", "c", "--json"][..], "usage"),
        (&["publish", "skills/a", "--scope", "No Scope", "--json"], "invalid_name"),
    ] {
        let ran = machine.run(arguments);
        assert_eq!((ran.code, ran.error_code().as_str()), (2, code), "{arguments:?}");
    }
}

#[test]
fn two_directories_of_one_release_are_refused_before_anything_is_sent() {
    let machine = Machine::with_key();
    skill(&machine, "x/a", "a", "Read.");
    skill(&machine, "y/a", "a", "Read, and differently.");
    // Nothing is asked of a registry: there is none, which would be another failure.
    let ran = machine.run(&["publish", "x/a", "y/a", "--json"]);
    assert_eq!((ran.code, ran.error_code().as_str()), (2, "published_twice"));
    for path in ["x/a", "y/a"] {
        assert!(ran.stderr.contains(path), "{}", ran.stderr);
    }
}

#[test]
fn names_that_cannot_be_one_are_made_ones_that_can_where_that_is_asked_for() {
    let machine = Machine::with_key();
    skill(&machine, "skills/1", "Agent Browser", "Read.");
    skill(&machine, "skills/2", "\"Agent Prompt: Explore\"", "Read.");
    skill(&machine, "skills/3", "plain", "Read.");
    let nameless = "---\ndescription: A skill.\nmetadata:\n  version: \"1.0.0\"\n---\n\nRead.\n";
    machine.write("skills/Ado Mapper/SKILL.md", nameless);
    let ran = machine.run(&["publish", "skills", "--dry-run"]);
    assert!(
        ran.stderr.contains("3 of them have a name that cannot be one, or none"),
        "{}",
        ran.shown()
    );
    assert!(ran.stderr.contains("`--nearest-names` publishes each"), "{}", ran.shown());
    let ran = machine.ok(&["publish", "skills", "--nearest-names", "--scope", "x", "--dry-run"]);
    for line in [
        "x/agent-browser 1.0.0  skills/1  (its file says `Agent Browser`)",
        "x/agent-prompt-explore 1.0.0  skills/2  (its file says `Agent Prompt: Explore`)",
        "x/plain 1.0.0  skills/3\n",
        "x/ado-mapper 1.0.0  skills/Ado Mapper  (its file has no name)",
    ] {
        assert!(ran.stdout.contains(line), "{}", ran.shown());
    }
    assert!(!ran.stderr.contains("warning"), "{}", ran.shown());
    let all = ["publish", "skills", "--nearest-names", "--dry-run", "--json"];
    assert_eq!(machine.ok(&all).json()["skills"][0]["named_in_file"], "Agent Browser");
    // Never two under one name: whoever was given it is refused, whoever has it is not.
    skill(&machine, "skills/4", "agent-browser", "Another.");
    skill(&machine, "skills/5", "Agent, Browser", "A third.");
    let ran = machine.run(&all);
    let status = |at: usize| ran.json()["skills"][at]["status"].as_str().unwrap().to_owned();
    let expected = ["refused", "not_asked", "not_asked", "not_asked", "refused", "not_asked"];
    assert_eq!([status(0), status(1), status(2), status(3), status(4), status(5)], expected);
    assert_eq!(ran.json()["skills"][0]["error"]["code"], "name_shared");
    let one = machine.ok(&["publish", "skills/2", "--nearest-names", "--dry-run", "--json"]).json();
    assert_eq!(
        (&one["name"], &one["named_in_file"]),
        (&"agent-prompt-explore".into(), &"Agent Prompt: Explore".into())
    );
}

#[test]
fn more_than_a_few_hundred_skills_are_published_at_once_and_a_common_reason_is_told_once() {
    let machine = Machine::with_key();
    for number in 0..230 {
        skill(&machine, &format!("skills/s{number:03}"), &format!("s{number:03}"), "Read.");
    }
    let shown = machine.ok(&["publish", "skills", "--dry-run", "--json"]);
    assert_eq!(shown.json()["skills"].as_array().unwrap().len(), 230);
    assert!(shown.stderr.contains("it holds 230 skills"), "{}", shown.stderr);
    assert!(shown.stderr.contains("`skills/s004` and 225 more."), "{}", shown.stderr);
    // There is no registry.
    let ran = machine.run(&["publish", "skills"]);
    assert_eq!(ran.stdout.matches("no registry").count(), 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("230 of them are refused for one reason:"), "{}", ran.stdout);
}

#[test]
fn a_directory_whose_skills_are_spelled_otherwise_is_told_of_them() {
    let machine = Machine::with_key();
    machine.write("skills/a/skill.md", "---\nname: a\n---\n");
    machine.write("skills/b/Skill.md", "---\nname: b\n---\n");
    let ran = machine.run(&["publish", "skills", "--dry-run", "--json"]);
    assert_eq!((ran.code, ran.error_code().as_str()), (1, "skill_file_missing"));
    let error = ran.json()["error"].clone();
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("`skills/a/skill.md`, `skills/b/Skill.md`"), "{message}");
    assert!(error["hint"].as_str().unwrap().contains("rename each"), "{error}");
    skill(&machine, "skills/c", "c", "Read.");
    let ran = machine.ok(&["publish", "skills", "--dry-run"]);
    assert!(ran.stderr.contains("`skills/b/Skill.md`, which only a file called"), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn a_link_to_skills_elsewhere_is_not_followed() {
    let machine = Machine::with_key();
    skill(&machine, "skills/a", "a", "Read.");
    skill(&machine, "elsewhere/b", "b", "Read.");
    std::os::unix::fs::symlink("../elsewhere", machine.work().join("skills/link")).unwrap();
    std::os::unix::fs::symlink("../elsewhere/b", machine.work().join("skills/b")).unwrap();
    let ran = machine.ok(&["publish", "skills", "--dry-run", "--json"]);
    assert_eq!(ran.json()["skills"].as_array().unwrap().len(), 1);
    assert!(ran.stderr.contains("`skills/link` is a link"), "{}", ran.stderr);
}
