//! What a policy forbids, by every way to a skill.

use std::fs;

use serde_json::{Value, json};
use skillpkg_tests::{Answer, Machine, TestContext, write_skill};

const RUNS: Option<&str> = Some("sh NOTES.md");

/// The user's policy on a machine.
fn rule(machine: &Machine, text: &str) {
    fs::write(machine.configuration.with_file_name("policy.toml"), text).unwrap();
}

/// What was said, without what differs from run to run.
fn shown(machine: &Machine, context: &TestContext, text: &str) -> String {
    let policy = machine.configuration.with_file_name("policy.toml");
    let text = text.replace(policy.to_str().unwrap(), "POLICY");
    text.replace(&context.registry.url(), "REGISTRY")
}

/// Holds that a command is refused with this code, in this line of the user's policy.
#[track_caller]
fn refused(machine: &Machine, arguments: &[&str], code: &str, line: u64) -> Answer {
    let before = machine.picture();
    let answer = machine.run(&[arguments, &["--json", "--no-input"]].concat()).ended_with(5);
    let error = &answer.json()["error"];
    assert_eq!(error["code"], code, "{arguments:?}: {}", answer.stderr);
    let policy = machine.configuration.with_file_name("policy.toml");
    assert_eq!(error["file"].as_str(), policy.to_str(), "{arguments:?}");
    assert_eq!(error["line"], line, "{arguments:?}");
    assert!(answer.stderr.contains(&format!("{}:{line}", policy.display())), "{}", answer.stderr);
    assert_eq!(machine.picture(), before, "{arguments:?}");
    answer
}

