//! Exactly one runner a script.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use skillpkg::Settings;
use skillpkg::runner::{
    FailureKind, ProcessRunner, RemoteRunner, RunFailure, RunnerSet, ScriptSource, SelectError,
};

use crate::support::{path, script, sh};

fn embedded(runtime: &str) -> skillpkg::runner::Script {
    script(runtime, ScriptSource::Embedded(Bytes::from_static(b"echo")))
}

fn settings() -> Settings {
    let mut settings = Settings::new(PathBuf::new(), PathBuf::new(), PathBuf::new());
    settings.path = path();
    settings
}

#[test]
fn the_one_runner_that_accepts_a_script_is_taken() {
    let runners = RunnerSet::configured(&settings()).unwrap();
    assert_eq!(runners.select(&embedded("shell")).unwrap().name(), "process `sh`");
}

#[test]
fn a_script_without_a_runner_names_itself_its_runtime_and_the_runners() {
    let runners = RunnerSet::configured(&settings()).unwrap();
    let error = runners.select(&embedded("cobol")).map(|_| ()).unwrap_err();
    let text = error.to_string();
    for word in ["`normalize`", "`cobol`", "process `sh`"] {
        assert!(text.contains(word), "{text}");
    }
    assert_eq!(RunFailure::from(error).kind, FailureKind::RunnerUnavailable);
}

#[test]
fn a_runner_whose_program_is_missing_does_not_count() {
    let mut settings = settings();
    settings.runners = BTreeMap::from([("shell".to_owned(), vec!["no-such-shell".to_owned()])]);
    let runners = RunnerSet::configured(&settings).unwrap();
    let error = runners.select(&embedded("shell")).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("`no-such-shell` is not on your PATH"), "{error}");
}

#[test]
fn two_runners_that_accept_a_script_are_refused_and_named() {
    let mut runners = RunnerSet::default();
    runners.add(Arc::new(sh()));
    runners.add(Arc::new(ProcessRunner::new(
        "shell",
        vec!["sh".to_owned(), "-e".to_owned()],
        &path(),
    )));
    let error = runners.select(&embedded("shell")).map(|_| ()).unwrap_err();
    assert!(matches!(error, SelectError::Ambiguous { .. }));
    assert!(error.to_string().contains("process `sh`, process `sh -e`"), "{error}");
}

#[test]
fn a_remote_runner_takes_the_place_of_the_built_in_one_and_not_of_a_configured_one() {
    let mut settings = settings();
    let url = "https://runner.example/run".parse().unwrap();
    settings.remote_runners = BTreeMap::from([("shell".to_owned(), url)]);
    let runners = RunnerSet::configured(&settings).unwrap();
    let chosen = runners.select(&embedded("shell")).unwrap();
    assert_eq!(chosen.name(), "remote `https://runner.example/run`");
    settings.runners = BTreeMap::from([("shell".to_owned(), vec!["sh".to_owned()])]);
    let runners = RunnerSet::configured(&settings).unwrap();
    let error = runners.select(&embedded("shell")).map(|_| ()).unwrap_err();
    assert!(matches!(error, SelectError::Ambiguous { .. }), "{error}");
}

#[test]
fn a_job_elsewhere_is_run_by_the_remote_runner_above_it_alone() {
    let mut runners = RunnerSet::default();
    runners.add(Arc::new(sh()));
    let url = "https://runner.example/jobs".parse().unwrap();
    runners.add(Arc::new(RemoteRunner::new("shell", url).unwrap()));
    for (job, accepted) in [
        ("https://runner.example/jobs/7", true),
        ("https://runner.example/jobs", true),
        ("https://runner.example/jobsite", false),
        ("https://runner.example/jobs/../admin", false),
        ("http://runner.example/jobs/7", false),
        ("https://other.example/jobs/7", false),
    ] {
        let script = script("shell", ScriptSource::Uri(job.parse().unwrap()));
        assert_eq!(runners.select(&script).is_ok(), accepted, "{job}");
    }
}

#[test]
fn a_remote_runner_speaks_http_and_shows_no_credentials() {
    for url in ["file:///run", "ftp://runner.example/"] {
        assert!(RemoteRunner::new("shell", url.parse().unwrap()).is_err(), "{url}");
    }
    let url = "https://user:secret@runner.example/run?token=secret#secret".parse().unwrap();
    let runner = RemoteRunner::new("shell", url).unwrap();
    let name = skillpkg::runner::Runner::name(&runner);
    assert_eq!(name, "remote `https://runner.example/run`");
}
