//! The project's two files: what a slip in one, or its loss, must not do.

use std::fs;

use skillpkg_tests::{Machine, TestContext, copy_all, write_skill};

/// A registry with `waitlist` 1.2.0, and a machine that has it.
fn installed() -> (TestContext, Machine, Machine) {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.2.0", "1.2.0", Some("sh NOTES.md"));
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist@1", "-y"]).succeeded();
    (context, author, machine)
}

#[test]
fn a_slip_in_the_projects_file_or_its_loss_uninstalls_nothing() {
    let (_context, _author, machine) = installed();
    let text = machine.read("skillpkg.toml");
    machine.write("skillpkg.toml", &text.replace("[skills]", "[skils]"));
    let refused = machine.run(&["sync", "-y", "--json"]).ended_with(1);
    assert_eq!(refused.error_code(), "unknown_key");
    let error = &refused.json()["error"];
    assert_eq!((&error["file"], &error["line"]), (&"skillpkg.toml".into(), &1.into()));
    assert!(refused.stderr.contains("did you mean `skills`?"), "{}", refused.stderr);
    fs::remove_file(machine.project.join("skillpkg.toml")).unwrap();
    for command in [
        ["sync", "-y"].as_slice(),
        &["sync", "--frozen"],
        &["sync", "--check"],
        &["update", "-y"],
        &["install", "-y"],
        &["install", "other", "-y"],
    ] {
        let refused = machine.run(&[command, &["--json"]].concat()).ended_with(5);
        assert_eq!(refused.error_code(), "project_file_missing", "{command:?}");
        assert!(refused.stderr.contains("[skills]"), "{}", refused.stderr);
    }
    assert_eq!(machine.read(".agents/skills/waitlist/NOTES.md"), "1.2.0");
    // A file that says nothing of skills says nothing of which are wanted.
    for text in ["", "registry = \"https://skills.example.org\"\n", "[agents]\ncopy = true\n"] {
        machine.write("skillpkg.toml", text);
        for command in [["sync", "-y"].as_slice(), &["sync", "--check"], &["update", "-y"]] {
            let refused = machine.run(&[command, &["--json"]].concat()).ended_with(5);
            assert_eq!(refused.error_code(), "project_skills_missing", "{text}: {command:?}");
            assert!(refused.stderr.contains("`[skills]`"), "{}", refused.stderr);
        }
    }
    // An empty table says that nothing is wanted.
    machine.write("skillpkg.toml", "[skills]\n");
    machine.run(&["sync", "-y"]).succeeded();
    assert!(!machine.project.join(".agents/skills/waitlist").exists());
}

#[test]
fn a_call_is_refused_where_the_lockfile_is_another_one_broken_or_gone() {
    let (_context, _author, machine) = installed();
    let lock = machine.read("skillpkg.lock");
    let call = || machine.run(&["call", "waitlist", "go", "--json"]);
    assert!(!call().stdout.contains("\"error\""));
    machine.write("skillpkg.lock", &format!("<<<<<<< HEAD\n{lock}=======\n>>>>>>> x\n"));
    assert_eq!(call().error_code(), "lock_conflict");
    fs::remove_file(machine.project.join("skillpkg.lock")).unwrap();
    let refused = call().ended_with(1);
    assert_eq!(refused.error_code(), "lock_outdated");
    assert!(refused.stderr.contains("skillpkg sync"), "{}", refused.stderr);
}

