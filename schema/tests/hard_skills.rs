//! The rules of hard skills, as cases.

#![expect(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod skips;

use std::collections::BTreeMap;

use serde::Deserialize;
use skillpkg_schema::json::{self, Bounds};
use skillpkg_schema::skill::{Answer, Call, Program, ResolveError, Rules, Skill, resolve};
use skillpkg_schema::tree::DirectoryTree;

const BOUNDS: Bounds = Bounds { bytes: 1_000_000, depth: 64, nodes: 100_000 };

#[derive(Deserialize)]
struct Case {
    name: String,
    skill_md: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    symlinks: BTreeMap<String, String>,
    expect: Expect,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    #[serde(default)]
    error: bool,
    mentions: Option<String>,
    programs: Option<Vec<Program>>,
    included: Option<Vec<String>>,
    #[serde(default)]
    calls: Vec<ExpectedCall>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedCall {
    call: Box<serde_json::value::RawValue>,
    #[serde(default)]
    error: bool,
    argv: Option<Vec<String>>,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("vectors/hard-skills.json")).unwrap()
}

fn lay_out(case: &Case) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |path: &str, content: &str| {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    write("SKILL.md", &case.skill_md);
    for (path, content) in &case.files {
        write(path, content);
    }
    #[cfg(unix)]
    for (link, target) in &case.symlinks {
        std::os::unix::fs::symlink(target, directory.path().join(link)).unwrap();
    }
    directory
}

/// The call as structure, as text, in a `call` block and in prose: all four must agree.
fn resolutions(skill: &Skill, call: &str) -> Vec<Result<Option<Call>, ResolveError>> {
    let tools = &skill.file.tools;
    let value = json::parse(call, &BOUNDS).unwrap();
    let block = format!("Right.\n\n```call\n{call}\n```\n");
    let prose = format!("I call {call} now.");
    let mut resolved = vec![
        resolve(tools, Answer::Structured(&value)),
        resolve(tools, Answer::Text(call)),
        resolve(tools, Answer::Text(&block)),
    ];
    let is_ours = tools.iter().any(|tool| value.get("tool").unwrap().as_str() == Some(&tool.id));
    if is_ours {
        resolved.push(resolve(tools, Answer::Text(&prose)));
    }
    resolved
}

#[test]
fn every_case_holds() {
    // Elsewhere whoever runs the tests may not make links.
    for case in cases().into_iter().filter(|case| cfg!(unix) || case.symlinks.is_empty()) {
        let name = &case.name;
        let directory = lay_out(&case);
        let tree = DirectoryTree::open(directory.path()).unwrap();
        let read = Skill::read(&tree, Rules::Strict);
        if case.expect.error {
            let faults = read.expect_err(name);
            let mentions = case.expect.mentions.as_deref().unwrap_or_default();
            let first = faults.first();
            assert!(first.message.contains(mentions), "{name}: {first}");
            assert!(first.file.is_some() && first.line.is_some(), "{name}: {first}");
            continue;
        }
        let skill = read.unwrap_or_else(|faults| panic!("{name}: {faults}"));
        if let Some(programs) = &case.expect.programs {
            assert_eq!(&skillpkg_schema::skill::programs(&skill.file.tools), programs, "{name}");
        }
        if let Some(included) = &case.expect.included {
            let found: Vec<&str> =
                skill.included.iter().map(skillpkg_schema::SkillPath::as_str).collect();
            assert_eq!(&found, included, "{name}");
        }
        for expected in &case.expect.calls {
            let call = expected.call.get();
            for resolved in resolutions(&skill, call) {
                assert_eq!(resolved.is_err(), expected.error, "{name}: {call}: {resolved:?}");
                let argv = resolved.ok().flatten().map(|call| call.argv);
                assert_eq!(argv, expected.argv, "{name}: {call}");
            }
        }
    }
}

/// Published skills, where they lie beside the project or where `SKILLPKG_CORPUS` says.
fn published_skills() -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let corpus = std::env::var_os("SKILLPKG_CORPUS").unwrap_or("../../shared/corpus".into());
    let mut pending = vec![std::path::PathBuf::from(corpus)];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else if entry.file_name() == "SKILL.md" {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn published_skills_are_read_or_refused_with_a_place() {
    let skills = published_skills();
    if skills.is_empty() {
        let test = "published_skills_are_read_or_refused_with_a_place";
        return skips::skipped(test, "published skills in `SKILLPKG_CORPUS`", false);
    }
    let mut refused = Vec::new();
    for path in &skills {
        let source = std::fs::read(path).unwrap();
        match skillpkg_schema::skill::parse(&source, "SKILL.md") {
            Ok(file) => {
                assert!(!file.name.is_empty() && !file.description.is_empty());
            }
            Err(faults) => {
                for one in faults.diagnostics() {
                    assert!(one.file.is_some() && one.line.is_some() && !one.message.is_empty());
                }
                refused.push(format!("{}: {faults}", path.display()));
            }
        }
    }
    assert!(refused.len() * 50 <= skills.len(), "{}", refused.join("\n"));
}
