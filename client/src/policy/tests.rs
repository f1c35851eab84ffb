//! What policies say, what is wrong with them, and that more of them never permit more.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use skillpkg_schema::finding::{Finding, FindingKind, Severity};
use skillpkg_schema::log::{NoteKey, SignatureKind};
use skillpkg_schema::signature::{KeyId, SigningKey};
use skillpkg_schema::{Manifest, Sha256Digest};

use super::parse::{policy, policy_of_project};
use super::*;

const NOW: &str = "2026-06-10T12:00:00Z";

fn key(digit: char) -> KeyId {
    digit.to_string().repeat(64).parse().unwrap()
}

/// The policies of these texts, on a machine with the built-in runners.
fn policies(texts: &[&str]) -> Policy {
    let files = texts.iter().enumerate().map(|(number, text)| {
        policy(text, &format!("{number}.toml"), Whose::Machine).unwrap_or_else(|error| {
            panic!("{text}: {error}");
        })
    });
    let settings = Settings::new("/h".into(), "/u".into(), "/p".into());
    Policy { files: files.collect(), runners: commands(&settings) }
}

/// A skill that a policy may forbid in every way.
#[derive(Debug)]
struct Sample {
    manifest: Manifest,
    url: Option<Url>,
    keys: Vec<KeyId>,
    published: Option<Timestamp>,
    prose: Vec<String>,
    findings: Vec<Finding>,
    before: Option<Manifest>,
}

impl Sample {
    fn new(name: &str, parts: &serde_json::Value) -> Self {
        Self {
            manifest: manifest(name, "1.2.0", parts),
            url: Some("https://skills.test".parse().unwrap()),
            keys: vec![key('1')],
            published: Some("2026-01-01T00:00:00Z".parse().unwrap()),
            prose: Vec::new(),
            findings: Vec::new(),
            before: None,
        }
    }

    fn told(&self, policy: &Policy) -> Vec<Violation> {
        let skill = Skill {
            manifest: &self.manifest,
            from: self.url.as_ref().map_or(From::File, From::Registry),
            keys: &self.keys,
            published: self.published,
            prose_commands: &self.prose,
            findings: &self.findings,
            before: self.before.as_ref().map_or(Before::Nothing, |one| Before::Version(one, &[])),
        };
        policy.violations(&skill, NOW.parse().unwrap())
    }
}

fn manifest(name: &str, version: &str, parts: &serde_json::Value) -> Manifest {
    let digest = "0".repeat(64);
    let mut whole = serde_json::json!({
        "schema": "skillpkg.manifest/1", "name": name, "version": version,
        "description": "A skill of a test.", "dialect": "hard",
        "files": [{ "path": "SKILL.md", "mode": "644", "size": 1, "sha256": digest,
            "blake3": digest }],
        "tools": [], "resources": [], "scripts": [], "programs": [], "requires": {}, "metadata": {},
    });
    for (key, value) in parts.as_object().unwrap() {
        whole[key] = value.clone();
    }
    serde_json::from_value(whole).unwrap()
}