#[test]
fn what_is_added_is_added_to_what_is_active_and_a_move_away_from_a_yanked_version_says_why() {
    let (context, author, machine) = installed();
    let publish = |version: &str, runs: &str| {
        context.publish(&author, "waitlist", version, version, Some(runs));
    };
    publish("1.3.0", "sh -e");
    machine.run(&["update", "-y"]).ended_with(5);
    machine.run(&["update", "--accept-permissions"]).succeeded();
    author.run(&["yank", "waitlist@1.3.0", "--reason", "it loses names"]).succeeded();
    let moved = machine.run(&["update"]).succeeded();
    assert!(moved.stdout.contains("1.2.0"), "{}", moved.stdout);
    assert!(moved.stderr.contains("1.3.0 was yanked: it loses names"), "{}", moved.stderr);
    machine.run(&["install", "waitlist@=1.3.0", "-y"]).succeeded();
    publish("1.3.1", "sh -e");
    let toml = machine.read("skillpkg.toml").replace("=1.3.0", "1");
    machine.write("skillpkg.toml", &toml);
    let updated = machine.run(&["update"]).succeeded();
    assert!(updated.stdout.contains("1.3.1"), "{}", updated.stdout);

    // Another signer stops the move; why there is one is told all the same.
    author.run(&["yank", "waitlist@1.3.1", "--reason", "it loses more"]).succeeded();
    let bob = context.author("bob");
    context.share(&author, "waitlist", ("bob", &bob));
    context.publish(&bob, "waitlist", "1.4.0", "1.4.0", Some("sh -e NOTES.md"));
    let refused = machine.run(&["update", "--json"]).ended_with(5);
    assert_eq!(refused.error_code(), "signer_changed");
    assert!(refused.stderr.contains("was yanked: it loses more"), "{}", refused.stderr);
}

#[test]
fn a_machine_without_a_configuration_takes_the_lockfiles_registry_and_gives_it_no_token() {
    let (context, author, machine) = installed();
    let mut clean = context.machine("clean");
    clean.registry = None;
    // A token that is none would be refused, if it were sent.
    clean.token = Some(format!("skp_{}", "0".repeat(64)));
    for name in ["skillpkg.toml", "skillpkg.lock"] {
        clean.write(name, &machine.read(name));
    }
    clean.run(&["sync", "--frozen", "-y"]).succeeded();
    assert_eq!(clean.read(".agents/skills/waitlist/NOTES.md"), "1.2.0");
    clean.run(&["verify"]).succeeded();
    context.publish(&author, "waitlist", "1.2.1", "1.2.1", Some("sh NOTES.md"));
    clean.run(&["update", "--accept-permissions"]).succeeded();
    assert_eq!(clean.read(".agents/skills/waitlist/NOTES.md"), "1.2.1");
    let none = clean.run(&["install", "other", "--json"]).ended_with(1);
    assert_eq!(none.error_code(), "no_registry");
    assert!(none.stderr.contains("`skillpkg.toml`"), "{}", none.stderr);
}

#[test]
fn list_writes_nothing_and_tells_missing_from_damaged_and_edited() {
    let (context, _author, machine) = installed();
    let mut fresh = context.machine("fresh");
    fresh.registry = None;
    for name in ["skillpkg.toml", "skillpkg.lock"] {
        fresh.write(name, &machine.read(name));
    }
    let answer = fresh.run(&["list"]).succeeded();
    assert_eq!(answer.stdout, "waitlist@1.2.0  missing\n");
    fresh.run(&["list", "--global"]).succeeded();
    assert!(!fresh.home.exists(), "a question made a home");

    let place = machine.project.join(".agents/skills/waitlist");
    let shown = place.to_str().unwrap();
    fs::remove_file(&place).unwrap();
    let answer = machine.run(&["list"]).succeeded();
    assert_eq!(answer.stdout, format!("waitlist@1.2.0  missing: {shown}\n"));
    assert!(answer.stderr.contains("skillpkg sync"), "{}", answer.stderr);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/", &place).unwrap();
        let listed = machine.json(&["list"]);
        assert_eq!(listed["skills"][0]["damaged"], serde_json::json!([shown]));
        assert_eq!(listed["skills"][0]["modified"], serde_json::json!([]));
        fs::remove_file(&place).unwrap();
    }
    machine.run(&["sync"]).succeeded();
    assert_eq!(machine.json(&["list"])["skills"][0]["missing"], serde_json::json!([]));
}

