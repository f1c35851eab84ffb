//! Installing, and keeping a project as it was.

use std::fs;

use skillpkg_tests::TestContext;

#[test]
fn a_requirement_gives_the_newest_that_fits_at_its_published_address() {
    let context = TestContext::new();
    let author = context.author("ada");
    for version in ["1.2.0", "1.3.0", "2.0.0"] {
        context.publish(&author, "waitlist", version, version, None);
    }
    let machine = context.machine("reader");
    let answer = machine.json(&["install", "waitlist@1.2", "-y"]);
    let installed = &answer["installed"][0];
    assert_eq!((&installed["name"], &installed["version"]), (&"waitlist".into(), &"1.3.0".into()));
    assert_eq!(installed["active"], true);
    let shown = machine.json(&["show", "waitlist@1.3.0"]);
    for field in ["includes", "included"] {
        assert_eq!(shown[field], serde_json::json!(["NOTES.md"]), "{field}");
    }
    assert!(shown.to_string().contains(installed["address"].as_str().unwrap()));

    let placed = machine.project.join(".agents/skills/waitlist");
    assert_eq!(installed["path"], placed.to_str().unwrap());
    let mut files: Vec<String> = fs::read_dir(&placed)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["NOTES.md", "SKILL.md"]);
    assert_eq!(fs::read_to_string(placed.join("NOTES.md")).unwrap(), "1.3.0");
    assert_eq!(machine.read("skillpkg.toml"), "[skills]\nwaitlist = \"1.2\"\n");

    let listed = machine.json(&["list"]);
    let skill = &listed["skills"][0];
    assert_eq!(skill["registry"], context.registry.url());
    assert_eq!(skill["agents"], serde_json::json!(["universal"]));
    assert_eq!(skill["modified"], serde_json::json!([]));

    let again = machine.json(&["install", "waitlist@1.2", "-y"]);
    assert_eq!(again["unchanged"][0]["version"], "1.3.0");
    assert_eq!(again["installed"], serde_json::json!([]));
}

#[test]
fn without_a_requirement_the_caret_of_what_was_found_is_written() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.2.0", "notes", None);
    let machine = context.machine("reader");
    machine.write("skillpkg.toml", "# ours\n[skills] # all\n");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    assert_eq!(machine.read("skillpkg.toml"), "# ours\n[skills] # all\nwaitlist = \"1.2.0\"\n");
}

#[test]
fn a_frozen_sync_rebuilds_the_project_with_the_registry_stopped() {
    let mut context = TestContext::new();
    let author = context.author("ada");
    for name in ["one", "two", "three"] {
        context.publish(&author, name, "1.0.0", name, None);
    }
    let machine = context.machine("reader");
    machine.run(&["install", "one", "two", "three", "-y"]).succeeded();
    let picture = machine.picture();
    context.registry.stop();

    machine.run(&["sync", "--frozen"]).succeeded();
    fs::remove_dir_all(machine.project.join(".agents")).unwrap();
    machine.run(&["sync", "--check"]).ended_with(6);
    machine.run(&["sync", "--frozen"]).succeeded();
    assert_eq!(machine.picture(), picture);

    // As another checkout of the same project on the same machine.
    let clone = machine.in_project(&context.path("clone"));
    for file in ["skillpkg.toml", "skillpkg.lock"] {
        clone.write(file, &machine.read(file));
    }
    clone.run(&["sync", "--frozen"]).succeeded();
    assert_eq!(clone.picture(), picture);
    clone.run(&["sync", "--check"]).succeeded();
}

#[test]
fn a_lockfile_brings_the_same_to_another_machine() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.2.0", "old", None);
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist@1", "-y"]).succeeded();
    context.publish(&author, "waitlist", "1.3.0", "new", None);

    let other = context.machine("other");
    for file in ["skillpkg.toml", "skillpkg.lock"] {
        other.write(file, &machine.read(file));
    }
    other.run(&["sync", "--frozen", "-y"]).succeeded();
    assert_eq!(other.read(".agents/skills/waitlist/NOTES.md"), "old");
    assert_eq!(other.read("skillpkg.lock"), machine.read("skillpkg.lock"));

    other.write("skillpkg.toml", "[skills]\nwaitlist = \"=1.3.0\"\n");
    let answer = other.run(&["sync", "--frozen", "-y", "--json"]).ended_with(1);
    assert_eq!(answer.error_code(), "lock_outdated");
    other.run(&["sync", "-y"]).succeeded();
    assert_eq!(other.read(".agents/skills/waitlist/NOTES.md"), "new");
}

#[test]
fn an_update_moves_what_the_project_asks_for_and_says_so_only_then() {
    let context = TestContext::new();
    let author = context.author("ada");
    for name in ["one", "two"] {
        context.publish(&author, name, "1.0.0", "old", Some("sh -n"));
    }
    let machine = context.machine("reader");
    machine.run(&["install", "one@1", "two@1", "-y"]).succeeded();
    assert!(!machine.run(&["update"]).succeeded().stdout.contains("Updated"));

    context.publish(&author, "one", "1.1.0", "new", Some("sh -n"));
    context.publish(&author, "one", "2.0.0", "newest", Some("sh -n"));
    let answer = machine.run(&["update"]).succeeded();
    assert_eq!(answer.stdout, "updated one from 1.0.0 to 1.1.0\n");
    assert_eq!(machine.read(".agents/skills/one/NOTES.md"), "new");
    assert_eq!(machine.read(".agents/skills/two/NOTES.md"), "old");

    // What it adds is asked about, by a flag of its own.
    context.publish(&author, "one", "1.2.0", "more", Some("env sh -n"));
    let before = machine.picture();
    let refused = machine.run(&["update", "-y", "--json"]).ended_with(5);
    assert_eq!(refused.error_code(), "approval_required");
    assert!(refused.stderr.contains("env"), "{}", refused.stderr);
    assert_eq!(machine.picture(), before);
    machine.run(&["update", "--accept-permissions"]).succeeded();
    assert_eq!(machine.read(".agents/skills/one/NOTES.md"), "more");
}

