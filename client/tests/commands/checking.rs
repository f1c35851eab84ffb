use crate::support::{Machine, example, examples};

const FAULTY: &str = "---
skill: waitlist
description: Manage the waitlist.
version: 1.2.0
licence: MIT
---

Manage it.

```tool
id: access
description: accept somebody
params:
  user:
    type: string
  note:
    type: strin
run: sh handle.sh --accept $usr
```
";

#[test]
fn the_examples_pass_without_a_word() {
    let machine = Machine::new();
    let mut names: Vec<String> = std::fs::read_dir(examples())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in &names {
        let ran = machine.ok(&["check", &example(name)]);
        assert_eq!((ran.stdout, ran.stderr), (format!("[EXAMPLES]/{name}: ok\n"), String::new()));
    }
    let all: Vec<String> = names.iter().map(|name| example(name)).collect();
    let mut arguments = vec!["check", "--json"];
    arguments.extend(all.iter().map(String::as_str));
    let report = machine.ok(&arguments).json();
    assert_eq!(report["ok"], true);
    assert_eq!(report["skills"].as_array().unwrap().len(), names.len());
}

#[test]
fn the_file_of_a_skill_stands_for_its_directory() {
    let machine = Machine::new();
    let file = format!("{}/SKILL.md", example("waitlist"));
    assert_eq!(machine.ok(&["check", &file]).stdout, "[EXAMPLES]/waitlist: ok\n");
    assert_eq!(machine.ok(&["inspect", &file, "--json"]).json()["name"], "waitlist");
    machine.write("SKILL.md", "---\nskill: a\ndescription: d\nversion: 1.0.0\n---\nBody.\n");
    assert_eq!(machine.ok(&["check", "SKILL.md"]).stdout, ".: ok\n");
}

#[test]
fn every_fault_of_every_skill_is_told_with_its_place() {
    let machine = Machine::new();
    machine.write("faulty/SKILL.md", FAULTY);
    machine.write("empty/readme", "no skill");
    let ran = machine.run(&["check", "faulty", "empty", "absent", &example("waitlist")]);
    assert_eq!(ran.code, 1);
    insta::assert_snapshot!(ran.shown());
}

#[test]
fn the_report_as_json_holds_every_diagnostic_and_the_first_error() {
    let machine = Machine::new();
    machine.write("faulty/SKILL.md", FAULTY);
    let ran = machine.run(&["check", "--json", "faulty"]);
    assert_eq!(ran.code, 1);
    let report = ran.json();
    assert_eq!(report["ok"], false);
    let diagnostics = report["skills"][0]["diagnostics"].as_array().unwrap();
    let lines: Vec<u64> = diagnostics.iter().filter_map(|one| one["line"].as_u64()).collect();
    assert!(lines.contains(&5) && lines.contains(&17) && lines.contains(&18), "{report}");
    assert_eq!(report["error"]["file"], "SKILL.md");
    assert!(report["error"]["line"].is_u64());
}

#[test]
fn a_name_that_is_given_stands_in_for_a_missing_one() {
    let machine = Machine::with_key();
    let text = "---\ndescription: Maps.\nmetadata:\n  version: \"1.0.0\"\n---\n\nRead.\n";
    machine.write("mapper/SKILL.md", text);
    let ran = machine.run(&["check", "mapper", "--json"]);
    let error = ran.json()["error"].clone();
    assert_eq!((ran.code, &error["code"]), (1, &"name_missing".into()));
    assert!(error["hint"].as_str().unwrap().contains("--name NAME"), "{error}");
    for command in [&["pack", "mapper"][..], &["publish", "mapper", "--dry-run"]] {
        let ran = machine.run(&[command, &["--json"]].concat());
        assert_eq!((ran.code, ran.error_code().as_str()), (1, "name_missing"), "{command:?}");
    }
    assert_eq!(machine.ok(&["check", "mapper", "--name", "x/mapper"]).stdout, "mapper: ok\n");
    let ran = machine.ok(&["publish", "mapper", "--name", "x/mapper", "--dry-run", "--json"]);
    assert_eq!(ran.json()["name"], "x/mapper");
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    machine.ok(&["pack", "mapper", "--name", "x/mapper", "-o", "m.skill.tar.zst"]);
    assert_eq!(machine.ok(&["inspect", "m.skill.tar.zst", "--json"]).json()["name"], "x/mapper");
    let ran = machine.run(&["check", "mapper", "mapper", "--name", "x", "--json"]);
    assert_eq!((ran.code, ran.error_code().as_str()), (2, "usage"));
}

