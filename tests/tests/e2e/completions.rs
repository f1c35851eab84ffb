//! Tab in real shells: the names that are on this machine are offered, and no network is asked.

use std::path::Path;
use std::process::Command;

use skillpkg_tests::{Machine, TestContext, binary, skipped};

fn is_there(shell: &str) -> bool {
    Command::new(shell).arg("-c").arg("exit 0").output().is_ok_and(|ran| ran.status.success())
}

/// A machine with a skill that has a tool, and an environment without its registry.
fn machine(context: &TestContext) -> Machine {
    let author = context.author("ada");
    context.publish(&author, "waitlist", "1.0.0", "Notes.", Some("echo hello"));
    let mut machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    // Nobody answers there: whoever asked it would say so, or wait.
    machine.registry = Some("http://127.0.0.1:1".to_owned());
    machine
}

fn path() -> String {
    let binaries = binary("skillpkg").parent().map(Path::to_path_buf).unwrap();
    format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap())
}

fn said(machine: &Machine, shell: &str, script: &str) -> String {
    let of = machine.command(&["--version"]);
    let environment =
        of.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    let output = Command::new(shell)
        .args(["-c", script])
        .env_clear()
        .envs(environment)
        .env("PATH", path())
        .current_dir(&machine.project)
        .output()
        .unwrap();
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// The words of a command line, and what is offered for the last.
const OFFERED: &[(&[&str], &[&str])] = &[
    (&["remove", "wa"], &["waitlist"]),
    (&["update", ""], &["waitlist"]),
    (&["activate", "w"], &["waitlist"]),
    (&["deactivate", "wait"], &["waitlist"]),
    (&["verify", "wai"], &["waitlist"]),
    (&["show", "wai"], &["waitlist"]),
    (&["call", "wai"], &["waitlist"]),
    (&["call", "waitlist", ""], &["go"]),
    (&["call", "-y", "waitlist", "g"], &["go"]),
    (&["remove", "x"], &[]),
    (&["install", "--agent", "claude"], &["claude-code"]),
    (&["list", "--registry", "wo"], &["work"]),
    (&["uninst"], &[]),
    (&["remo"], &["remove"]),
];

#[test]
fn bash_offers_the_names_that_are_here() {
    if !is_there("bash") {
        return skipped("bash_offers_the_names_that_are_here", "bash", true);
    }
    let context = TestContext::new();
    let machine = machine(&context);
    std::fs::write(&machine.configuration, "[registries.work]\nurl = \"http://127.0.0.1:1\"\n")
        .unwrap();
    for (words, offered) in OFFERED {
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let last = words.last().unwrap();
        let script = format!(
            "source <(skillpkg completions bash)\nCOMP_WORDS=(skillpkg {})\nCOMP_CWORD={}\n\
             COMP_TYPE=9\n_clap_complete_skillpkg skillpkg '{last}' x\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            quoted.join(" "),
            words.len(),
        );
        let told = said(&machine, "bash", &script);
        let told: Vec<&str> =
            told.lines().filter(|line| !line.is_empty() && !line.starts_with('-')).collect();
        assert_eq!(told, *offered, "{words:?}");
    }
}

#[test]
fn fish_offers_the_names_that_are_here() {
    if !is_there("fish") {
        return skipped("fish_offers_the_names_that_are_here", "fish", true);
    }
    let context = TestContext::new();
    let machine = machine(&context);
    let script = "skillpkg completions fish | source; complete -C 'skillpkg remove wa'";
    assert_eq!(said(&machine, "fish", script).trim(), "waitlist");
}

#[test]
fn zsh_offers_the_names_that_are_here() {
    if !is_there("zsh") {
        return skipped("zsh_offers_the_names_that_are_here", "zsh", true);
    }
    let context = TestContext::new();
    let machine = machine(&context);
    let script = "autoload -U compinit; compinit -u -D; _describe() { print -l -- ${(P)3} }; \
                  source <(skillpkg completions zsh); words=(skillpkg remove wa); CURRENT=3; \
                  _clap_dynamic_completer_skillpkg";
    assert_eq!(said(&machine, "zsh", script).trim(), "waitlist");
}

#[test]
fn completing_makes_nothing_on_a_machine_that_has_nothing() {
    let context = TestContext::new();
    let machine = context.machine("reader");
    for words in [&["remove", "wa"][..], &["call", "waitlist", ""], &["keys", "revoke", ""]] {
        let ran = machine
            .command(&[&["--", "skillpkg"], words].concat())
            .env("SKILLPKG_COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
            .output()
            .unwrap();
        assert!(ran.status.success());
        assert!(ran.stderr.is_empty(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
    assert!(!machine.home.exists());
    assert_eq!(machine.picture().len(), 0);
}
