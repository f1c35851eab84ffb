use crate::support::{Machine, example};

#[test]
fn an_archive_is_written_whole_and_the_same_each_time() {
    let machine = Machine::with_key();
    let first = machine.ok(&["pack", &example("waitlist"), "--json"]);
    let packed = first.json();
    for (key, value) in [
        ("name", "waitlist"),
        ("version", "1.2.0"),
        ("address", "sha256:[DIGEST]"),
        ("blake3", "blake3:[DIGEST]"),
        ("archive", "sha256:[DIGEST]"),
        ("path", "waitlist-1.2.0.skill.tar.zst"),
    ] {
        assert_eq!(packed[key], value, "{key}");
    }
    let told = "Packed waitlist 1.2.0: 2 files of 1896 bytes. Signed with key [SHORT].\n";
    assert_eq!(first.stderr, told);
    let path = machine.work().join("waitlist-1.2.0.skill.tar.zst");
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(packed["size"], bytes.len());
    machine.ok(&["pack", &example("waitlist"), "-o", "again.zst"]);
    assert_eq!(std::fs::read(machine.work().join("again.zst")).unwrap(), bytes);
    let entries = std::fs::read_dir(machine.work()).unwrap().count();
    assert_eq!(entries, 2, "something else was left");
}

#[test]
fn name_and_version_can_be_given() {
    let machine = Machine::with_key();
    let arguments =
        ["pack", &example("release-notes"), "--name", "acme/notes", "--version", "2", "--json"];
    let packed = machine.ok(&arguments).json();
    assert_eq!((&packed["name"], &packed["version"]), (&"acme/notes".into(), &"2.0.0".into()));
    assert!(machine.work().join("notes-2.0.0.skill.tar.zst").is_file());
}

#[test]
fn the_files_to_be_packed_are_listed_without_a_key() {
    let machine = Machine::new();
    let listed = machine.ok(&["pack", &example("data-analysis"), "--list"]).stdout;
    let files = "SKILL.md\nreferences/checklist.md\nreferences/guide.md\nscripts/summarize.py\nskill.json\n";
    assert_eq!(listed, files);
    let ran = machine.run(&["pack", &example("data-analysis"), "--json"]);
    assert_eq!((ran.code, ran.error_code().as_str()), (1, "no_key"));
    assert!(ran.stderr.contains("`skillpkg keygen` makes one"), "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(machine.work()).unwrap().count(), 0);
}

#[test]
fn the_key_of_the_environment_signs() {
    let mut machine = Machine::with_key();
    machine.ok(&["keygen", "-o", "other.pem", "-q"]);
    machine.ok(&["pack", &example("waitlist"), "-o", "a.zst", "-q"]);
    machine.set("SKILLPKG_KEY", "other.pem");
    machine.ok(&["pack", &example("waitlist"), "-o", "b.zst", "-q"]);
    let read = |path: &str| std::fs::read(machine.work().join(path)).unwrap();
    assert_ne!(read("a.zst"), read("b.zst"));
    machine.set("SKILLPKG_KEY", "absent.pem");
    let ran = machine.run(&["pack", &example("waitlist"), "--json"]);
    assert_eq!(ran.error_code(), "no_key");
}

#[cfg(unix)]
#[test]
fn a_key_is_its_owners_alone_whatever_the_umask_and_is_not_overwritten() {
    use std::os::unix::fs::PermissionsExt as _;

    use crate::support::BINARY;
    let machine = Machine::new();
    let script = format!("umask 000; exec '{BINARY}' keygen --json");
    let ran = machine.ran(&machine.command("sh").args(["-c", &script]).output().unwrap());
    assert_eq!(ran.json()["path"], "[ROOT]/home/keys/default.pem");
    assert_eq!(ran.json()["id"], "[DIGEST]");
    let path = machine.home().join("keys/default.pem");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    let before = std::fs::read(&path).unwrap();
    let again = machine.run(&["keygen", "--json"]);
    assert_eq!((again.code, again.error_code().as_str()), (1, "key_exists"));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_damaged_archive_is_refused_before_anything_else() {
    let machine = Machine::with_key();
    machine.ok(&["pack", &example("waitlist"), "-o", "a.zst", "-q"]);
    let path = machine.work().join("a.zst");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    for arguments in [&["inspect", "a.zst", "--json"][..], &["publish", "a.zst", "--json"]] {
        assert_eq!(machine.run(arguments).code, 3, "{arguments:?}");
    }
}

#[test]
fn an_archive_is_published_as_it_was_signed() {
    let machine = Machine::with_key();
    machine.ok(&["pack", &example("waitlist"), "-o", "a.zst", "-q"]);
    let published = machine.ok(&["publish", "a.zst", "--dry-run", "--json"]).json();
    assert_eq!((&published["created"], &published["dry_run"]), (&false.into(), &true.into()));
    assert_eq!(published["registry"], serde_json::Value::Null);
    let ran = machine.run(&["publish", "a.zst", "--version", "2.0.0", "--json"]);
    assert_eq!((ran.code, ran.error_code().as_str()), (2, "archive_named"));
}

#[test]
fn no_file_is_lost_to_an_archive_that_is_written_in_its_place() {
    let machine = Machine::with_key();
    let text = "---\nskill: g2\nversion: 1.0.0\ndescription: d\n---\n\nRead it.\n";
    let skill = machine.write("g2/SKILL.md", text);
    let notes = machine.write("notes.txt", "mine");
    for target in ["g2/SKILL.md", "g2/new", "notes.txt"] {
        for force in [&[][..], &["--force"]] {
            let arguments = [&["pack", "g2", "-o", target, "--json"], force].concat();
            let ran = machine.run(&arguments);
            assert_eq!((ran.code, ran.error_code().as_str()), (1, "not_written"), "{target}");
            assert!(ran.stderr.contains("`--output FILE`"), "{}", ran.stderr);
        }
    }
    assert_eq!(std::fs::read_to_string(&skill).unwrap(), text);
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "mine");
    assert!(!machine.work().join("g2/new").exists());
    // An archive gives way to the same one, and to another where that is said.
    for target in ["a.zst", "g2/g2-1.0.0.skill.tar.zst"] {
        machine.ok(&["pack", "g2", "-o", target, "-q"]);
        machine.ok(&["pack", "g2", "-o", target, "-q"]);
        let other = ["pack", "g2", "-o", target, "--version", "2.0.0", "--json"];
        let ran = machine.run(&other);
        assert_eq!((ran.code, ran.error_code().as_str()), (1, "not_written"), "{target}");
        assert!(ran.stderr.contains("`--force`"), "{}", ran.stderr);
        machine.ok(&[&other[..], &["--force"]].concat());
    }
}

#[test]
fn what_is_told_of_a_skills_files_has_the_skills_directory() {
    let machine = Machine::with_key();
    let text = "---\nskill: g3\nversion: 1.0.0\ndescription: d\nincludes: d\n---\n\nRead it.\n";
    machine.write("g3/SKILL.md", text);
    machine.write("g3/d/a.pyc", "x");
    let ran = machine.ok(&["pack", "g3", "-o", "a.zst"]);
    assert!(ran.stderr.contains("warning: g3/d/a.pyc: "), "{}", ran.stderr);
}
