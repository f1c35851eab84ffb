use crate::support::Machine;

/// The commands of authors, whose help is held word for word.
const AUTHORS: &[&str] = &[
    "init",
    "adopt",
    "bundle",
    "check",
    "inspect",
    "compile",
    "resolve",
    "contract",
    "pack",
    "keygen",
    "keys",
    "keys add",
    "keys list",
    "keys passphrase",
    "keys revoke",
    "login",
    "logout",
    "whoami",
    "publish",
    "yank",
    "unyank",
    "advisory",
    "advisory add",
    "advisory list",
    "advisory withdraw",
    "owner",
    "owner accept",
    "owner add",
    "owner decline",
    "owner invitations",
    "owner list",
    "owner remove",
    "owner transfer",
    "scope",
    "scope accept",
    "scope decline",
    "scope invite",
    "scope list",
    "scope remove",
    "scope role",
    "search",
    "show",
    "outdated",
    "diff",
    "doctor",
    "update",
    "completions",
];

fn help(machine: &Machine, command: &str) -> String {
    let mut arguments: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
    arguments.push("--help");
    let ran = machine.ok(&arguments);
    assert!(ran.stderr.is_empty(), "{command}: {}", ran.stderr);
    ran.stdout
}

#[test]
fn the_help_of_each_command_is_what_it_was() {
    let machine = Machine::new();
    let shown: Vec<String> = AUTHORS
        .iter()
        .map(|command| format!("$ skillpkg {command} --help\n{}", help(&machine, command)))
        .collect();
    let shown = shown.join("\n");
    insta::assert_snapshot!(shown);
}

#[test]
fn the_help_of_what_hosts_and_their_users_run_is_what_it_was() {
    let machine = Machine::new();
    let shown = ["list", "agents", "agents use", "agents reset"]
        .map(|command| format!("$ skillpkg {command} --help\n{}", help(&machine, command)));
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn the_help_of_every_command_has_an_example_of_it() {
    let machine = Machine::new();
    let all = help(&machine, "");
    let commands = all.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let commands: Vec<&str> = commands
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(commands.len() > 25, "{commands:?}");
    for command in commands {
        let help = help(&machine, command);
        let example = help.lines().find(|line| line.starts_with("Example:")).unwrap_or_default();
        let wanted = format!("skillpkg {command}");
        assert!(example.contains(&wanted), "{command}: {example}");
    }
}

#[test]
fn the_version_goes_to_stdout() {
    let ran = Machine::new().ok(&["--version"]);
    assert_eq!(ran.stdout, concat!("skillpkg ", env!("CARGO_PKG_VERSION"), "\n"));
    let shown = Machine::new().ok(&["--version", "--json"]).json();
    assert_eq!((&shown["name"], shown["version"].is_string()), (&"skillpkg".into(), true));
}

#[test]
fn the_completions_of_every_shell_ask_this_program() {
    let machine = Machine::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = machine.ok(&["completions", shell]).stdout;
        assert!(script.contains("SKILLPKG_COMPLETE") && script.contains("skillpkg"), "{shell}");
    }
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let machine = Machine::new();
    let written = machine.ok(&["man", "pages", "--json"]).json();
    let pages = written["pages"].as_array().unwrap();
    assert!(pages.len() > 40, "{written}");
    for page in pages {
        let page = machine.work().join("pages").join(page.as_str().unwrap());
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(text.contains(".TH "), "{}", page.display());
    }
    // Again, over those that are there.
    machine.ok(&["man", "pages"]);
    let printed = machine.ok(&["man"]).stdout;
    assert!(printed.contains(".TH ") && printed.contains("skillpkg\\-install(1)"), "{printed}");
    insta::assert_snapshot!(
        std::fs::read_to_string(machine.work().join("pages/skillpkg-remove.1")).unwrap()
    );
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_a_failure() {
    for arguments in [&["--help"][..], &["install", "--help"], &["--version"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let answer = std::process::Command::new(env!("CARGO_BIN_EXE_skillpkg"))
            .args(arguments)
            .stdout(full)
            .output()
            .unwrap();
        assert_eq!(answer.status.code(), Some(1), "{arguments:?}");
        assert!(String::from_utf8_lossy(&answer.stderr).contains("cannot write to stdout"));
    }
}