#[test]
fn a_yanked_version_is_not_picked_and_stays_where_it_is_locked() {
    let context = TestContext::new();
    let author = context.author("ada");
    for version in ["1.0.0", "1.1.0"] {
        context.publish(&author, "waitlist", version, version, None);
    }
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist@1", "-y"]).succeeded();
    author.run(&["yank", "waitlist@1.1.0", "--reason", "wrong address"]).succeeded();

    let other = context.machine("other");
    other.run(&["install", "waitlist@1", "-y"]).succeeded();
    assert_eq!(other.read(".agents/skills/waitlist/NOTES.md"), "1.0.0");
    let third = context.machine("third");
    for file in ["skillpkg.toml", "skillpkg.lock"] {
        third.write(file, &machine.read(file));
    }
    let answer = third.run(&["sync", "--frozen", "-y"]).succeeded();
    assert_eq!(third.read(".agents/skills/waitlist/NOTES.md"), "1.1.0");
    assert!(answer.stderr.contains("yanked: wrong address"), "{}", answer.stderr);
}

#[test]
fn removing_takes_out_what_was_placed_and_its_entries_and_gc_the_rest() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "one", "1.0.0", "one", None);
    context.publish(&author, "two", "1.0.0", "two", None);
    let machine = context.machine("reader");
    machine.run(&["install", "one", "two", "-y"]).succeeded();
    machine.run(&["remove", "one"]).succeeded();
    assert!(!machine.project.join(".agents/skills/one").exists());
    for file in ["skillpkg.toml", "skillpkg.lock"] {
        assert!(!machine.read(file).contains("one"), "{file}");
    }
    let collected = machine.json(&["gc"]);
    assert_eq!(
        (&collected["snapshots"], &collected["proofs"]),
        (&serde_json::json!(1), &serde_json::json!(1))
    );
    machine.run(&["verify", "--offline"]).succeeded();
    machine.run(&["sync", "--frozen"]).succeeded();
    assert_eq!(machine.json(&["gc"])["snapshots"], 0);
    assert_eq!(machine.read(".agents/skills/two/NOTES.md"), "two");
}

#[test]
fn what_the_store_lost_or_holds_damaged_is_fetched_again() {
    let context = TestContext::new();
    let author = context.author("ada");
    context.publish(&author, "one", "1.0.0", "one", None);
    let machine = context.machine("reader");
    machine.run(&["install", "one", "-y"]).succeeded();
    for lost in ["blobs", "manifests", "snapshots"] {
        remove_all(&machine.home.join(lost));
        machine.run(&["sync", "--frozen"]).succeeded();
        assert_eq!(machine.read(".agents/skills/one/NOTES.md"), "one", "{lost}");
    }
}

#[test]
fn line_ends_of_windows_in_the_projects_files_are_no_change() {
    let context = TestContext::new();
    let author = context.author("ada");
    for name in ["one", "two"] {
        context.publish(&author, name, "1.0.0", "line\r\n", None);
    }
    let machine = context.machine("reader");
    machine.run(&["install", "one", "-y"]).succeeded();
    for file in ["skillpkg.toml", "skillpkg.lock"] {
        machine.write(file, &machine.read(file).replace('\n', "\r\n"));
    }
    let picture = machine.picture();
    machine.run(&["sync", "--frozen"]).succeeded();
    machine.run(&["install", "one"]).succeeded();
    assert_eq!(machine.picture(), picture);
    assert_eq!(machine.json(&["list"])["skills"][0]["modified"], serde_json::json!([]));
    machine.run(&["install", "two", "-y"]).succeeded();
    assert_eq!(machine.read("skillpkg.toml"), "[skills]\r\none = \"1.0.0\"\r\ntwo = \"1.0.0\"\r\n");
    machine.run(&["sync", "--frozen"]).succeeded();
}

#[test]
fn what_is_executable_stays_so_in_links_and_in_copies() {
    use std::os::unix::fs::PermissionsExt as _;
    let context = TestContext::new();
    let author = context.author("ada");
    let source = context.path("source");
    skillpkg_tests::write_skill(&source, "one", "echo ran", Some("./NOTES.md"));
    fs::set_permissions(source.join("NOTES.md"), fs::Permissions::from_mode(0o755)).unwrap();
    author.run(&["publish", source.to_str().unwrap(), "--version", "1.0.0"]).succeeded();
    for copy in [false, true] {
        let machine = context.machine(if copy { "copy" } else { "link" });
        let mut arguments = vec!["install", "one", "-y"];
        arguments.extend(copy.then_some("--copy"));
        machine.run(&arguments).succeeded();
        let placed = machine.project.join(".agents/skills/one/NOTES.md");
        assert_eq!(fs::metadata(placed).unwrap().permissions().mode() & 0o111, 0o111);
    }
}

/// Removes what is beneath a directory of the store, read-only or not.
fn remove_all(directory: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            remove_all(&path);
            fs::remove_dir(&path).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
    }
}