#[test]
fn each_rule_keeps_a_skill_out_and_says_which_and_why() {
    let context = TestContext::new();
    let ada = context.author("ada");
    context.publish(&ada, "waitlist", "1.2.0", "echo hello", RUNS);
    let machine = context.machine("reader");
    let other = "2".repeat(64);
    let mut told = String::new();
    for (text, code, line) in [
        ("registries = [\"https://skills.corp.test\"]", "policy_registry", 1),
        ("\nscopes = [\"acme\"]", "policy_scope", 2),
        (&*format!("[signers]\n\"*\" = [\"{other}\"]"), "policy_signer", 2),
        ("minimum-release-age = \"3d\"", "policy_release_age", 1),
        ("forbid-programs = [\n  \"curl\",\n  \"sh\",\n]", "policy_program", 3),
        ("forbid-run = ['NOTES']", "policy_run", 1),
    ] {
        rule(&machine, text);
        let answer = refused(&machine, &["install", "waitlist", "-y"], code, line);
        // What a time or a key is differs from run to run.
        if !["policy_release_age", "policy_signer"].contains(&code) {
            told += &shown(&machine, &context, &answer.stderr);
        }
    }
    insta::assert_snapshot!(told, @r#"
    error: POLICY:1: `waitlist` comes from `REGISTRY`; `registries` allows `https://skills.corp.test` alone
    error: POLICY:2: `waitlist` has no scope; `scopes` allows `acme` alone
    error: POLICY:3: `waitlist@1.2.0` has the program `sh`, which `forbid-programs` names: tool `go` runs it
    error: POLICY:1: `waitlist@1.2.0`: tool `go` runs `sh NOTES.md`, which matches `NOTES` of `forbid-run`
    "#);
    assert_eq!(fs::read_dir(&machine.project).unwrap().count(), 0);
    // And all of them that are met are told at once.
    rule(&machine, "forbid-run = ['NOTES']\nforbid-programs = [\"sh\"]\n");
    let answer = refused(&machine, &["install", "waitlist", "-y"], "policy_program", 2);
    let faults = answer.json()["error"]["faults"].as_array().unwrap().clone();
    let codes: Vec<&str> = faults.iter().map(|fault| fault["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["policy_program", "policy_run"]);
    // What none of them meets is installed.
    let registry = context.registry.url();
    let text = format!("registries = [\"{registry}\"]\nscopes = [\"_\"]\nforbid-run = ['curl']\n");
    rule(&machine, &text);
    machine.run(&["install", "waitlist", "-y"]).succeeded();
}

#[test]
fn what_is_forbidden_after_it_was_installed_reaches_no_model_and_can_be_taken_away() {
    let context = TestContext::new();
    let ada = context.author("ada");
    context.publish(&ada, "waitlist", "1.2.0", "echo hello", RUNS);
    context.publish(&ada, "harmless", "1.0.0", "harmless", None);
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "harmless", "-y"]).succeeded();
    machine.run(&["call", "waitlist", "go"]).succeeded();
    let address = machine.json(&["inspect", "waitlist"])["files"]
        .as_array()
        .and_then(|files| files.iter().find(|file| file["path"] == "NOTES.md"))
        .map(|file| format!("sha256:{}", file["sha256"].as_str().unwrap()))
        .unwrap();
    machine.run(&["cat", &address]).succeeded();

    rule(&machine, "\nforbid-programs = [\"sh\"]\n");
    for command in [
        ["sync", "--frozen", "-y"].as_slice(),
        &["sync", "-y"],
        &["update", "-y"],
        &["install", "waitlist", "-y"],
        &["activate", "waitlist", "-y"],
        &["call", "waitlist", "go", "-y"],
        &["cat", "waitlist", "NOTES.md"],
        &["cat", &address],
        &["compile", "waitlist"],
        &["resolve", "waitlist"],
    ] {
        refused(&machine, command, "policy_program", 2);
    }
    // Another skill is not touched by it.
    machine.run(&["cat", "harmless", "NOTES.md"]).succeeded();
    machine.run(&["verify", "harmless"]).succeeded();

    let policy = machine.configuration.with_file_name("policy.toml");
    let answer = machine.run(&["verify", "--json"]).ended_with(5).json();
    let problem = &answer["problems"][0];
    assert_eq!((&answer["ok"], &answer["checked"]), (&Value::from(false), &Value::from(2)));
    for (field, value) in [
        ("name", "waitlist"),
        ("kind", "policy"),
        ("code", "policy_program"),
        ("rule", "forbid-programs"),
        ("file", policy.to_str().unwrap()),
    ] {
        assert_eq!(problem[field], value, "{problem}");
    }
    assert_eq!(problem["line"], 2);

    machine.run(&["deactivate", "waitlist"]).succeeded();
    machine.run(&["remove", "waitlist"]).succeeded();
    machine.run(&["sync", "--frozen"]).succeeded();
    machine.run(&["verify"]).succeeded();
}

#[test]
fn an_audit_tells_what_is_installed_against_every_rule() {
    let context = TestContext::new();
    let ada = context.author("ada");
    context.publish(&ada, "waitlist", "1.2.0", "echo hello", RUNS);
    context.publish(&ada, "harmless", "1.0.0", "harmless", None);
    let machine = context.machine("reader");
    let answer = machine.run(&["audit", "--json"]).succeeded().json();
    assert_eq!(answer, serde_json::json!({ "ok": true, "checked": 0, "problems": [] }));
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    machine.run(&["install", "-g", "harmless", "-y"]).succeeded();
    assert_eq!(machine.json(&["audit"])["checked"], 2);
    rule(&machine, "scopes = [\"acme\"]\nforbid-run = ['^sh ']\n");
    let policy = machine.configuration.with_file_name("policy.toml");
    let answer = machine.run(&["audit", "--json"]).ended_with(5).json();
    let told: Vec<[&str; 5]> = answer["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            ["name", "version", "rule", "file", "level"].map(|field| one[field].as_str().unwrap())
        })
        .collect();
    let policy = policy.to_str().unwrap();
    assert_eq!(
        told,
        [
            ["harmless", "1.0.0", "scopes", policy, "error"],
            ["waitlist", "1.2.0", "forbid-run", policy, "error"],
            ["waitlist", "1.2.0", "scopes", policy, "error"],
        ]
    );
    let answer = machine.run(&["audit"]).ended_with(5);
    insta::assert_snapshot!(shown(&machine, &context, &answer.stdout), @r#"
    error: harmless@1.0.0: scopes: `harmless` has no scope; `scopes` allows `acme` alone (POLICY:1)
    error: waitlist@1.2.0: forbid-run: `waitlist@1.2.0`: tool `go` runs `sh NOTES.md`, which matches `^sh ` of `forbid-run` (POLICY:2)
    error: waitlist@1.2.0: scopes: `waitlist` has no scope; `scopes` allows `acme` alone (POLICY:1)
    "#);

    let log = machine.run(&["audit", "--sarif"]).ended_with(5).json();
    assert_eq!(log["version"], "2.1.0");
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    let place = &results[2]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "skillpkg.lock");
    let line = place["region"]["startLine"].as_u64().unwrap();
    let lock = machine.read("skillpkg.lock");
    let entry = lock.lines().nth(usize::try_from(line).unwrap() - 1);
    assert_eq!(entry, Some("name = \"waitlist\""));

    // What is not what was signed weighs more.
    rule(&machine, "forbid-run = ['^sh ']\n");
    let tree = machine.project.join(".agents/skills/waitlist/NOTES.md");
    let tree = tree.canonicalize().unwrap();
    let mut permissions = tree.metadata().unwrap().permissions();
    #[expect(clippy::permissions_set_readonly_false, reason = "it goes with the test")]
    permissions.set_readonly(false);
    fs::set_permissions(&tree, permissions).unwrap();
    fs::write(&tree, "echo changed").unwrap();
    let answer = machine.run(&["audit", "--json"]).ended_with(3).json();
    let kinds: Vec<&Value> =
        answer["problems"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert!(kinds.contains(&&Value::from("modified")), "{answer}");
}

#[test]
fn no_policy_takes_anything_away_from_another() {
    let context = TestContext::new();
    let ada = context.author("ada");
    context.publish(&ada, "waitlist", "1.2.0", "echo hello", RUNS);
    let machine = context.machine("reader");
    rule(&machine, "scopes = [\"acme\"]\n");
    // A project that allows it, and a machine that does.
    machine.write("skillpkg.toml", "[skills]\n[policy]\nscopes = [\"_\"]\n");
    let allowing = context.path("allowing.toml");
    fs::write(&allowing, "scopes = [\"_\"]\nforbid-programs = []\n").unwrap();
    let run = |arguments: &[&str]| {
        let mut command = machine.command(arguments);
        command.env("SKILLPKG_MACHINE_POLICY", &allowing);
        Answer::of(arguments, &command.output().unwrap())
    };
    let answer = run(&["install", "waitlist", "-y", "--json"]).ended_with(5);
    assert_eq!(answer.error_code(), "policy_scope");
    // Each of them forbids by itself.
    rule(&machine, "");
    run(&["install", "waitlist", "-y"]).succeeded();
    fs::write(&allowing, "scopes = [\"acme\"]\n").unwrap();
    assert_eq!(
        run(&["call", "waitlist", "go", "--json"]).ended_with(5).error_code(),
        "policy_scope"
    );
    fs::write(&allowing, "").unwrap();
    let file = machine.read("skillpkg.toml").replace("\"_\"", "\"acme\"");
    machine.write("skillpkg.toml", &file);
    let answer = run(&["call", "waitlist", "go", "--json"]).ended_with(5);
    assert_eq!(answer.json()["error"]["file"], "skillpkg.toml");
    // A file that is named and is not there is no way around it.
    fs::remove_file(&allowing).unwrap();
    let answer = run(&["call", "waitlist", "go", "--json"]).ended_with(5);
    assert_eq!(answer.error_code(), "policy_unreadable");
    // Nor is another configuration: the policy beside the usual one stays.
    let usual = machine.user_home.join(".config/skillpkg");
    fs::create_dir_all(&usual).unwrap();
    fs::write(usual.join("policy.toml"), "scopes = [\"other\"]").unwrap();
    machine.write("skillpkg.toml", &file.replace("\"acme\"", "\"_\""));
    let answer = machine.run(&["call", "waitlist", "go", "--json"]).ended_with(5);
    assert_eq!(answer.error_code(), "policy_scope");
}

#[test]
fn a_policy_that_is_wrong_refuses_what_it_would_decide_and_nothing_else() {
    let context = TestContext::new();
    let ada = context.author("ada");
    context.publish(&ada, "waitlist", "1.2.0", "echo hello", RUNS);
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    rule(&machine, "require-log = true\nforbid-program = [\"sh\"]\n");
    for command in [
        ["install", "waitlist", "-y"].as_slice(),
        &["sync", "--frozen"],
        &["update"],
        &["activate", "waitlist"],
        &["call", "waitlist", "go"],
        &["cat", "waitlist", "NOTES.md"],
        &["compile", "waitlist"],
        &["show", "waitlist"],
        &["search", "waitlist"],
        &["verify"],
        &["audit"],
        &["policy"],
    ] {
        let answer = refused(&machine, command, "policy_invalid", 2);
        assert!(answer.stderr.contains("did you mean `forbid-programs`?"), "{}", answer.stderr);
        assert_eq!(answer.json()["error"]["column"], 1);
    }
    for command in
        [["list"].as_slice(), &["keygen"], &["inspect", "waitlist"], &["remove", "waitlist"]]
    {
        machine.run(command).succeeded();
    }
}

#[test]
fn an_update_that_adds_what_runs_is_refused_where_a_policy_says_so() {
    let context = TestContext::new();
    let ada = context.author("ada");
    context.publish(&ada, "waitlist", "1.2.0", "echo hello", RUNS);
    let machine = context.machine("reader");
    machine.run(&["install", "waitlist", "-y"]).succeeded();
    rule(&machine, "new-executables = \"refuse\"\n");
    context.publish(&ada, "waitlist", "1.2.1", "echo changed", RUNS);
    machine.run(&["update", "-y"]).succeeded();
    context.publish(&ada, "waitlist", "1.3.0", "echo more", Some("env sh NOTES.md"));
    for command in
        [["update", "--accept-permissions", "-y"].as_slice(), &["install", "waitlist@latest", "-y"]]
    {
        let answer = refused(&machine, command, "policy_executables", 1);
        insta::allow_duplicates! {
            insta::assert_snapshot!(shown(&machine, &context, &answer.stderr), @r#"
            error: POLICY:1: `waitlist@1.3.0` adds to 1.2.1: program `env` is new; tool `go` ran: sh NOTES.md and would run: env sh NOTES.md; `new-executables` refuses it
            "#);
        }
    }
    // Whoever has no version of it yet takes the newest.
    let newcomer = context.machine("newcomer");
    rule(&newcomer, "new-executables = \"refuse\"\n");
    newcomer.run(&["install", "waitlist", "-y"]).succeeded();
}

#[test]
fn an_archive_in_a_file_is_no_way_around_a_policy() {
    let context = TestContext::new();
    let machine = context.machine("reader");
    let own = machine.json(&["keygen"])["id"].as_str().unwrap().to_owned();
    write_skill(&machine.project.join("source"), "waitlist", "echo hello", RUNS);
    machine.run(&["pack", "source", "--version", "1.2.0", "-o", "w.skill.tar.zst"]).succeeded();
    rule(&machine, "registries = [\"https://skills.corp.test\"]\n");
    // A registry that is not allowed is not asked for anything, nor given a token.
    for command in ["search w", "show waitlist", "login", "publish source --version 1.2.0"] {
        let arguments: Vec<&str> = command.split(' ').collect();
        let answer = machine.run(&[&arguments, &["--json"][..]].concat()).ended_with(5);
        assert_eq!(answer.error_code(), "policy_registry", "{command}");
    }
    let answer = refused(&machine, &["install", "./w.skill.tar.zst", "-y"], "policy_registry", 1);
    assert!(answer.stderr.contains("`file:`"), "{}", answer.stderr);
    let held = |machine: &Machine| {
        let answer = machine.run(&["verify", "w.skill.tar.zst", "--json"]).ended_with(5).json();
        let problem = &answer["problems"][0];
        assert_eq!(
            (&problem["kind"], &problem["name"]),
            (&json!("policy"), &json!("w.skill.tar.zst"))
        );
        problem["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(held(&machine), "policy_registry");
    rule(&machine, "registries = [\"https://skills.corp.test\", \"file:\"]\n");
    machine.run(&["install", "./w.skill.tar.zst", "-y"]).succeeded();
    let key = "1".repeat(64);
    rule(&machine, &format!("[signers]\n_ = [\"{key}\"]\n"));
    refused(&machine, &["call", "waitlist", "go"], "policy_signer", 2);
    assert_eq!(held(&machine), "policy_signer");
    rule(&machine, &format!("[signers]\n_ = [\"{own}\"]\n"));
    machine.run(&["verify", "w.skill.tar.zst"]).succeeded();
    machine.run(&["call", "waitlist", "go"]).succeeded();
}

#[test]
fn a_program_that_a_call_names_is_held_against_the_policy_at_the_call() {
    let context = TestContext::new();
    let ada = context.author("ada");
    let source = context.path("runner");
    fs::create_dir_all(&source).unwrap();
    let text = "---\nskill: runner\ndescription: Runs.\nversion: 1.0.0\n---\n\nRun.\n\n```tool\n\
                id: run\ndescription: runs\nparams:\n  program:\n    type: string\nrun: $program hi\n\
                ```\n";
    fs::write(source.join("SKILL.md"), text).unwrap();
    ada.run(&["publish", source.to_str().unwrap()]).succeeded();
    let machine = context.machine("reader");
    rule(&machine, "forbid-programs = [\"printf\"]\n");
    machine.run(&["install", "runner", "-y"]).succeeded();
    let answer = machine.run(&["call", "runner", "run", "program=echo"]).succeeded();
    assert_eq!(answer.stdout, "hi\n");
    refused(&machine, &["call", "runner", "run", "program=printf"], "policy_program", 1);
    refused(&machine, &["call", "runner", "run", "program=/usr/bin/printf"], "policy_program", 1);
}

#[test]
fn the_rules_in_force_are_told_with_their_places() {
    let context = TestContext::new();
    let machine = context.machine("reader");
    let answer = machine.run(&["policy"]).succeeded();
    assert_eq!(
        (answer.stdout.as_str(), answer.stderr.trim()),
        ("", "no policy rules anything here")
    );
    rule(&machine, "scopes = [\"acme\"]\n\nminimum-release-age = \"3d\"\n");
    machine
        .write("skillpkg.toml", "[skills]\n\n[policy]\nforbid-programs = [\"curl\", \"wget\"]\n");
    let answer = machine.run(&["policy"]).succeeded();
    insta::assert_snapshot!(shown(&machine, &context, &answer.stdout), @r#"
    scopes: ["acme"]  (user's, POLICY:1)
    minimum-release-age: "3d"  (user's, POLICY:3)
    forbid-programs: "curl"  (project's, skillpkg.toml:4)
    forbid-programs: "wget"  (project's, skillpkg.toml:4)
    "#);
    let json = machine.json(&["policy"]);
    let rule = &json["rules"][1];
    assert_eq!((&rule["rule"], &rule["line"]), (&"minimum-release-age".into(), &Value::from(3)));
    assert_eq!((&rule["whose"], &rule["value"]), (&"user".into(), &Value::from("\"3d\"")));
    assert!(json["files"].as_array().unwrap().iter().any(|file| file["present"] == true));
}