#[test]
fn what_is_told_is_what_was_done() {
    let (context, _author, machine) = installed();
    machine.run(&["deactivate", "waitlist"]).succeeded();
    let answer = machine.run(&["activate", "waitlist", "-y"]).succeeded();
    assert!(answer.stdout.starts_with("activated waitlist@1.2.0: "), "{}", answer.stdout);
    let answer = machine.run(&["install", "waitlist@1.2", "-y"]).succeeded();
    assert!(answer.stderr.contains("skills stay as they are"), "{}", answer.stderr);
    fs::create_dir(machine.project.join(".claude")).unwrap();
    let both = ["sync", "--agent", "universal", "--agent", "claude-code"];
    let answer = machine.run(&both).succeeded();
    assert!(answer.stdout.contains(".agents/skills"), "{}", answer.stdout);
    assert!(answer.stdout.contains(".claude/skills"), "{}", answer.stdout);
    machine.write("skillpkg.lock", "no lockfile");
    let answer = machine.run(&["sync"]).ended_with(1);
    assert!(answer.stderr.contains("hint: restore it"), "{}", answer.stderr);
    let other = machine.in_project(&context.path("elsewhere"));
    other.run(&["install", "waitlist", "--global", "-y"]).succeeded();
    let answer = other.run(&["call", "waitlist", "go"]).ended_with(1);
    assert!(answer.stderr.contains("--global"), "{}", answer.stderr);
}

#[test]
fn a_project_that_was_moved_keeps_its_skills_and_is_told_one_way_out() {
    let (context, _author, machine) = installed();
    let moved = context.path("moved");
    fs::rename(&machine.project, &moved).unwrap();
    let moved = machine.in_project(&moved);
    let listed = moved.run(&["list"]).succeeded();
    assert!(listed.stdout.contains("missing"), "{}", listed.stdout);
    let checked = moved.run(&["sync", "--check"]).ended_with(6);
    assert!(checked.stdout.contains("`waitlist@1.2.0` is missing"), "{}", checked.stdout);
    let called = moved.run(&["call", "waitlist", "go"]).ended_with(1);
    for answer in [&listed, &checked, &called] {
        assert!(answer.stderr.contains("brings what is missing"), "{}", answer.stderr);
        assert!(answer.stderr.contains("`skillpkg sync`"), "{}", answer.stderr);
    }
    let before = fs::read_dir(machine.home.join("snapshots")).unwrap().count();
    assert!(before > 0);
    let collected = moved.json(&["gc"]);
    assert_eq!((&collected["snapshots"], &collected["blobs"]), (&0.into(), &0.into()));
    moved.run(&["sync", "--offline"]).succeeded();
    moved.run(&["sync", "--check"]).succeeded();
    // Its tool runs the notes, and is found again.
    moved.run(&["call", "waitlist", "go"]).ended_with(127);
    // From elsewhere it counts too, once it was seen.
    let elsewhere = machine.in_project(&context.path("elsewhere"));
    assert_eq!(elsewhere.json(&["gc"])["snapshots"], 0);
}

#[test]
fn a_lockfile_that_was_edited_is_refused_where_the_skill_is_installed_too() {
    let (context, _author, machine) = installed();
    let lock = machine.read("skillpkg.lock");
    let line = |key: &str| lock.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    let archive = line("archive = ");
    let address = line("address = ");
    let digest = address.split("sha256:").nth(1).unwrap();
    let edits = [
        (archive.clone(), format!("archive = \"sha256:{digest}")),
        (line("log-index = "), "log-index = 0".to_owned()),
    ];
    for (place, (before, after)) in edits.into_iter().enumerate() {
        let edited = lock.replace(&before, &after);
        assert_ne!(edited, lock);
        machine.write("skillpkg.lock", &edited);
        for arguments in [
            &["sync", "--check"][..],
            &["sync", "--frozen", "-y"],
            &["sync", "--frozen", "-y", "--offline"],
            &["verify"],
            &["verify", "--offline"],
        ] {
            machine.run(arguments).ended_with(3);
        }
        let listed = machine.run(&["list"]).succeeded();
        assert!(listed.stdout.contains("than was verified"), "{}", listed.stdout);
        let fresh = context.machine(&format!("fresh-{place}"));
        fresh.write("skillpkg.toml", &machine.read("skillpkg.toml"));
        fresh.write("skillpkg.lock", &edited);
        fresh.run(&["sync", "--frozen", "-y"]).ended_with(3);
    }
    machine.write("skillpkg.lock", &lock);
    machine.run(&["sync", "--check"]).succeeded();
    machine.run(&["sync", "--frozen"]).succeeded();
    machine.run(&["verify"]).succeeded();
}

