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