#[test]
fn what_is_wrong_is_told_in_the_order_of_its_lines() {
    let machine = Machine::new();
    let text =
        "---\nlicence: MIT\nname: Ado Mapper\nmodel: x\ndescription: Maps.\n---\n\n[a](b.md)\n";
    machine.write("mapper/SKILL.md", text);
    let report = machine.run(&["check", "mapper", "--json"]).json();
    let told = report["skills"][0]["diagnostics"].as_array().unwrap().clone();
    let lines: Vec<u64> = told.iter().map(|one| one["line"].as_u64().unwrap_or(u64::MAX)).collect();
    assert!(lines.is_sorted() && lines.len() > 4, "{told:?}");
    let ran = machine.run(&["pack", "mapper", "--version", "1.0.0"]);
    assert!(
        ran.stderr.contains("mapper/SKILL.md:3:7: `Ado Mapper` is not a name"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_rules_of_agent_hosts_are_warnings() {
    let machine = Machine::new();
    let long = "x".repeat(1100);
    machine.write(
        "other/SKILL.md",
        format!(
            "---\nname: pdf_tools\ndescription: {long}\ncompatibility: {}\nmodel: opus\nmetadata:\n  version: \"1\"\n---\nBody.\n",
            "y".repeat(501)
        ),
    );
    let ran = machine.ok(&["check", "other", "--json"]);
    let report = ran.json();
    let diagnostics = report["skills"][0]["diagnostics"].as_array().unwrap();
    let codes: Vec<&str> = diagnostics.iter().map(|one| one["code"].as_str().unwrap()).collect();
    for code in [
        "description_long",
        "frontmatter_key",
        "agent_name",
        "agent_directory",
        "agent_compatibility",
    ] {
        assert!(codes.contains(&code), "{code} is not among {codes:?}");
    }
}

#[test]
fn what_keeps_a_skill_from_being_published_as_it_is_is_an_error() {
    let machine = Machine::new();
    machine.write("a/SKILL.md", "---\nskill: My Skill\ndescription: d\n---\nBody.\n");
    machine.write("b/SKILL.md", "---\nskill: b\ndescription: d\nversion: one\n---\nBody.\n");
    let ran = machine.run(&["check", "a", "b"]);
    insta::assert_snapshot!(ran.shown());
    // As other tools have it, a skill has no version until it is published.
    machine.ok(&["check", "a", "b", "--compat"]);
    machine.write("c/SKILL.md", "---\nname: c\ndescription: d\n---\nBody.\n");
    machine.ok(&["check", "c"]);
    for directory in ["a", "b"] {
        assert_eq!(machine.run(&["pack", directory, "--list"]).code, 1);
        let named = ["pack", directory, "--list", "--name", "x/y", "--version", "1.2"];
        assert_eq!(machine.ok(&named).stdout, "SKILL.md\n");
    }
}

#[test]
fn a_secret_is_an_error_before_anything_is_packed() {
    let machine = Machine::with_key();
    machine.write("a/SKILL.md", "---\nname: a\ndescription: d\nversion: 1.0.0\n---\nBody.\n");
    machine.ok(&["keygen", "-o", "a/deploy.txt"]);
    assert_eq!(machine.run(&["check", "a"]).code, 1);
    assert_eq!(machine.run(&["publish", "a", "--dry-run"]).code, 1);
    machine.ok(&["publish", "a", "--dry-run", "--allow-secrets"]);
}

#[test]
fn compat_takes_undeclared_references_as_resources() {
    let machine = Machine::new();
    machine.write("a/SKILL.md", "---\nname: a\ndescription: d\nversion: 1.0.0\n---\nBody.\n");
    machine.write("a/references/guide.md", "text");
    machine.write("a/skill.json", r#"{"resources":{"references/guide.md":""}}"#);
    assert_eq!(machine.run(&["check", "a"]).code, 1);
    machine.ok(&["check", "a", "--compat"]);
}

#[test]
fn what_a_terminal_would_obey_never_reaches_one() {
    let machine = Machine::new();
    machine.write("a/SKILL.md", "---\nskill: a\u{1b}]0;x\u{7}\ndescription: \"d\\e[2J\"\n\u{202e}k: v\nversion: \u{1b}[31m1\n---\nBody.\n");
    for arguments in [&["check", "a"][..], &["check", "a", "--color", "always"], &["inspect", "a"]]
    {
        let ran = machine.run(arguments);
        let shown = ran.shown().replace("\u{1b}[1;31m", "").replace("\u{1b}[1;33m", "");
        let shown = shown.replace("\u{1b}[0m", "");
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown:?}");
    }
}

#[test]
fn run_lines_that_no_call_can_carry_out_are_told() {
    let machine = Machine::new();
    machine.write("s/m.sh", "echo hello\n");
    machine.write(
        "s/SKILL.md",
        "---\nskill: s\ndescription: d\nversion: 1.0.0\n---\n\n\
         ```tool\nid: a\ndescription: d\nrun: sh m.sh\n```\n\n\
         ```tool\nid: b\ndescription: d\nrun: sh gone.sh > out.txt\n```\n",
    );
    let codes = |arguments: &[&str]| {
        let report = machine.ok(arguments).json();
        let diagnostics = report["skills"][0]["diagnostics"].as_array().unwrap().clone();
        let mut codes: Vec<String> =
            diagnostics.iter().map(|one| one["code"].as_str().unwrap().to_owned()).collect();
        codes.sort();
        codes
    };
    let wanted = ["run_file_missing", "run_file_not_packed", "run_shell_syntax"];
    assert_eq!(codes(&["check", "s", "--json"]), wanted);
    assert_eq!(codes(&["check", "s", "--json", "--compat"]), wanted);
    let told = machine.ok(&["pack", "s", "--list"]).stderr;
    assert!(told.contains("write `includes: m.sh` in the frontmatter"), "{told}");
    machine.write(
        "s/SKILL.md",
        "---\nskill: s\ndescription: d\nversion: 1.0.0\nincludes: m.sh\n---\n\n\
         ```tool\nid: a\ndescription: d\nrun: sh m.sh\n```\n",
    );
    assert!(codes(&["check", "s", "--json"]).is_empty());
}