#[test]
fn what_a_lockfile_says_otherwise_than_was_verified_lets_nothing_run() {
    let (context, author, machine) = installed();
    context.publish(&author, "waitlist", "1.3.0", "1.3.0", Some("sh NOTES.md"));
    context.forbid(&author, "waitlist@=1.2.0", "it sends mail");
    // It learns of the advisory, and then no word of the lockfile makes it another skill's.
    machine.run(&["outdated"]);
    assert_eq!(machine.json(&["call", "waitlist", "go"])["error"]["code"], "advisory_forbids");
    let lock = machine.read("skillpkg.lock");
    let line = |key: &str| lock.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    for (before, after) in [
        (line("registry = "), "registry = \"https://nowhere.example\"".to_owned()),
        (line("version = \"1.2.0"), "version = \"1.3.0\"".to_owned()),
        (line("key = "), format!("key = \"{}\"", "1".repeat(64))),
    ] {
        machine.write("skillpkg.lock", &lock.replace(&before, &after));
        for arguments in [&["call", "waitlist", "go"][..], &["compile", "waitlist"]] {
            let code = machine.json(arguments)["error"]["code"].clone();
            assert_eq!(code, "lock_outdated", "{after}: {arguments:?}");
        }
        let listed = machine.run(&["list"]).succeeded();
        assert!(listed.stdout.contains("than was verified"), "{after}: {}", listed.stdout);
        assert_ne!(machine.run(&["sync", "--check"]).code, 0, "{after}");
    }
    machine.write("skillpkg.lock", &lock);
    assert_eq!(machine.json(&["call", "waitlist", "go"])["error"]["code"], "advisory_forbids");
}

#[test]
fn a_name_means_the_same_installed_skill_to_every_command() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.registry.command(&["scope", "add", "acme", "--owner", "ada"]);
    context.publish(&author, "waitlist", "1.0.0", "bare", None);
    context.publish(&author, "acme/waitlist", "1.0.0", "of acme", None);
    let machine = context.machine("reader");
    machine.run(&["install", "acme/waitlist", "-y"]).succeeded();
    assert_eq!(machine.run(&["cat", "waitlist", "NOTES.md"]).succeeded().stdout, "of acme");
    for command in [&["verify"][..], &["log", "show"], &["inspect"], &["update"]] {
        let answer = machine.run(&[command, &["waitlist"]].concat()).succeeded();
        assert!(!answer.stdout.contains("bare"), "{command:?}: {}", answer.stdout);
    }
    // A directory that is called so is meant by a path alone.
    write_skill(&machine.project.join("waitlist"), "waitlist", "draft", None);
    let compared =
        |before: &str| machine.run(&["diff", before, "acme/waitlist@1.0.0", "--exit-code"]).code;
    assert_eq!(compared("waitlist"), 0);
    assert_ne!(compared("./waitlist"), 0);
    assert_eq!(machine.json(&["inspect", "waitlist"])["version"], "1.0.0");
}

#[test]
fn that_somebody_else_signed_is_told_before_an_update_is_refused_for_it() {
    let (context, author, machine) = installed();
    let bob = context.author("bob");
    context.share(&author, "waitlist", ("bob", &bob));
    context.publish(&bob, "waitlist", "1.3.0", "1.3.0", Some("sh NOTES.md"));
    let told = machine.run(&["outdated"]);
    assert!(told.stdout.contains("--accept-signer"), "{}{}", told.stdout, told.stderr);
    let refused = machine.run(&["update", "-y", "--json"]).ended_with(5);
    assert_eq!(refused.error_code(), "signer_changed");
}

