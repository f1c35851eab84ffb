//! Keys with a passphrase, and versions that more than one key signs.

use skillpkg_tests::{Answer, Machine, TestContext, write_skill};

const SECRET: &str = "ş✓ correct horse";

fn write(machine: &Machine, notes: &str) {
    write_skill(&machine.project.join("waitlist"), "waitlist", notes, None);
}

/// Runs a command that is given a passphrase.
fn run_with(machine: &Machine, passphrase: &str, arguments: &[&str]) -> Answer {
    let mut command = machine.command(arguments);
    let output = command.env("SKILLPKG_KEY_PASSPHRASE", passphrase).output().unwrap();
    Answer::of(arguments, &output)
}

fn key_ids(machine: &Machine, version: &str) -> usize {
    let shown = machine.json(&["show", &format!("waitlist@{version}")]);
    shown["signers"].as_array().unwrap().len()
}

#[test]
fn a_key_with_a_passphrase_publishes_what_others_install() {
    let context = TestContext::new();
    let ada = Machine { token: Some(context.registry.add_user("ada")), ..context.machine("ada") };
    run_with(&ada, SECRET, &["keygen", "--passphrase"]).succeeded();
    write(&ada, "one");
    let publish = ["publish", "waitlist", "--version", "1.0.0", "--json"];
    assert_eq!(ada.run(&publish).ended_with(2).error_code(), "passphrase_missing");
    assert_eq!(run_with(&ada, "x", &publish).ended_with(1).error_code(), "passphrase_wrong");
    let published = run_with(&ada, SECRET, &publish).succeeded();
    assert!(!published.stdout.contains(SECRET) && !published.stderr.contains(SECRET));
    let local = ada.json(&["keys"])["local"][0].clone();
    assert_eq!((&local["encrypted"], &local["account"]), (&true.into(), &"registered".into()));

    // The key opens with another passphrase from now on, and is the same.
    let change = ["keys", "passphrase", "--new-passphrase-file", "new"];
    ada.write("new", "another\n");
    run_with(&ada, SECRET, &change).succeeded();
    write(&ada, "two");
    let publish = ["publish", "waitlist", "--version", "1.1.0", "--json"];
    assert_eq!(run_with(&ada, SECRET, &publish).ended_with(1).error_code(), "passphrase_wrong");
    run_with(&ada, "another", &publish).succeeded();

    let ben = context.machine("ben");
    ben.run(&["install", "waitlist", "-y"]).succeeded();
    assert_eq!(ben.read(".agents/skills/waitlist/NOTES.md"), "two");
}

#[test]
fn a_version_that_two_keys_of_an_account_signed_is_vouched_for_by_each() {
    let context = TestContext::new();
    let ada = context.author("ada");
    let default = ada.home.join("keys/default.pem");
    let both = ["--key", default.to_str().unwrap(), "--key", "second.pem"];
    let publish = |version: &str, more: &[&str]| {
        write(&ada, version);
        ada.run(&[&["publish", "waitlist", "--version", version, "--json"], more].concat())
    };
    ada.run(&["keygen", "--output", "second.pem"]).succeeded();
    let first = publish("1.0.0", &both).succeeded();
    assert!(first.stderr.contains("its signature counts for nothing"), "{}", first.stderr);
    assert_eq!(key_ids(&ada, "1.0.0"), 1);
    let (ben, mut cara) = (context.machine("ben"), context.machine("cara"));
    ben.run(&["install", "waitlist", "-y"]).succeeded();

    let rehearsed = publish("1.1.0", &[&both[..], &["--dry-run"]].concat()).succeeded();
    assert!(rehearsed.stderr.contains("would count for nothing"), "{}", rehearsed.stderr);
    ada.run(&["keys", "add", "second.pem"]).succeeded();
    publish("1.1.0", &both).succeeded();
    assert_eq!(key_ids(&ada, "1.1.0"), 2);
    ben.run(&["update", "-y"]).succeeded();
    assert_eq!(ben.read(".agents/skills/waitlist/NOTES.md"), "1.1.0");

    // One is revoked; what both signed is vouched for by the other, and signed with it alone.
    let id = ada.json(&["keys"])["local"][0]["id"].as_str().unwrap().to_owned();
    ada.run(&["keys", "revoke", &id]).succeeded();
    cara.run(&["install", "waitlist@1.1.0", "-y"]).succeeded();
    assert_eq!(publish("1.2.0", &both[..2]).ended_with(5).error_code(), "key_revoked");
    publish("1.2.0", &both[2..]).succeeded();
    cara = cara.in_project(&context.path("new"));
    cara.run(&["install", "waitlist@1.2.0", "-y"]).succeeded();
    // Who knew the first key alone is asked.
    let refused = ben.run(&["update", "-y", "--json"]).ended_with(5);
    assert_eq!(refused.error_code(), "signer_changed");
}
