//! With `--json` every command answers with one JSON document, and fails with one.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{Machine, Ran};

/// Commands that have no answer of their own for `--json`, and why. What is wrong with their command
/// line is told as JSON all the same.
const WITHOUT: &[(&str, &str)] = &[("mcp", "its stdin and stdout are a protocol's")];

/// A wrong input of each command, after the command itself.
const WRONG: &[(&str, &[&str])] = &[
    ("activate", &["absent"]),
    ("adopt", &["absent"]),
    ("audit", &["--no-such"]),
    ("bundle", &["--list", "absent"]),
    ("call", &["absent", "tool"]),
    ("advisory add", &["No Name", "--effect", "warn", "--summary", "x"]),
    ("advisory list", &["No Name"]),
    ("advisory withdraw", &["No Name", "x"]),
    ("agents reset", &["--no-such"]),
    ("agents use", &["absent"]),
    ("cat", &["absent", "SKILL.md"]),
    ("check", &["absent"]),
    ("compile", &["absent"]),
    ("completions", &["csh"]),
    ("contract", &["absent"]),
    ("deactivate", &["absent"]),
    ("diff", &["No Name", "absent"]),
    ("doctor", &["--no-such"]),
    ("gc", &["--no-such"]),
    ("init", &["notes.txt"]),
    ("inspect", &["absent"]),
    ("install", &["No Name"]),
    ("keygen", &["--output", "notes.txt"]),
    ("keys add", &["absent"]),
    ("keys distrust", &["absent"]),
    ("keys export", &["--no-such"]),
    ("keys list", &["--no-such"]),
    ("keys passphrase", &["absent"]),
    ("keys revoke", &["00000000"]),
    ("keys trust", &["absent"]),
    ("list", &["--no-such"]),
    ("log compare", &["absent", "absent"]),
    ("log forget", &["absent"]),
    ("log pin", &["--no-such"]),
    ("log show", &["absent"]),
    ("login", &[]),
    ("logout", &[]),
    ("man", &["notes.txt"]),
    ("outdated", &["--no-such"]),
    ("owner accept", &["No Name"]),
    ("owner add", &["No Name", "bob"]),
    ("owner decline", &["No Name"]),
    ("owner invitations", &[]),
    ("owner list", &["No Name"]),
    ("owner remove", &["No Name", "bob"]),
    ("owner transfer", &["No Name", "bob"]),
    ("pack", &["absent"]),
    ("policy", &["--no-such"]),
    ("publish", &["absent"]),
    ("remove", &["absent"]),
    ("resolve", &["absent"]),
    ("scope accept", &["No Scope"]),
    ("scope decline", &["No Scope"]),
    ("scope invite", &["No Scope", "bob"]),
    ("scope list", &["No Scope"]),
    ("scope remove", &["No Scope", "bob"]),
    ("scope role", &["No Scope", "bob", "owner"]),
    ("search", &["x"]),
    ("show", &["No Name"]),
    ("sync", &["--no-such"]),
    ("trusted add", &["No Name", "--github", "a/b"]),
    ("trusted list", &["No Name"]),
    ("trusted remove", &["No Name", "0"]),
    ("unyank", &["absent"]),
    ("update", &["absent"]),
    ("verify", &["absent"]),
    ("whoami", &[]),
    ("yank", &["absent", "--reason", "r"]),
];

/// Every command that has none beneath it, as it is typed.
fn commands(machine: &Machine, parent: &str) -> Vec<String> {
    let mut arguments: Vec<&str> = parent.split(' ').filter(|word| !word.is_empty()).collect();
    arguments.push("--help");
    let help = machine.ok(&arguments).stdout;
    let listed = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let names = listed
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help");
    let inner: Vec<String> =
        names.flat_map(|name| commands(machine, format!("{parent} {name}").trim())).collect();
    if inner.is_empty() { vec![parent.to_owned()] } else { inner }
}

fn one_failure(command: &str, ran: &Ran) {
    let document: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{command}: {error}: {}", ran.shown()));
    let error = &document["error"];
    assert_ne!(ran.code, 0, "{command}");
    for field in ["code", "message"] {
        let text = error[field].as_str().unwrap_or_default();
        assert!(!text.is_empty(), "{command}: no {field}: {document}");
    }
    let code = error["code"].as_str().unwrap_or_default();
    let is_code = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    assert!(code.bytes().all(is_code), "{command}: {code}");
    assert!(ran.stdout.lines().count() == 1, "{command}: {}", ran.stdout);
}

#[test]
fn every_command_fails_with_one_json_document() {
    let machine = Machine::new();
    machine.write("notes.txt", "no skill");
    let all: BTreeSet<String> = commands(&machine, "").into_iter().collect();
    assert!(all.len() > 40, "{all:?}");
    for command in &all {
        let words: Vec<&str> = command.split(' ').collect();
        let usage = [words.as_slice(), &["--no-such-option", "--json"]].concat();
        let ran = machine.run(&usage);
        one_failure(command, &ran);
        assert_eq!((ran.code, ran.error_code().as_str()), (2, "usage"), "{command}");
        assert!(ran.json()["error"]["hint"].is_string(), "{command}: {}", ran.stdout);
        if WITHOUT.iter().any(|(without, _)| without == command) {
            continue;
        }
        let wrong = WRONG.iter().find(|(of, _)| of == command);
        let (_, wrong) = wrong.unwrap_or_else(|| {
            panic!("`{command}` has no wrong input here, and no reason to have none")
        });
        one_failure(command, &machine.run(&[words.as_slice(), wrong, &["--json"]].concat()));
    }
    let listed = WRONG.iter().map(|(command, _)| *command);
    for command in listed.chain(WITHOUT.iter().map(|(command, _)| *command)) {
        assert!(all.contains(command), "there is no command `{command}`");
    }
}

#[test]
fn what_other_tools_call_a_thing_is_told_as_it_is_called_here() {
    let machine = Machine::new();
    for (arguments, hint) in [
        (&["add", "waitlist"][..], "here that is `skillpkg install`"),
        (&["uninstall", "waitlist"], "here that is `skillpkg remove`"),
        (&["rm", "waitlist"], "here that is `skillpkg remove`"),
        (&["ls"], "here that is `skillpkg list`"),
        (&["upgrade"], "here that is `skillpkg update`"),
        (&["ci"], "here that is `skillpkg sync --frozen`"),
        (&["info", "waitlist"], "here that is `skillpkg show`"),
        (&["keys", "rm"], "here that is `skillpkg keys revoke`"),
    ] {
        let ran = machine.run(&[arguments, &["--json"]].concat());
        assert_eq!((ran.code, ran.error_code().as_str()), (2, "usage"), "{arguments:?}");
        assert_eq!(ran.json()["error"]["hint"], hint);
        assert!(machine.run(arguments).stderr.contains(hint));
    }
}
