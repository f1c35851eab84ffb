use std::fs;

use crate::support::{Machine, Ran, example};

const SECRET: &str = "ş✓ correct horse";

fn told(ran: &Ran, code: i32, error: &str) {
    assert_eq!((ran.code, ran.error_code().as_str()), (code, error), "{}", ran.shown());
}

/// A machine whose key has a passphrase, which the runs that follow are not given.
fn locked() -> Machine {
    let machine = Machine::new();
    let arguments = ["keygen", "--passphrase-stdin", "-q"];
    let made = machine.run_with(&arguments, &format!("{SECRET}\n"));
    assert_eq!(made.code, 0, "{}", made.shown());
    machine
}

fn pack(machine: &Machine, more: &[&str]) -> Ran {
    let source = example("waitlist");
    machine.run(&[&["pack", &source, "-o", "a.zst", "--json"][..], more].concat())
}

fn default_key(machine: &Machine) -> String {
    fs::read_to_string(machine.home().join("keys/default.pem")).unwrap()
}

#[test]
fn a_key_is_locked_with_a_passphrase_from_the_environment_a_file_or_stdin() {
    for how in ["environment", "environment file", "file", "stdin"] {
        let mut machine = Machine::new();
        let file = machine.write("secret", format!("{SECRET}\n"));
        let ran = match how {
            "environment" => {
                machine.set("SKILLPKG_KEY_PASSPHRASE", SECRET);
                machine.run(&["keygen", "--passphrase", "--json"])
            }
            "environment file" => {
                machine.set("SKILLPKG_KEY_PASSPHRASE_FILE", file.to_str().unwrap());
                machine.run(&["keygen", "--passphrase", "--json"])
            }
            "file" => machine.run(&["keygen", "--passphrase-file", "secret", "--json"]),
            _ => machine.run_with(&["keygen", "--passphrase-stdin", "--json"], SECRET),
        };
        assert_eq!(ran.code, 0, "{how}: {}", ran.shown());
        assert_eq!(ran.json()["encrypted"], true);
        assert!(!ran.shown().contains(SECRET), "{how}");
        let text = default_key(&machine);
        assert!(text.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"), "{how}: {text}");
        assert!(text.contains("-----BEGIN PUBLIC KEY-----\n"), "{how}: {text}");
        machine.set("SKILLPKG_KEY_PASSPHRASE", SECRET);
        assert_eq!(pack(&machine, &[]).code, 0, "{how}");
    }
}

#[test]
fn a_passphrase_that_is_none_makes_no_key() {
    let mut machine = Machine::new();
    machine.write("two", "two\nlines\n");
    machine.write("empty", "");
    told(&machine.run(&["keygen", "--passphrase", "--json"]), 2, "passphrase_missing");
    for file in ["two", "empty"] {
        let ran = machine.run(&["keygen", "--passphrase-file", file, "--json"]);
        told(&ran, 2, "passphrase_invalid");
    }
    let ran = machine.run_with(&["keygen", "--passphrase-stdin", "--json"], "\n");
    told(&ran, 2, "passphrase_invalid");
    let long = "x".repeat(1025);
    let ran = machine.run_with(&["keygen", "--passphrase-stdin", "--json"], &long);
    told(&ran, 2, "passphrase_invalid");
    assert!(!machine.home().join("keys").exists());
    machine.set("SKILLPKG_KEY_PASSPHRASE", SECRET);
    let ran = machine.ok(&["keygen", "--json"]);
    assert!(ran.stderr.contains("the key has none"), "{}", ran.stderr);
    assert_eq!(ran.json()["encrypted"], false);
}

#[test]
fn a_locked_key_signs_with_its_passphrase_alone() {
    let mut machine = locked();
    let ran = pack(&machine, &["--no-input"]);
    told(&ran, 2, "passphrase_missing");
    assert!(ran.stderr.contains("SKILLPKG_KEY_PASSPHRASE_FILE"), "{}", ran.stderr);
    machine.set("SKILLPKG_KEY_PASSPHRASE", "another");
    let ran = pack(&machine, &[]);
    told(&ran, 1, "passphrase_wrong");
    assert!(!ran.shown().contains("another"), "{}", ran.shown());
    machine.set("SKILLPKG_KEY_PASSPHRASE", SECRET);
    assert_eq!(pack(&machine, &["-v"]).code, 0);
}

#[test]
fn what_needs_the_public_half_alone_asks_for_no_passphrase() {
    let mut machine = locked();
    let listed = machine.ok(&["keys", "list"]);
    assert!(listed.stdout.contains("(signs; has a passphrase)"), "{}", listed.shown());
    let local = machine.ok(&["keys", "--json"]).json()["local"].clone();
    assert_eq!((&local[0]["id"], &local[0]["encrypted"]), (&"[DIGEST]".into(), &true.into()));
    machine.ok(&["keys", "export", "-o", "public.pem"]);
    machine.ok(&["keys", "trust", machine.home().join("keys/default.pem").to_str().unwrap()]);

    // As another tool writes it, without the public half.
    let path = machine.home().join("keys/default.pem");
    let text = default_key(&machine);
    let (private, _) = text.split_once("-----BEGIN PUBLIC KEY").unwrap();
    fs::write(&path, private).unwrap();
    let local = machine.ok(&["keys", "--json"]).json()["local"].clone();
    assert_eq!((&local[0]["id"], &local[0]["encrypted"]), (&().into(), &true.into()));
    let listed = machine.ok(&["keys", "list"]);
    insta::assert_snapshot!(listed.shown());
    told(&machine.run(&["keys", "export", "--json"]), 2, "passphrase_missing");
    machine.set("SKILLPKG_KEY_PASSPHRASE", SECRET);
    let exported = machine.ok(&["keys", "export"]).stdout;
    assert_eq!(exported, fs::read_to_string(machine.work().join("public.pem")).unwrap());
}

#[test]
fn a_passphrase_is_set_changed_and_removed() {
    let mut machine = Machine::with_key();
    let (bare, id) = (default_key(&machine), machine.ok(&["keys", "--json"]).json());
    let again = machine.ok(&["keys", "passphrase", "--remove"]);
    assert!(again.stderr.contains("nothing changed"), "{}", again.stderr);
    told(&machine.run(&["keys", "passphrase", "--json"]), 2, "passphrase_missing");

    let set = ["keys", "passphrase", "--new-passphrase-stdin", "--json"];
    let ran = machine.run_with(&set, SECRET);
    assert_eq!((ran.code, &ran.json()["encrypted"]), (0, &true.into()), "{}", ran.shown());
    assert_eq!(machine.ok(&["keys", "--json"]).json()["local"][0]["id"], id["local"][0]["id"]);
    told(&machine.run_with(&set, "new"), 2, "passphrase_missing");

    machine.set("SKILLPKG_KEY_PASSPHRASE", SECRET);
    machine.write("new", "new one\n");
    machine.ok(&["keys", "passphrase", "--new-passphrase-file", "new"]);
    told(&pack(&machine, &[]), 1, "passphrase_wrong");
    machine.set("SKILLPKG_KEY_PASSPHRASE", "new one");
    assert_eq!(pack(&machine, &[]).code, 0);
    machine.ok(&["keys", "passphrase", "--remove"]);
    assert_eq!(default_key(&machine), bare);
}

#[cfg(unix)]
#[test]
fn a_link_to_a_key_is_replaced_and_told() {
    let machine = Machine::with_key();
    let path = machine.home().join("keys/default.pem");
    let elsewhere = machine.work().join("elsewhere.pem");
    fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    let ran = machine.run_with(&["keys", "passphrase", "--new-passphrase-stdin"], SECRET);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(ran.stderr.contains("still holds the key as it was"), "{}", ran.stderr);
    assert!(path.symlink_metadata().unwrap().is_file());
    assert!(fs::read_to_string(elsewhere).unwrap().starts_with("-----BEGIN PRIVATE KEY"));
}

#[test]
fn more_than_one_key_signs_each_once() {
    let machine = Machine::with_key();
    for file in ["a.pem", "b.pem"] {
        machine.ok(&["keygen", "-q", "-o", file]);
    }
    let ran = pack(&machine, &["--key", "a.pem", "--key", "b.pem"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(ran.stderr.contains("Signed with keys [SHORT] and [SHORT]."), "{}", ran.stderr);
    let ids = machine.ok(&["inspect", "a.zst", "--json"]).json()["key_ids"].clone();
    assert_eq!(ids.as_array().unwrap().len(), 2);
    told(&pack(&machine, &["--key", "a.pem", "--key", "a.pem"]), 2, "key_repeated");
    told(&pack(&machine, &["--key", "absent.pem"]), 1, "no_key");
    told(&pack(&machine, &["--key", "a.pem"].repeat(17)), 2, "too_many_keys");
    let archive = ["publish", "a.zst", "--dry-run", "--json", "--key"];
    machine.ok(&[&archive[..], &["b.pem"]].concat());
    let default = machine.home().join("keys/default.pem");
    let ran = machine.run(&[&archive[..], &[default.to_str().unwrap()]].concat());
    told(&ran, 2, "archive_signed");
}