#[test]
fn a_project_that_came_with_its_copies_is_taken_over_and_what_differs_is_left_alone() {
    let (context, author, machine) = installed();
    machine.run(&["install", "waitlist", "--copy", "-y"]).succeeded();
    let copy = ".agents/skills/waitlist";
    let cloned = |name: &str| {
        let clone = context.machine(name);
        copy_all(&machine.project, &clone.project);
        clone
    };
    // On another machine, in another place of the same one, and after an update of somebody else's.
    let other = cloned("other");
    let elsewhere = machine.in_project(&context.path("elsewhere"));
    copy_all(&machine.project, &elsewhere.project);
    for clone in [&other, &elsewhere] {
        clone.run(&["sync", "--frozen", "-y"]).succeeded();
        assert!(!clone.project.join(copy).is_symlink(), "what is a copy stays one");
        clone.run(&["sync", "--check"]).succeeded();
        assert_eq!(clone.json(&["list"])["skills"][0]["missing"], serde_json::json!([]));
    }
    context.publish(&author, "waitlist", "1.3.0", "1.3.0", Some("sh NOTES.md"));
    machine.run(&["update", "-y"]).succeeded();
    for file in ["skillpkg.lock", ".agents/skills/waitlist/NOTES.md"] {
        fs::copy(machine.project.join(file), other.project.join(file)).unwrap();
    }
    fs::copy(
        machine.project.join(copy).join("SKILL.md"),
        other.project.join(copy).join("SKILL.md"),
    )
    .unwrap();
    other.run(&["sync", "-y"]).succeeded();
    other.run(&["sync", "--check"]).succeeded();
    // What is locked may go for what is newer, also where nothing was ever placed from here.
    let behind = cloned("behind");
    context.publish(&author, "waitlist", "1.4.0", "1.4.0", Some("sh NOTES.md"));
    behind.run(&["sync", "-y"]).succeeded();
    behind.run(&["update", "-y"]).succeeded();
    assert_eq!(behind.read(".agents/skills/waitlist/NOTES.md"), "1.4.0");

    let edited = cloned("edited");
    edited.write(".agents/skills/waitlist/NOTES.md", "mine");
    edited.run(&["sync", "-y"]).succeeded();
    assert_eq!(edited.read(".agents/skills/waitlist/NOTES.md"), "mine");
}

#[test]
fn an_address_that_was_changed_in_the_lockfile_is_told_with_what_mends_it_by_every_command() {
    let (context, _author, machine) = installed();
    let lock = machine.read("skillpkg.lock");
    let address = lock.lines().find(|line| line.starts_with("address = ")).unwrap().to_owned();
    let edited = lock.replace(&address, &format!("address = \"sha256:{}\"", "1".repeat(64)));
    machine.write("skillpkg.lock", &edited);
    let fresh = context.machine("fresh");
    for file in ["skillpkg.toml", "skillpkg.lock"] {
        fresh.write(file, &machine.read(file));
    }
    for arguments in [
        &["call", "waitlist", "go"][..],
        &["list"],
        &["sync", "-y"],
        &["sync", "--check"],
        &["sync", "--frozen", "-y"],
        &["verify"],
        &["verify", "--repair"],
        &["doctor"],
    ] {
        let answer = machine.run(arguments);
        let told = format!("{arguments:?}: {}{}", answer.stdout, answer.stderr);
        assert!(told.contains("git checkout -- skillpkg.lock"), "{told}");
        assert!(!told.contains("`skillpkg verify --repair` mends"), "{told}");
        assert!(!told.contains("`skillpkg sync` makes"), "{told}");
    }
    for arguments in [&["sync", "-y"][..], &["verify", "--repair"]] {
        let answer = fresh.run(arguments).ended_with(3);
        let told = format!("{arguments:?}: {}{}", answer.stdout, answer.stderr);
        assert!(told.contains("git checkout -- skillpkg.lock"), "{told}");
    }
    // What is told without a history works.
    machine.run(&["remove", "waitlist"]).succeeded();
    machine.run(&["install", "waitlist@1.2", "-y"]).succeeded();
    assert!(machine.read("skillpkg.lock").contains(&address));
    machine.run(&["verify"]).succeeded();
}