fn tool(id: &str, run: &[&str]) -> serde_json::Value {
    serde_json::json!({ "id": id, "description": "", "run": run,
        "schema": r#"{"additionalProperties":false,"properties":{},"required":[],"type":"object"}"# })
}

fn script(name: &str, runtime: &str) -> serde_json::Value {
    serde_json::json!({ "name": name, "description": "", "path": format!("scripts/{name}"),
        "runtime": runtime, "contract": "{}", "fingerprint": Sha256Digest::of(b"{}").to_string(),
        "requiresPermission": false, "timeoutSeconds": 30, "maximumOutputBytes": 1000 })
}

/// What each rule forbids, with the code and the line that tell it.
#[test]
fn each_rule_forbids_what_it_names_and_nothing_else() {
    let ones = "1".repeat(64);
    let parts = serde_json::json!({
        "tools": [tool("fetch", &["curl", "-s", "$url"]), tool("wrapped", &["env", "jq", "."])],
        "scripts": [script("normalize", "python"), script("sum", "shell")],
        "requires": { "all": ["gh"] },
        "metadata": { "hooks": "notify-send hello" },
    });
    let mut sample = Sample::new("acme/waitlist", &parts);
    sample.prose.push("git diff | less".to_owned());
    for (text, code) in [
        ("registries = [\"https://skills.test/\"]", None),
        ("registries = [\"https://other.test\"]", Some("policy_registry")),
        ("registries = [\"file:\"]", Some("policy_registry")),
        ("registries = []", Some("policy_registry")),
        ("scopes = [\"acme\"]", None),
        ("scopes = [\"_\", \"other\"]", Some("policy_scope")),
        (&format!("[signers]\nacme = [\"{ones}\"]"), None),
        (&format!("[signers]\nother = [\"{}\"]", "2".repeat(64)), None),
        (&format!("[signers]\nacme = [\"{}\"]", "2".repeat(64)), Some("policy_signer")),
        (&format!("[signers]\n\"*\" = [\"{}\"]", "2".repeat(64)), Some("policy_signer")),
        (&format!("[signers]\n\"*\" = []\nacme = [\"{ones}\"]"), None),
        (&format!("[signers]\nacme = [\"{ones}\"]\n\"acme/waitlist\" = []"), Some("policy_signer")),
        ("minimum-release-age = \"3d\"", None),
        ("minimum-release-age = \"52w\"", Some("policy_release_age")),
        ("forbid-programs = [\"wget\", \"waitlist\"]", None),
        ("forbid-programs = [\"wget\", \"curl\"]", Some("policy_program")),
        ("forbid-programs = [\"CURL.exe\"]", Some("policy_program")),
        ("forbid-programs = [\"jq\"]", Some("policy_program")),
        ("forbid-programs = [\"gh\"]", Some("policy_program")),
        ("forbid-programs = [\"less\"]", Some("policy_program")),
        ("forbid-programs = [\"sh\"]", Some("policy_program")),
        ("forbid-programs = [\"python3\"]", Some("policy_program")),
        ("forbid-runners = [\"wasm\"]", None),
        ("forbid-runners = [\"python\"]", Some("policy_runner")),
        ("forbid-runners = [\"sh\"]", Some("policy_runner")),
        ("forbid-run = ['\\bwget\\b']", None),
        ("forbid-run = ['^curl .*\\$url$']", Some("policy_run")),
        ("forbid-run = ['git diff']", Some("policy_run")),
        ("forbid-run = ['notify-send']", Some("policy_run")),
        ("new-executables = \"refuse\"", None),
        ("[findings]\nhidden-text = \"refuse\"", None),
        ("require-log = true\nmaximum-checkpoint-age = \"7d\"", None),
    ] {
        let told = sample.told(&policies(&[text]));
        let codes: Vec<&str> = told.iter().map(|one| one.rule.code()).collect();
        match code {
            None => assert_eq!(codes, Vec::<&str>::new(), "{text}: {told:?}"),
            Some(code) => {
                assert!(
                    !codes.is_empty() && codes.iter().all(|one| *one == code),
                    "{text}: {told:?}"
                );
                let error = refuse(&told).unwrap_err();
                assert_eq!((error.kind, error.code.as_str()), (Kind::Refused, code));
                assert_eq!(error.file.as_deref(), Some("0.toml"), "{text}");
                assert!(error.line.is_some_and(|line| line >= 1), "{text}");
                // The rule is named, and what met it.
                assert!(error.message.contains(told[0].rule.key()), "{text}: {error}");
                assert!(error.message.contains("acme/waitlist"), "{text}: {error}");
            }
        }
    }
}

#[test]
fn an_archive_in_a_file_comes_from_no_registry() {
    let mut sample = Sample::new("waitlist", &serde_json::json!({}));
    (sample.url, sample.published) = (None, None);
    let told = sample.told(&policies(&["registries = [\"https://skills.test\"]"]));
    assert!(refuse(&told).unwrap_err().hint.unwrap().contains("`file:`"));
    assert_eq!(sample.told(&policies(&["registries = [\"file:\"]\nscopes = [\"_\"]"])), []);
    // It has no time of publication, and a registry's rule is not its.
    assert_eq!(sample.told(&policies(&["minimum-release-age = \"3d\""])), []);
}

#[test]
fn a_release_is_young_until_its_time_has_come_and_one_of_no_known_time_stays_so() {
    let mut sample = Sample::new("waitlist", &serde_json::json!({}));
    let policy = policies(&["\n\nminimum-release-age = \"3d\""]);
    let now: Timestamp = NOW.parse().unwrap();
    for (hours, young) in [(71, true), (72, false), (73, false), (-1, true)] {
        sample.published = Some(now - SignedDuration::from_hours(hours));
        assert_eq!(!sample.told(&policy).is_empty(), young, "{hours}");
    }
    sample.published = Some(now - SignedDuration::from_hours(1));
    let error = refuse(&sample.told(&policy)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "0.toml:3: `waitlist@1.2.0` was published at 2026-06-10T11:00:00Z; with \
         `minimum-release-age` of `3d` it is old enough at 2026-06-13T11:00:00Z\n  hint: wait until \
         then, or take an earlier version that is old enough: `skillpkg show waitlist` tells when each \
         was published"
    );
    sample.published = None;
    assert_eq!(refuse(&sample.told(&policy)).unwrap_err().code, "policy_release_age");
}

#[test]
fn an_update_may_not_add_what_runs_where_that_is_refused() {
    let parts = serde_json::json!({ "tools": [tool("go", &["true"])] });
    let mut sample = Sample::new("waitlist", &parts);
    let policy = policies(&["new-executables = \"refuse\""]);
    sample.before = Some(manifest("waitlist", "1.1.0", &parts));
    assert_eq!(sample.told(&policy), []);
    sample.before = Some(manifest("waitlist", "1.1.0", &serde_json::json!({})));
    let error = refuse(&sample.told(&policy)).unwrap_err();
    assert_eq!(error.code, "policy_executables");
    assert!(error.message.contains("adds to 1.1.0: tool `go` is new"), "{error}");
    assert_eq!(sample.told(&policies(&["new-executables = \"ask\""])), []);
    sample.before = Some(manifest("waitlist", "1.1.0", &parts));
    sample.prose.push("id".to_owned());
    assert_eq!(refuse(&sample.told(&policy)).unwrap_err().code, "policy_executables");
}

#[test]
fn a_finding_is_refused_where_its_kind_is_and_no_policy_makes_one_milder() {
    let mut sample = Sample::new("waitlist", &serde_json::json!({}));
    sample.findings.push(Finding {
        file: "SKILL.md".to_owned(),
        line: Some(3),
        column: None,
        kind: FindingKind::FetchAndRun,
        message: "a shell runs what is fetched".to_owned(),
        excerpt: None,
    });
    let refused = policies(&["[findings]\nfetch-and-run = \"refuse\""]);
    let error = refuse(&sample.told(&refused)).unwrap_err();
    assert_eq!((error.code.as_str(), error.line), ("policy_finding", Some(2)));
    assert!(error.message.contains("SKILL.md:3: a shell runs what is fetched"), "{error}");
    let milder = policies(&["[findings]\nfetch-and-run = \"warn\"\nhidden-text = \"warn\""]);
    assert_eq!(sample.told(&milder), []);
    assert_eq!(milder.severity(FindingKind::HiddenText), (Severity::Refuse, None));
    let (severity, place) = refused.severity(FindingKind::FetchAndRun);
    assert_eq!((severity, place.map(|place| place.line)), (Severity::Refuse, Some(2)));
}

#[test]
fn everything_that_is_forbidden_of_a_skill_is_told_at_once() {
    let parts = serde_json::json!({ "tools": [tool("fetch", &["curl", "x"])] });
    let sample = Sample::new("acme/waitlist", &parts);
    let text = "registries = []\nscopes = []\nforbid-programs = [\n  \"wget\",\n  \"curl\",\n]\n";
    let error = refuse(&sample.told(&policies(&[text, "forbid-run = [\"curl\"]"]))).unwrap_err();
    let told: Vec<(String, Option<String>, Option<u32>)> = error
        .faults
        .iter()
        .map(|fault| (fault.code.clone(), fault.file.clone(), fault.line))
        .collect();
    let place = |code: &str, file: &str, line| (code.to_owned(), Some(file.to_owned()), Some(line));
    assert_eq!(
        told,
        [
            place("policy_registry", "0.toml", 1),
            place("policy_scope", "0.toml", 2),
            place("policy_program", "0.toml", 5),
            place("policy_run", "1.toml", 1),
        ]
    );
}

#[test]
fn what_a_call_decides_is_held_against_the_policy_at_the_call() {
    let policy = policies(&["forbid-programs = [\"curl\"]\nforbid-run = ['rm -rf']"]);
    let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
    for (run, argv, told) in [
        ("$program $x", "curl x", 1),
        ("$program $x", "rm -rf", 1),
        ("env $program", "env curl", 1),
        ("sh -c $text", "sh -c curl", 1),
        ("$program", "jq", 0),
        // A value is no program where the run line does not make it one.
        ("echo $word", "echo curl", 0),
        ("sh handle.sh $user", "sh handle.sh curl", 0),
    ] {
        let found = policy.call("`x@1.0.0`", &words(run), &words(argv));
        assert_eq!(found.len(), told, "{run} / {argv}: {found:?}");
    }
    let policy = policies(&["forbid-programs = [\"dash\"]\nforbid-runners = [\"wasmtime\"]"]);
    assert_eq!(policy.script_call("x", "process `/bin/dash -e`").len(), 1);
    assert_eq!(policy.script_call("x", "process `wasmtime run`").len(), 1);
    assert_eq!(policy.script_call("x", "process `python3`"), []);
}

/// The key of a witness of this name.
fn witness(name: &str) -> NoteKey {
    let key = SigningKey::generate().unwrap().public();
    NoteKey::new(name, SignatureKind::Cosignature, key).unwrap()
}

#[test]
fn a_witness_is_named_by_the_key_it_cosigns_with_and_once() {
    let (one, two) = (witness("a"), witness("b"));
    let note = NoteKey::new("n", SignatureKind::Ed25519, *one.key()).unwrap();
    let again = NoteKey::new("c", SignatureKind::Cosignature, *one.key()).unwrap();
    for (keys, quorum, said) in [
        (vec![&one, &two], "1", None),
        (vec![&one, &two], "2", None),
        (vec![&one, &two], "3", Some("a number from 1 to 2")),
        (vec![&one, &two], "0", Some("a number from 1 to 2")),
        (vec![&one, &two], "-1", Some("a number from 1 to 2")),
        (vec![&one, &two], "\"1\"", Some("a number from 1 to 2")),
        (vec![&one, &again], "1", Some("has the key of `c` twice")),
        (vec![&note], "1", Some("not one with which a witness cosigns")),
    ] {
        let keys: Vec<String> = keys.into_iter().map(NoteKey::to_string).collect();
        let text = format!("witnesses = {keys:?}\nquorum = {quorum}\n");
        match (policy(&text, "policy.toml", Whose::Machine), said) {
            (Ok(file), None) => assert_eq!(file.witnesses.unwrap().quorum.to_string(), quorum),
            (Err(faults), Some(said)) => assert!(faults.to_string().contains(said), "{faults}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }
}

#[test]
fn the_rules_of_logs_are_the_strictest_of_each_policy() {
    let witness = |name: &str| witness(name).to_string();
    let one = format!(
        "maximum-checkpoint-age = \"7d\"\nwitnesses = [\"{}\", \"{}\"]\nquorum = 1\n\
         require-log = false",
        witness("a"),
        witness("b")
    );
    let two = format!(
        "maximum-checkpoint-age = \"12h\"\nrequire-log = true\nwitnesses = [\"{}\"]",
        witness("c")
    );
    let policy = policies(&[&one, &two]);
    let (age, place) = policy.maximum_checkpoint_age().unwrap();
    assert_eq!((age.to_string().as_str(), &*place.file), ("12h", "1.toml"));
    let quorums: Vec<(usize, usize)> =
        policy.witnesses().map(|one| (one.keys.len(), one.quorum)).collect();
    assert_eq!(quorums, [(2, 1), (1, 1)]);
    assert_eq!(policy.require_log().map(|place| place.line), Some(2));
    assert!(!policy.rules_skills());
    let none = Policy::default();
    assert!(none.is_empty() && none.maximum_checkpoint_age().is_none());
    assert!(none.require_log().is_none() && none.witnesses().next().is_none());
}

#[test]
fn a_policy_that_is_wrong_is_refused_with_its_place() {
    let vectors = include_str!("vectors/wrong.txt");
    let mut count = 0;
    for vector in vectors.split("\n====\n") {
        let (text, expected) = vector.split_once("\n----\n").unwrap();
        let faults = policy(text, "policy.toml", Whose::Machine)
            .err()
            .unwrap_or_else(|| panic!("taken: {text}"));
        let told: Vec<String> = faults.diagnostics().iter().map(ToString::to_string).collect();
        assert_eq!(told.join("\n"), expected.trim_end(), "{text}");
        let error = invalid(faults);
        assert_eq!((error.kind, error.code.as_str()), (Kind::Refused, "policy_invalid"));
        assert!(error.line.is_some() && error.column.is_some());
        count += 1;
    }
    assert!(count > 20);
}

#[test]
fn a_projects_policy_is_a_table_of_its_file() {
    let read = |text: &str| policy_of_project(text, "skillpkg.toml");
    for text in ["", "[skills]\nwaitlist = \"1\"\n", "not TOML", "[skills]\npolicy = \"1\"\n"] {
        assert!(read(text).unwrap().is_none(), "{text}");
    }
    let found = read("[skills]\n[policy]\nscopes = [\"acme\"]\n[policy.signers]\n_ = []\n");
    let shown = found.unwrap().unwrap().shown();
    assert_eq!(shown[0].2, Place { file: "skillpkg.toml".into(), line: 3 });
    assert_eq!((shown[1].0, shown[1].2.line), (Rule::Signers, 5));
    // A key that is spelt with an escape is the same key.
    assert!(read("[\"\\u0070olicy\"]\nrequire-log = true\n").unwrap().is_some());
    for (text, line) in [("policy = 1", 1), ("\n[policy]\nscope = []", 3), ("policy = [", 1)] {
        let faults = read(text).unwrap_err();
        assert_eq!(faults.first().line, Some(line), "{text}: {faults}");
    }
}

#[test]
fn the_rules_in_force_are_shown_as_they_are_written() {
    let text = format!(
        "registries = [\"https://a.test\", \"file:\"]\nscopes = [\"acme\", \"_\"]\n\
         minimum-release-age = \"72h\"\nforbid-run = ['\\bcurl\\b']\nnew-executables = \"refuse\"\n\
         [signers]\n\"*\" = [\"{}\"]\n[findings]\nsecret = \"refuse\"\n",
        "1".repeat(64)
    );
    let rules = policies(&[&text]).rules();
    let shown: Vec<String> =
        rules.iter().map(|one| format!("{}: {} {}", one.rule, one.value, one.place.line)).collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    registries: ["https://a.test", "file:"] 1
    scopes: ["acme", "_"] 2
    signers: "*" = ["1111111111111111111111111111111111111111111111111111111111111111"] 7
    minimum-release-age: "3d" 3
    forbid-run: "\bcurl\b" 4
    new-executables: "refuse" 5
    findings: secret = "refuse" 9
    "#);
}

#[test]
fn a_policy_is_read_from_where_the_settings_say_and_one_that_is_wrong_refuses() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::create_dir(at("project")).unwrap();
    let mut settings = Settings::new(at("home"), at("user"), at("project"));
    let sources: [PathBuf; 2] = [at("machine.toml"), at("user.toml")];
    settings.policies = vec![
        PolicySource::new(sources[0].clone(), Whose::Machine),
        PolicySource::new(sources[1].clone(), Whose::User),
    ];
    let read = || Policy::of_project(&settings, &at("project"));
    assert!(read().unwrap().is_empty());
    std::fs::write(&sources[1], "scopes = [\"acme\"]").unwrap();
    std::fs::write(at("project/skillpkg.toml"), "[policy]\nrequire-log = true\n").unwrap();
    let whose: Vec<Whose> = read().unwrap().rules().iter().map(|rule| rule.whose).collect();
    assert_eq!(whose, [Whose::User, Whose::Project]);
    assert_eq!(Policy::of_user(&settings).unwrap().rules().len(), 1);
    std::fs::write(&sources[0], "\nscope = [\"acme\"]").unwrap();
    let error = read().unwrap_err();
    assert_eq!((error.kind, error.code.as_str()), (Kind::Refused, "policy_invalid"));
    assert_eq!((error.file.as_deref(), error.line), (sources[0].to_str(), Some(2)));
    assert!(error.hint.unwrap().contains("did you mean `scopes`?"));
}

/// One rule of any kind, as text.
fn rule() -> impl Strategy<Value = String> {
    let severity = prop_oneof![Just("refuse"), Just("warn")];
    prop_oneof![
        prop::sample::subsequence(vec!["https://skills.test", "https://b.test", "file:"], 0..=3)
            .prop_map(|all| format!("registries = {all:?}")),
        prop::sample::subsequence(vec!["acme", "_", "other"], 0..=3)
            .prop_map(|all| format!("scopes = {all:?}")),
        (prop_oneof![Just("*"), Just("acme"), Just("acme/waitlist"), Just("_")], "[1-3]").prop_map(
            |(whom, digit)| format!("signers = {{\"{whom}\" = [{:?}]}}", digit.repeat(64))
        ),
        "[0-9]{1,3}[hdw]".prop_map(|age| format!("minimum-release-age = \"{age}\"")),
        prop::sample::subsequence(vec!["curl", "jq", "sh", "env", "wget"], 0..=5)
            .prop_map(|all| format!("forbid-programs = {all:?}")),
        prop::sample::subsequence(vec!["python", "shell", "node"], 0..=3)
            .prop_map(|all| format!("forbid-runners = {all:?}")),
        prop::sample::subsequence(vec!["curl", "^jq", "x$", "git"], 0..=4)
            .prop_map(|all| format!("forbid-run = {all:?}")),
        prop_oneof![Just("ask"), Just("refuse")]
            .prop_map(|what| format!("new-executables = \"{what}\"")),
        severity.prop_map(|what| format!("findings = {{secret = \"{what}\"}}")),
        any::<bool>().prop_map(|required| format!("require-log = {required}")),
    ]
}

/// A policy: some rules, each key once.
fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(rule(), 0..5).prop_map(|rules| {
        let by_key: BTreeMap<String, String> = rules
            .into_iter()
            .filter_map(|rule| Some((rule.split_once(" =")?.0.to_owned(), rule)))
            .collect();
        by_key.into_values().collect::<Vec<_>>().join("\n")
    })
}

fn sample() -> impl Strategy<Value = Sample> {
    let names = prop_oneof![Just("acme/waitlist"), Just("waitlist"), Just("other/x")];
    let runs = prop::sample::subsequence(vec!["curl x", "jq .", "env sh x", "true"], 0..=4);
    let scripts = prop::sample::subsequence(vec!["python", "shell"], 0..=2);
    let sources =
        prop_oneof![Just(Some("https://skills.test")), Just(Some("https://b.test")), Just(None)];
    let rest = (any::<bool>(), any::<bool>(), any::<bool>(), 0i64..2000, "[1-3]");
    (names, runs, scripts, sources, rest).prop_map(|(name, runs, scripts, source, rest)| {
        let (found, prose, updates, hours, digit) = rest;
        let tools: Vec<serde_json::Value> = runs
            .iter()
            .enumerate()
            .map(|(at, run)| tool(&format!("t{at}"), &run.split(' ').collect::<Vec<_>>()))
            .collect();
        let scripts: Vec<serde_json::Value> =
            scripts.iter().map(|runtime| script(&format!("s-{runtime}"), runtime)).collect();
        let mut sample =
            Sample::new(name, &serde_json::json!({ "tools": tools, "scripts": scripts }));
        sample.url = source.map(|url| url.parse().unwrap());
        sample.keys = vec![key(digit.chars().next().unwrap())];
        let now: Timestamp = NOW.parse().unwrap();
        sample.published = Some(now - SignedDuration::from_hours(hours));
        sample.prose.extend(prose.then(|| "git diff".to_owned()));
        sample.before = updates.then(|| manifest(name, "1.0.0", &serde_json::json!({})));
        sample.findings.extend(found.then(|| Finding {
            file: "SKILL.md".to_owned(),
            line: None,
            column: None,
            kind: FindingKind::Secret,
            message: "a key".to_owned(),
            excerpt: None,
        }));
        sample
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_policy_more_never_permits_more(
        some in prop::collection::vec(text(), 0..3),
        more in text(),
        at in any::<prop::sample::Index>(),
        sample in sample(),
    ) {
        let before: Vec<&str> = some.iter().map(String::as_str).collect();
        let mut after = before.clone();
        after.insert(at.index(before.len() + 1), &more);
        let (before, after) = (policies(&before), policies(&after));
        let (told, tells) = (sample.told(&before), sample.told(&after));
        // Whatever was forbidden is, in the same words; whatever more is, is of the one that came.
        for violation in &told {
            prop_assert!(tells.iter().any(|one| one.message == violation.message));
        }
        let alone = sample.told(&policies(&[&more]));
        prop_assert_eq!(tells.len(), told.len() + alone.len());
        for kind in FindingKind::ALL {
            prop_assert!(after.severity(kind).0 >= before.severity(kind).0);
            prop_assert!(after.severity(kind).0 >= kind.default_severity());
        }
        prop_assert!(after.require_log().is_some() || before.require_log().is_none());
    }

    #[test]
    fn no_text_makes_it_panic(text in "[a-z\\[\\]=\"'{}.,*_/ 0-9\\n#\u{e9}\\\\-]{0,80}") {
        let _ = policy(&text, "policy.toml", Whose::User);
        let _ = policy_of_project(&text, "skillpkg.toml");
    }
}

#[test]
fn a_policy_that_would_permit_a_finding_is_refused_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("policy.toml");
    let settings = Settings {
        policies: vec![PolicySource::new(file.clone(), Whose::User)],
        ..Settings::new(directory.path().into(), directory.path().into(), directory.path().into())
    };
    std::fs::write(&file, "[findings]\nsecret = \"allow\"\n").unwrap();
    let error = Policy::of_user(&settings).unwrap_err();
    assert_eq!((error.code.as_str(), error.line), ("policy_invalid", Some(2)));
    assert!(error.message.contains("permits nothing"), "{error}");
    std::fs::write(&file, "[findings]\nsecret = \"warn\"\n").unwrap();
    assert!(Policy::of_user(&settings).is_ok());
}
