use crate::support::Machine;

#[test]
fn a_new_skill_passes_check_without_a_word_and_can_be_published() {
    let machine = Machine::with_key();
    for (arguments, directory) in [
        (&["init", "my-skill"][..], "my-skill"),
        (&["init", "my-tool", "--hard"], "my-tool"),
        (&["init", "My Skill 2", "--hard"], "My Skill 2"),
    ] {
        machine.ok(arguments);
        let checked = machine.ok(&["check", directory]);
        assert_eq!(checked.stderr, "");
        assert_eq!(checked.stdout, format!("{directory}: ok\n"));
        let published = machine.ok(&["publish", directory, "--dry-run", "--json"]).json();
        assert_eq!(published["version"], "0.1.0");
    }
    assert_eq!(machine.ok(&["inspect", "My Skill 2", "--json"]).json()["name"], "my-skill-2");
}

#[test]
fn what_init_makes_is_what_it_was() {
    let machine = Machine::new();
    let ran = machine.ok(&["init", "agent"]);
    let read = |path: &str| std::fs::read_to_string(machine.work().join(path)).unwrap();
    insta::assert_snapshot!(
        "init_agent",
        format!("{}\n--- SKILL.md\n{}", ran.shown(), read("agent/SKILL.md"))
    );
    let ran = machine.ok(&["init", "hard", "--hard", "--json"]);
    let files = format!("{}\n--- hello.sh\n{}", read("hard/SKILL.md"), read("hard/hello.sh"));
    insta::assert_snapshot!("init_hard", format!("{}\n--- SKILL.md\n{files}", ran.shown()));
}

#[test]
fn init_works_in_the_working_directory_and_names_the_skill_after_it() {
    let machine = Machine::new();
    machine.ok(&["init"]);
    assert_eq!(machine.ok(&["inspect", "--json"]).json()["name"], "work");
}

#[test]
fn init_overwrites_nothing_and_writes_nothing_where_it_would() {
    let machine = Machine::new();
    machine.write("a/hello.sh", "mine");
    let ran = machine.run(&["init", "a", "--hard", "--json"]);
    assert_eq!((ran.code, ran.error_code().as_str()), (1, "already_there"));
    assert!(!machine.work().join("a/SKILL.md").exists());
    assert_eq!(std::fs::read(machine.work().join("a/hello.sh")).unwrap(), b"mine");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("nowhere", machine.work().join("SKILL.md")).unwrap();
        assert_eq!(machine.run(&["init"]).code, 1);
        assert!(!machine.work().join("nowhere").exists());
    }
}

#[test]
fn a_directory_whose_name_can_be_none_gets_a_skill_of_another() {
    let machine = Machine::new();
    for (directory, name) in [("api", "api-skill"), ("日本", "my-skill"), ("A_b", "a-b")] {
        let made = machine.ok(&["init", directory, "--json"]).json();
        assert_eq!(made["name"], name, "{directory}");
        assert_eq!(machine.ok(&["check", directory, "--json"]).json()["ok"], true);
    }
}

#[test]
fn a_skill_is_published_without_a_key_where_somebody_says_that_one_is_to_be_made() {
    let machine = Machine::new();
    machine.ok(&["init", "my-skill"]);
    let ran = machine.run(&["publish", "my-skill", "--dry-run", "--json"]);
    assert_eq!((ran.code, ran.error_code().as_str()), (1, "no_key"));
    let hint = ran.json()["error"]["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("`skillpkg keygen`") && hint.contains("`--keygen`"), "{hint}");
    assert!(!machine.home().join("keys").exists());

    let made = machine.ok(&["publish", "my-skill", "--dry-run", "-y"]);
    assert!(made.stderr.contains("Made a signing key"), "{}", made.stderr);
    assert!(machine.home().join("keys/default.pem").exists());
    // Once there is one, nothing is said of it.
    let again = machine.ok(&["pack", "my-skill", "--keygen"]);
    assert!(!again.stderr.contains("Made"), "{}", again.stderr);
}

#[test]
fn no_key_is_made_in_the_place_of_one_that_is_named() {
    let mut machine = Machine::new();
    machine.ok(&["init", "my-skill"]);
    let both = machine.run(&["pack", "my-skill", "--key", "absent.pem", "-y", "--json"]);
    assert_eq!((both.code, both.error_code().as_str()), (2, "usage"));
    machine.set("SKILLPKG_KEY", "absent.pem");
    let ran = machine.run(&["pack", "my-skill", "-y", "--json"]);
    assert_eq!((ran.code, ran.error_code().as_str()), (1, "no_key"));
    assert!(!machine.home().join("keys").exists() && !machine.work().join("absent.pem").exists());
}