#[test]
fn what_is_no_project_is_not_said_to_be_in_order() {
    let (context, _author, machine) = installed();
    let nowhere = context.machine("nowhere");
    for arguments in [
        &["verify"][..],
        &["verify", "waitlist"],
        &["outdated"],
        &["update"],
        &["update", "--dry-run"],
        &["sync", "--check"],
    ] {
        let refused = nowhere.run(&[arguments, &["--json"]].concat()).ended_with(1);
        assert_eq!(refused.error_code(), "project_file_missing", "{arguments:?}");
    }
    nowhere.run(&["verify", "--all"]).succeeded();
    // Of the skills for all projects there may be none.
    nowhere.run(&["verify", "--global"]).succeeded();
    nowhere.run(&["outdated", "--global"]).succeeded();
    machine.run(&["outdated"]).succeeded();
}

#[test]
fn that_a_directory_becomes_a_project_is_told_and_of_a_home_what_that_means() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.2.0", "1.2.0", None);
    context.publish(&author, "other", "1.0.0", "1.0.0", None);
    let machine = context.machine("reader");
    let first = machine.run(&["install", "waitlist", "-y"]).succeeded();
    let told =
        format!("made `skillpkg.toml` and `skillpkg.lock` in `{}`", machine.project.display());
    assert!(first.stderr.contains(&told), "{}", first.stderr);
    assert!(!first.stderr.contains("home directory"), "{}", first.stderr);
    let second = machine.run(&["install", "other", "-y"]).succeeded();
    assert!(!second.stderr.contains("made `skillpkg.toml`"), "{}", second.stderr);
    let home = machine.in_project(&machine.user_home);
    let at_home = home.run(&["install", "waitlist", "-y"]).succeeded();
    assert!(at_home.stderr.contains("is your home directory"), "{}", at_home.stderr);
    assert!(at_home.stderr.contains("--global"), "{}", at_home.stderr);
    // Beneath it, it counts for nothing.
    let beneath = machine.in_project(&machine.user_home.join("beneath"));
    assert_eq!(beneath.json(&["list"])["skills"], serde_json::json!([]));
}

#[test]
fn list_tells_the_name_that_agents_see() {
    let (_context, _author, machine) = installed();
    assert!(machine.json(&["list"])["skills"][0].get("placed_as").is_none());
    machine.run(&["install", "waitlist", "--as", "signups", "-y"]).succeeded();
    let listed = machine.run(&["list"]).succeeded();
    assert!(listed.stdout.starts_with("waitlist@1.2.0 as signups  "), "{}", listed.stdout);
    assert_eq!(machine.json(&["list"])["skills"][0]["placed_as"], "signups");
}

#[test]
fn doctor_finds_nothing_wrong_where_only_the_lockfile_names_the_registry() {
    let (context, _author, machine) = installed();
    let mut clone = context.machine("clone");
    for file in ["skillpkg.toml", "skillpkg.lock"] {
        clone.write(file, &machine.read(file));
    }
    clone.registry = None;
    clone.run(&["sync", "--frozen", "-y"]).succeeded();
    let told = clone.run(&["doctor"]).succeeded();
    assert!(
        told.stdout.contains("note: configuration: no registry is configured"),
        "{}",
        told.stdout
    );
    assert!(told.stdout.contains(&context.registry.url()), "{}", told.stdout);
    let mut empty = context.machine("empty");
    empty.registry = None;
    empty.run(&["doctor"]).ended_with(1);
}

#[test]
fn doctor_tells_of_another_tools_directory_in_a_links_place_what_mends_it() {
    let (_context, _author, machine) = installed();
    let link = machine.project.join(".agents/skills/waitlist");
    let tree = fs::canonicalize(&link).unwrap();
    fs::remove_file(&link).unwrap();
    copy_all(&tree, &link);
    // Copied as other tools do: with a file of their own.
    fs::create_dir(link.join(".clawhub")).unwrap();
    fs::write(link.join(".clawhub/origin.json"), "{}").unwrap();
    machine.run(&["sync", "-y"]).ended_with(5);
    for arguments in [&["doctor"][..], &["sync", "--check"]] {
        let told = machine.run(arguments);
        let told = format!("{}{}", told.stdout, told.stderr);
        assert!(told.contains("`skillpkg adopt`"), "{told}");
        assert!(!told.contains("`skillpkg sync` makes"), "{told}");
    }
    machine.run(&["adopt", "-y"]).succeeded();
    assert!(link.is_symlink());
    machine.run(&["sync", "--check"]).succeeded();
}
