use crate::support::{Machine, example};

/// A command line, its exit code and the stable code of its failure.
const WRONG: &[(&[&str], i32, &str)] = &[
    (&["inspect", "absent"], 1, "not_found"),
    (&["inspect", "notes.txt"], 3, "archive_frame"),
    (&["compile", "absent"], 1, "not_found"),
    (&["compile", "notes.txt"], 2, "not_a_skill"),
    (&["compile", "empty"], 1, "skill_file_missing"),
    (&["resolve", "absent"], 1, "not_found"),
    (&["contract", "absent.json"], 1, "file_unreadable"),
    (&["contract", "notes.txt"], 1, "contract_refused"),
    (&["pack", "absent"], 1, "file_unreadable"),
    (&["pack", "empty"], 1, "skill_file_missing"),
    (&["pack", "skill", "--name", "Not Legal"], 2, "invalid_name"),
    (&["pack", "skill", "--version", "one"], 2, "invalid_version"),
    (&["pack", "skill", "-o", "absent/deep/a.zst"], 1, "not_written"),
    (&["publish", "absent", "--dry-run"], 1, "file_unreadable"),
    (&["publish", "notes.txt", "--dry-run"], 3, "archive_frame"),
    (&["keygen", "-o", "notes.txt"], 1, "key_exists"),
    (&["keys", "add", "absent.pem"], 1, "key_unreadable"),
    (&["keys", "add", "notes.txt"], 1, "key_unreadable"),
    (&["keys", "revoke", "00000000"], 1, "no_registry"),
    (&["login"], 1, "no_registry"),
    (&["logout"], 1, "no_registry"),
    (&["whoami"], 1, "no_registry"),
    (&["search", "x"], 1, "no_registry"),
    (&["show", "waitlist"], 1, "no_registry"),
    (&["show", "Wait List"], 2, "invalid_reference"),
    (&["show", "waitlist@one"], 2, "invalid_reference"),
    (&["yank", "waitlist", "--reason", "r"], 2, "invalid_reference"),
    (&["yank", "waitlist@1.2", "--reason", "r"], 2, "invalid_version"),
    (&["yank", "waitlist@1.2.0", "--reason", " "], 2, "invalid_reason"),
    (&["yank", "waitlist@1.2.0"], 2, "usage"),
    (&["unyank", "Wait@1.2.0"], 2, "invalid_name"),
    (&["owner", "list", "a/b/c"], 2, "invalid_name"),
    (&["owner", "add", "waitlist", "bob"], 1, "no_registry"),
    (&["owner"], 2, "usage"),
    (&["trusted", "add", "waitlist", "--github", "acme"], 2, "usage"),
    (
        &[
            "trusted",
            "add",
            "waitlist",
            "--github",
            "acme",
            "--owner-id",
            "7",
            "--workflow",
            "r.yml",
        ],
        2,
        "invalid_claim",
    ),
    (
        &[
            "trusted",
            "add",
            "waitlist",
            "--github",
            "https://github.com/acme/x",
            "--owner-id",
            "7",
            "--workflow",
            "r.yml",
        ],
        2,
        "invalid_claim",
    ),
    (
        &[
            "trusted",
            "add",
            "waitlist",
            "--github",
            "acme/x",
            "--owner-id",
            "acme",
            "--workflow",
            "r.yml",
        ],
        2,
        "invalid_claim",
    ),
    (
        &[
            "trusted",
            "add",
            "waitlist",
            "--gitlab",
            "x",
            "--project-id",
            "1",
            "--namespace-id",
            "2",
        ],
        2,
        "invalid_claim",
    ),
    (&["install", "@acme/x"], 2, "reference_invalid"),
    (&["install", "acme/"], 2, "reference_invalid"),
    (&["install", "https://github.com/acme/x"], 2, "reference_invalid"),
    (&["instal", "x"], 2, "usage"),
    (&["search", "--limit", "0", "x"], 2, "usage"),
    (&["completions", "csh"], 2, "usage"),
    (&["log", "compare", "./absent.checkpoint", "notes.txt"], 2, "file_not_found"),
    (&["nonsense"], 2, "usage"),
    (&["check", "--compt"], 2, "usage"),
    (&["whoami", "--registry", "ftp://x"], 2, "registry_invalid"),
    (&["whoami", "--registry", "https://u:p@x"], 2, "registry_invalid"),
    (&["whoami", "--registry", "nowhere"], 2, "registry_unknown"),
];

fn machine() -> Machine {
    let machine = Machine::with_key();
    machine.write("notes.txt", "no skill, no key, no archive");
    machine.write("empty/readme", "no skill");
    machine.write(
        "skill/SKILL.md",
        std::fs::read(format!("{}/SKILL.md", example("release-notes"))).unwrap(),
    );
    machine
}

#[test]
fn every_wrong_input_has_an_exit_code_a_stable_code_and_a_message() {
    let machine = machine();
    for (arguments, exit, code) in WRONG {
        let mut with_json = arguments.to_vec();
        with_json.push("--json");
        let ran = machine.run(&with_json);
        let shown = ran.shown();
        assert_eq!((ran.code, ran.error_code().as_str()), (*exit, *code), "{arguments:?}\n{shown}");
        assert!(ran.stderr.starts_with("error: "), "{arguments:?}\n{shown}");
        let error = &ran.json()["error"];
        assert!(!error["message"].as_str().unwrap().is_empty());
        assert!(!shown.contains('\u{1b}'), "{arguments:?}");
    }
}

#[test]
fn every_wrong_input_is_told_to_a_person_on_stderr_alone() {
    let machine = machine();
    let mut shown = Vec::new();
    for (arguments, exit, _) in WRONG {
        let ran = machine.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (*exit, ""), "{arguments:?}");
        shown.push(format!("$ skillpkg {}\n{}", arguments.join(" "), ran.stderr));
    }
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_configuration_that_is_wrong_is_told_with_its_line() {
    let mut machine = machine();
    let file = machine.write("c.toml", "registry = \"https://x\"\n[registries.a]\nscopes = 3\n");
    machine.set("SKILLPKG_CONFIG", file.to_str().unwrap());
    let ran = machine.run(&["keys"]);
    assert_eq!(ran.code, 1);
    insta::assert_snapshot!(ran.shown());
}

#[test]
fn a_path_at_which_nothing_is_is_told_with_what_to_do() {
    let machine = Machine::new();
    for command in [
        &["check", "./none"][..],
        &["pack", "./none"],
        &["publish", "./none"],
        &["inspect", "./none"],
        &["compile", "./none"],
        &["verify", "none.skill.tar.zst"],
        &["install", "./none.skill.tar.zst", "-y"],
        &["contract", "none.json"],
        &["keys", "trust", "none.pem"],
    ] {
        let ran = machine.run(command);
        assert_eq!(ran.code, 1, "{command:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("none"), "{command:?}: {}", ran.stderr);
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert!(told.contains("hint: "), "{command:?}: {told}");
    }
}
