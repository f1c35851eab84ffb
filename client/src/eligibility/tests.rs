//! What is missing, on machines made up for it.

use std::collections::BTreeMap;
use std::path::Path;

use skillpkg_schema::{Manifest, Severity};

use super::*;
use crate::Settings;
use crate::runner::RunnerSet;

/// A skill with these parts over those of the smallest one.
fn manifest(parts: &serde_json::Value) -> Manifest {
    let digests = serde_json::json!({ "sha256": "0".repeat(64), "blake3": "0".repeat(64) });
    let file = |path: &str, mode: &str| {
        let mut file = serde_json::json!({ "path": path, "mode": mode, "size": 1 });
        file.as_object_mut().unwrap().extend(digests.as_object().unwrap().clone());
        file
    };
    let mut whole = serde_json::json!({
        "schema": "skillpkg.manifest/1", "name": "waitlist", "version": "1.2.0",
        "description": "Manages a waitlist.", "dialect": "hard",
        "files": [file("SKILL.md", "644"), file("help.py", "755"), file("plain.py", "644"),
            file("run.sh", "755")],
        "tools": [], "resources": [], "scripts": [], "programs": [], "requires": {},
        "metadata": {},
    });
    whole.as_object_mut().unwrap().extend(parts.as_object().unwrap().clone());
    serde_json::from_value(whole).unwrap()
}

/// A machine with these programs on PATH and a tree with these files.
struct Bench {
    directory: tempfile::TempDir,
    settings: Settings,
}

