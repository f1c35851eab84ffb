//! An audit as SARIF 2.1.0, which code hosts show beside the lines of a change.

use std::path::Path;

use serde_json::{Value, json};
use url::Url;

use super::{Level, Problem};
use crate::policy::Rule;
use crate::project::LOCK_FILE;

/// The schema that the document keeps.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// What each kind that is no rule of a policy is about.
const KINDS: [(&str, &str); 12] = [
    ("advisory", "No advisory is about a skill."),
    ("digest", "A manifest, a blob or an archive is what its digest says."),
    ("extra", "A skill has no file that is no part of it."),
    ("finding", "A skill's files hold nothing that is worth an eye."),
    ("missing", "Every file of a skill is there."),
    ("mode", "A file is executable only where the skill says so."),
    ("modified", "A file's bytes are those that were signed."),
    ("problem", "A skill is as it should be."),
    ("proof", "A skill is in its registry's log."),
    ("revoked", "The key that signed a skill was not revoked."),
    ("signature", "A key that is known vouches for a skill."),
    ("yanked", "A version was not yanked."),
];

/// What an audit of `project` found as a SARIF log with one run.
///
/// Each result stands at the lockfile's entry of its skill, which is what a project changes about it;
/// where a policy's rule stands is its related location.
pub fn sarif(problems: &[Problem], project: &Path) -> Value {
    let ids = rule_ids(problems);
    let rules: Vec<Value> = ids
        .iter()
        .map(|id| {
            json!({
                "id": id,
                "shortDescription": { "text": description(id) },
                "defaultConfiguration": { "level": "error" },
            })
        })
        .collect();
    let results: Vec<Value> = problems
        .iter()
        .map(|problem| {
            let index = ids.iter().position(|id| *id == problem.what());
            result(problem, index.unwrap_or_default(), project)
        })
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "skillpkg",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// The ids of the rules that are met, each once, sorted.
fn rule_ids(problems: &[Problem]) -> Vec<&'static str> {
    let mut ids: Vec<&'static str> = problems.iter().map(Problem::what).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn description(id: &str) -> &'static str {
    let of_rule = Rule::ALL.into_iter().find(|rule| rule.key() == id).map(Rule::sentence);
    let of_kind = || KINDS.into_iter().find(|(kind, _)| *kind == id).map(|(_, text)| text);
    of_rule.or_else(of_kind).unwrap_or("A skill is as it should be.")
}

fn result(problem: &Problem, index: usize, project: &Path) -> Value {
    let place = location(&problem.lockfile, project, entry_line(problem));
    let level = match problem.level {
        Level::Error => "error",
        Level::Warning => "warning",
    };
    let skill = format!("{}@{}", problem.name, problem.version);
    let mut result = json!({
        "ruleId": problem.what(),
        "ruleIndex": index,
        "level": level,
        "message": { "text": format!("{skill}: {}", problem.message) },
        "locations": [place],
        // Of one kind there are several problems of one skill; its message tells them apart.
        "partialFingerprints": {
            "skill/v1": format!("{skill} {} {}", problem.what(), problem.message),
        },
    });
    if let (Some(file), Some(_), Some(line)) = (&problem.file, problem.rule, problem.line) {
        // A project's own policy is named relative to where its lockfile lies.
        let file = problem.lockfile.parent().unwrap_or(project).join(file);
        let mut related = location(&file, project, Some(line));
        if let Some(related) = related.as_object_mut() {
            related.insert("message".to_owned(), json!({ "text": "the rule stands here" }));
        }
        result["relatedLocations"] = json!([related]);
    }
    result
}

fn location(file: &Path, project: &Path, line: Option<u32>) -> Value {
    let mut place = json!({ "artifactLocation": artifact(file, project) });
    if let Some(line) = line {
        place["region"] = json!({ "startLine": line });
    }
    json!({ "physicalLocation": place })
}

/// A file: relative to the project where it lies in it, else by its whole path.
fn artifact(file: &Path, project: &Path) -> Value {
    let url = Url::from_file_path(file).ok();
    let base = Url::from_directory_path(project).ok().filter(|_| file.starts_with(project));
    let relative = base.zip(url.as_ref()).and_then(|(base, url)| base.make_relative(url));
    match (relative, url) {
        (Some(relative), _) => json!({ "uri": relative, "uriBaseId": "%SRCROOT%" }),
        (None, Some(url)) => json!({ "uri": url.as_str() }),
        (None, None) => json!({ "uri": LOCK_FILE, "uriBaseId": "%SRCROOT%" }),
    }
}

/// The line of the skill's entry in its lockfile; [`None`] where that cannot be read any more.
fn entry_line(problem: &Problem) -> Option<u32> {
    if problem.lockfile.file_name()? != LOCK_FILE {
        return None;
    }
    let text = std::fs::read_to_string(&problem.lockfile).ok()?;
    let wanted = format!("name = \"{}\"", problem.name);
    let line = text.lines().position(|line| line.trim() == wanted)?;
    u32::try_from(line + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn problem(lockfile: &Path, rule: bool) -> Problem {
        Problem {
            name: "acme/waitlist".parse().unwrap(),
            version: "1.2.0".parse().unwrap(),
            rule: rule.then_some("forbid-programs"),
            kind: (!rule).then_some("modified"),
            message: "what is wrong".to_owned(),
            file: Some("/etc/skillpkg/policy.toml".to_owned()),
            line: rule.then_some(3),
            level: if rule { Level::Error } else { Level::Warning },
            lockfile: lockfile.to_path_buf(),
            sort: Kind::Refused,
        }
    }

    /// What SARIF 2.1.0 requires of the parts that are written here.
    pub(super) fn check(log: &Value) {
        assert_eq!(log["version"], "2.1.0");
        for run in log["runs"].as_array().unwrap() {
            let driver = &run["tool"]["driver"];
            assert!(!driver["name"].as_str().unwrap().is_empty());
            let rules = driver["rules"].as_array().unwrap();
            let ids: Vec<&str> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
            let mut unique = ids.clone();
            unique.sort_unstable();
            unique.dedup();
            assert_eq!(unique.len(), ids.len(), "rules are unique");
            for rule in rules {
                assert!(!rule["shortDescription"]["text"].as_str().unwrap().is_empty());
            }
            for result in run["results"].as_array().unwrap() {
                let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
                assert_eq!(result["ruleId"], ids[index]);
                let level = result["level"].as_str().unwrap();
                assert!(["none", "note", "warning", "error"].contains(&level));
                assert!(!result["message"]["text"].as_str().unwrap().is_empty());
                let related = result["relatedLocations"].as_array().into_iter().flatten();
                let places = result["locations"].as_array().unwrap();
                assert!(!places.is_empty());
                for place in places.iter().chain(related) {
                    let place = &place["physicalLocation"];
                    let uri = place["artifactLocation"]["uri"].as_str().unwrap();
                    assert!(!uri.is_empty() && !uri.contains([' ', '\\']), "{uri}");
                    // One that is absolute has no base.
                    let is_based = place["artifactLocation"].get("uriBaseId").is_some();
                    assert_ne!(uri.starts_with("file:///"), is_based, "{uri}");
                    let line = &place["region"]["startLine"];
                    assert!(line.is_null() || line.as_u64().unwrap() >= 1);
                }
            }
        }
    }

    #[test]
    fn a_log_is_what_sarif_requires_and_points_at_the_lockfiles_entry() {
        let directory = tempfile::tempdir().unwrap();
        let lockfile = directory.path().join("skillpkg.lock");
        std::fs::write(&lockfile, "version = 1\n\n[[skill]]\nname = \"acme/waitlist\"\n").unwrap();
        let elsewhere = Path::new("/home/x y/global/skillpkg.lock");
        let problems =
            [problem(&lockfile, true), problem(&lockfile, false), problem(elsewhere, true)];
        let log = sarif(&problems, directory.path());
        check(&log);
        check(&sarif(&[], directory.path()));
        let own = Problem { file: Some("skillpkg.toml".to_owned()), ..problem(elsewhere, true) };
        let log_of_own = sarif(&[own], directory.path());
        let related = &log_of_own["runs"][0]["results"][0]["relatedLocations"][0];
        assert_eq!(
            related["physicalLocation"]["artifactLocation"]["uri"],
            "file:///home/x%20y/global/skillpkg.toml"
        );
        let results = log["runs"][0]["results"].as_array().unwrap();
        let place = &results[0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "skillpkg.lock");
        assert_eq!(place["region"]["startLine"], 4);
        let related = &results[0]["relatedLocations"][0]["physicalLocation"];
        assert_eq!(related["artifactLocation"]["uri"], "file:///etc/skillpkg/policy.toml");
        assert_eq!(related["region"]["startLine"], 3);
        assert!(results[1].get("relatedLocations").is_none());
        assert_eq!(results[1]["level"], "warning");
    }

    #[test]
    fn every_kind_that_is_told_has_a_description() {
        use crate::verification::ProblemKind;
        for kind in ProblemKind::ALL {
            if kind != ProblemKind::Policy {
                assert!(KINDS.iter().any(|(known, _)| *known == kind.as_str()), "{kind:?}");
            }
        }
    }
}