impl Bench {
    fn new(programs: &[&str], environment: &[(&str, &str)], files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["bin", "tree"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        let mut settings = Settings::new(at("home"), at("user"), at("project"));
        settings.path = vec![at("bin")];
        settings.environment = environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        for program in programs {
            executable(&at("bin").join(program));
        }
        for (name, text) in files {
            std::fs::write(at("tree").join(name), text).unwrap();
        }
        Self { directory, settings }
    }

    fn needs(&self, parts: &serde_json::Value) -> Needs {
        let here = Here { settings: &self.settings, runners: None, recorded: None };
        needs(&manifest(parts), &self.directory.path().join("tree"), here).unwrap()
    }
}

fn executable(file: &Path) {
    std::fs::write(file, "").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn kinds(missing: &[Missing]) -> Vec<(MissingKind, Vec<&str>)> {
    missing.iter().map(|one| (one.kind, one.names.iter().map(String::as_str).collect())).collect()
}

#[test]
fn every_unmet_requirement_is_told_with_the_skill_that_has_it() {
    let bench = Bench::new(&[], &[("SET", "1"), ("EMPTY", "")], &[]);
    let needs = bench.needs(&serde_json::json!({ "requires": {
        "all": ["nowhere-one"], "any": ["nowhere-two", "nowhere-three"],
        "env": ["SET", "UNSET", "EMPTY"], "os": ["plan9"],
    }}));
    assert_eq!(
        kinds(&needs.missing),
        [
            (MissingKind::Program, vec!["nowhere-one"]),
            (MissingKind::AnyProgram, vec!["nowhere-two", "nowhere-three"]),
            (MissingKind::Environment, vec!["UNSET"]),
            (MissingKind::Environment, vec!["EMPTY"]),
            (MissingKind::System, vec!["plan9"]),
        ]
    );
    for one in &needs.missing {
        assert!(one.refuses());
        assert!(one.told.message.contains("`waitlist`"), "{}", one.told.message);
    }
    let codes: Vec<&str> = needs.missing.iter().map(|one| one.told.code.as_str()).collect();
    let (program, other) = ("program_missing", "requirement_missing");
    assert_eq!(codes, [program, program, other, other, other]);
}

#[cfg(unix)]
#[test]
fn what_is_here_is_not_missing_and_one_of_several_is_enough() {
    let bench = Bench::new(&["jq", "bun"], &[("TOKEN", "never-printed")], &[]);
    let needs = bench.needs(&serde_json::json!({ "requires": {
        "all": ["jq"], "any": ["node", "bun"], "env": ["TOKEN"],
        "os": ["plan9", std::env::consts::OS],
    }}));
    assert_eq!(needs.missing, []);
    assert!(!format!("{needs:?}").contains("never-printed"));
}

#[cfg(unix)]
#[test]
fn the_program_of_a_run_line_is_looked_for_where_it_was_found_when_it_was_activated() {
    let bench = Bench::new(&[], &[], &[]);
    let parts = serde_json::json!({ "programs": [
        { "name": "uv", "dynamic": false, "tools": ["access", "list"] },
        { "name": "$which", "dynamic": true, "tools": ["any"] },
        { "name": "./plain.py", "dynamic": false, "tools": ["own"] },
        { "name": "./gone.sh", "dynamic": false, "tools": ["own"] },
    ]});
    let missing = bench.needs(&parts).missing;
    assert_eq!(
        kinds(&missing),
        [
            (MissingKind::Program, vec!["uv"]),
            (MissingKind::Program, vec!["./plain.py"]),
            (MissingKind::Program, vec!["./gone.sh"])
        ]
    );
    assert_eq!(missing[0].needed_by, ["access", "list"]);
    assert_eq!(missing[1].told.code, "program_not_executable");

    let elsewhere = bench.directory.path().join("uv");
    executable(&elsewhere);
    let recorded = BTreeMap::from([("uv".to_owned(), elsewhere.clone())]);
    let here = Here { settings: &bench.settings, runners: None, recorded: Some(&recorded) };
    let needs = needs(&manifest(&parts), &bench.directory.path().join("tree"), here).unwrap();
    assert_eq!(needs.missing.len(), 2);
    assert_eq!(needs.programs[0].path.as_deref(), Some(elsewhere.as_path()));
}

#[cfg(unix)]
#[test]
fn what_runs_an_executable_file_is_needed_and_refuses_only_where_a_tool_starts_it() {
    let files = [
        ("run.sh", "#!/usr/bin/env nowhere-sh\n"),
        ("help.py", "#!/nowhere/python3\n"),
        ("plain.py", "#!/nowhere/plain\n"),
        ("SKILL.md", "#!/nowhere/skill\n"),
    ];
    let bench = Bench::new(&[], &[], &files);
    let missing = bench.needs(&serde_json::json!({})).missing;
    assert_eq!(
        kinds(&missing),
        [
            (MissingKind::Interpreter, vec!["/nowhere/python3"]),
            (MissingKind::Interpreter, vec!["nowhere-sh"])
        ]
    );
    assert!(missing.iter().all(|one| !one.refuses()));
    assert_eq!(missing[1].needed_by, ["run.sh"]);
    let started = bench.needs(&serde_json::json!({ "programs": [
        { "name": "./run.sh", "dynamic": false, "tools": ["go"] },
    ]}));
    let refusing: Vec<&Missing> = started.refusing().collect();
    assert_eq!(refusing.len(), 1);
    assert_eq!(refusing[0].names, ["nowhere-sh"]);
    assert_eq!(started.advice().len(), 1);

    let bench =
        Bench::new(&["nowhere-sh"], &[], &[("run.sh", files[0].1), ("help.py", "#!/bin/sh\n")]);
    assert_eq!(bench.needs(&serde_json::json!({})).missing, []);
}

#[test]
fn a_script_wants_exactly_one_runner() {
    let bench = Bench::new(&[], &[], &[]);
    let contract = r#"{"type":"object","properties":{},"additionalProperties":false}"#;
    let contract = skillpkg_schema::contract::Contract::compile(contract).unwrap();
    let parts = serde_json::json!({ "scripts": [{ "name": "tidy", "description": "d",
        "path": "help.py", "runtime": "python", "contract": contract.canonical(),
        "fingerprint": contract.fingerprint(), "requiresPermission": true, "timeoutSeconds": 60,
        "maximumOutputBytes": 512_000 }]});
    let runners = RunnerSet::default();
    let here = Here { settings: &bench.settings, runners: Some(&runners), recorded: None };
    let needs = needs(&manifest(&parts), Path::new("/nowhere"), here).unwrap();
    assert_eq!(kinds(&needs.missing), [(MissingKind::Runner, vec!["python"])]);
    assert_eq!(needs.missing[0].needed_by, ["tidy"]);
    assert_eq!(needs.missing[0].told.code, "runner_unavailable");
}

#[test]
fn always_waives_everything_but_the_system() {
    let bench = Bench::new(&[], &[], &[]);
    let needs = bench.needs(&serde_json::json!({
        "requires": { "all": ["nowhere"], "env": ["UNSET"], "os": ["plan9"] },
        "metadata": { "metadata": { "openclaw": { "always": "true", "primaryEnv": "UNSET" } } },
    }));
    assert_eq!(kinds(&needs.missing), [(MissingKind::System, vec!["plan9"])]);
    assert_eq!(needs.waived.len(), 2);
    assert!(needs.waived.iter().all(|one| one.told.severity == Severity::Warning));
    assert_eq!((needs.always, needs.primary_env.as_deref()), (true, Some("UNSET")));
}

#[test]
fn what_cannot_be_read_is_missing_and_what_only_a_host_knows_is_left_to_it() {
    let bench = Bench::new(&[], &[], &[]);
    let needs = bench.needs(&serde_json::json!({ "metadata": { "metadata": { "openclaw": {
        "requires": { "bins": { "a\u{1b}": "b" }, "config": ["channels.slack"], "gpu": "yes" } } } } }));
    assert_eq!(
        kinds(&needs.missing),
        [(MissingKind::Unreadable, vec!["metadata.openclaw.requires.bins"])]
    );
    assert!(!needs.missing[0].refuses(), "whoever knows better may activate it");
    assert_eq!(needs.advice()[0].code, "requirement_unreadable");
    let left = |kind, name: &str| LeftToHost { kind, name: name.to_owned() };
    assert_eq!(
        needs.left_to_host,
        [
            left(HostCondition::Config, "channels.slack"),
            left(HostCondition::Unknown, "metadata.openclaw.requires.gpu")
        ]
    );
}

#[test]
fn a_verdict_is_the_sum_of_its_parts() {
    let whole = Verdict { active: true, verified: true, ..Verdict::default() };
    assert!(whole.clone().concluded().eligible);
    let changed = Verdict { changed: vec!["SKILL.md".to_owned()], ..whole.clone() }.concluded();
    assert!(!changed.eligible && !changed.verified);
    assert!(!Verdict { active: false, ..whole.clone() }.concluded().eligible);
    let bench = Bench::new(&[], &[], &[]);
    let missing = bench.needs(&serde_json::json!({ "requires": { "os": ["plan9"] } })).missing;
    assert!(!Verdict { missing, ..whole.clone() }.concluded().eligible);
    let left = vec![LeftToHost { kind: HostCondition::Config, name: "x".to_owned() }];
    assert!(Verdict { left_to_host: left, ..whole }.concluded().eligible);
}

#[test]
fn a_verdict_is_written_as_hosts_read_it() {
    let bench = Bench::new(&[], &[], &[]);
    let needs = bench.needs(&serde_json::json!({
        "requires": { "any": ["nowhere-a", "nowhere-b"] },
        "programs": [{ "name": "nowhere-c", "dynamic": false, "tools": ["access"] }],
        "metadata": { "metadata": { "openclaw": { "requires": { "config": ["a.b"] } } } },
    }));
    let verdict = Verdict {
        active: true,
        verified: true,
        missing: needs.missing,
        left_to_host: needs.left_to_host,
        ..Verdict::default()
    };
    insta::assert_snapshot!(serde_json::to_string_pretty(&verdict.concluded()).unwrap());
}
