//! Calls of scripts.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use skillpkg::Kind;
use skillpkg::host::{Arguments, CallError, Host, HostOptions};
use skillpkg::runner::{
    FailureKind, RunContext, RunFailure, RunOutput, Runner, RunnerSet, Script, ScriptReference,
    ScriptSource,
};
use skillpkg_schema::contract::schemars::{self, JsonSchema};
use skillpkg_schema::contract::{Contract, TypedContract};

use crate::support::{Machine, all, approved, texts, with_script};

fn words(words: &[&str]) -> Arguments {
    Arguments::from_words(words.iter().copied()).unwrap()
}

#[tokio::test]
async fn a_script_gets_the_effective_json_with_defaults_filled_in() {
    let machine = Machine::new();
    machine.activate(&texts(&with_script("cat", "")));
    let host = machine.host();
    for arguments in
        [words(&["inputFile=5"]), Arguments::Json(r#"{ "inputFile" : "5" }"#.to_owned())]
    {
        let outcome = host.call("data", "normalize", &arguments, &all).await.unwrap();
        let text = String::from_utf8(outcome.stdout).unwrap();
        assert_eq!(text, r#"{"inputFile":"5","maximumRows":10}"#);
        assert_eq!(outcome.argv, ["sh", "scripts/normalize.sh"]);
    }
}

#[tokio::test]
async fn arguments_that_do_not_bind_name_the_value_and_nothing_runs() {
    let machine = Machine::new();
    let mark = machine.mark("ran");
    machine.activate(&texts(&with_script(&format!("touch {}", mark.display()), "")));
    let arguments = words(&["inputFile=a", "maximumRows=101"]);
    let refused = machine.host().call("data", "normalize", &arguments, &all).await;
    let Err(CallError::Arguments { code, path, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!((code.as_str(), path.as_deref()), ("number_out_of_range", Some("/maximumRows")));
    assert!(!mark.exists());
}

#[tokio::test]
async fn permission_is_needed_at_each_call_unless_the_script_says_otherwise() {
    let machine = Machine::new();
    let mark = machine.mark("ran");
    let text = format!("touch {}", mark.display());
    machine.activate(&texts(&with_script(&text, "")));
    let arguments = words(&["inputFile=a"]);
    let refused = machine.host().call("data", "normalize", &arguments, &approved).await;
    let Err(CallError::Run(failure)) = refused else { panic!("{refused:?}") };
    assert_eq!(failure.kind, FailureKind::PermissionDenied);
    assert!(!mark.exists());
    machine.activate(&texts(&with_script(&text, r#","requiresPermission":false"#)));
    machine.host().call("data", "normalize", &arguments, &approved).await.unwrap();
    assert!(mark.exists());
}

#[tokio::test]
async fn the_bounds_of_a_script_are_its_own() {
    let machine = Machine::new();
    machine.activate(&texts(&with_script("head -c 101 /dev/zero", r#","maximumOutputBytes":100"#)));
    let arguments = words(&["inputFile=a"]);
    let refused = machine.host().call("data", "normalize", &arguments, &all).await;
    let Err(CallError::Run(failure)) = refused else { panic!("{refused:?}") };
    assert_eq!(failure.kind, FailureKind::OutputTooLarge);
    machine.activate(&texts(&with_script("sleep 300", r#","timeoutSeconds":1"#)));
    let refused = machine.host().call("data", "normalize", &arguments, &all).await;
    let Err(CallError::Run(failure)) = refused else { panic!("{refused:?}") };
    assert_eq!(failure.kind, FailureKind::TimedOut);
}

#[tokio::test]
async fn a_changed_script_never_runs() {
    let machine = Machine::new();
    let manifest = machine.activate(&texts(&with_script("echo honest", "")));
    let mark = machine.mark("ran");
    let planted = format!("touch {}", mark.display());
    machine.tamper(&manifest, "scripts/normalize.sh", &planted);
    let arguments = words(&["inputFile=a"]);
    let outcome = machine.host().call("data", "normalize", &arguments, &all).await.unwrap();
    assert_eq!(outcome.stdout, b"honest\n");
    machine.damage_blob(&manifest.file("scripts/normalize.sh").unwrap().sha256.address());
    machine.tamper(&manifest, "scripts/normalize.sh", &planted);
    let refused = machine.host().call("data", "normalize", &arguments, &all).await;
    assert!(
        matches!(refused, Err(CallError::Skill(ref error))
        if error.kind == Kind::Verification),
        "{refused:?}"
    );
    assert!(!mark.exists());
}

#[tokio::test]
async fn a_host_does_not_open_where_a_script_has_no_runner() {
    let mut machine = Machine::new();
    machine.activate(&texts(&with_script("cat", "")));
    machine.settings.runners.insert("shell".to_owned(), vec!["no-such-shell".to_owned()]);
    let refused = Host::open(HostOptions::new(machine.settings.clone())).unwrap_err();
    assert_eq!((refused.kind, refused.code.as_str()), (Kind::Requirement, "runner_unavailable"));
    for word in ["`data`", "`normalize`", "`no-such-shell` is not on your PATH"] {
        assert!(refused.message.contains(word), "{refused}");
    }
}

#[derive(JsonSchema, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Normalize {
    input_file: String,
    #[schemars(range(min = 1, max = 100))]
    #[serde(default = "ten")]
    maximum_rows: i64,
}

fn ten() -> i64 {
    10
}

/// Runs in the host's own process, with the typed value.
struct InProcess(TypedContract<Normalize>);

impl Runner for InProcess {
    fn name(&self) -> String {
        "in process".to_owned()
    }

    fn can_run(&self, script: &Script) -> bool {
        script.reference.runtime == "shell" || script.reference.runtime == "rust"
    }

    fn run<'a>(&'a self, context: RunContext<'a>) -> BoxFuture<'a, Result<RunOutput, RunFailure>> {
        Box::pin(async move {
            let input = context.typed(&self.0)?;
            Ok(RunOutput {
                exit: 0,
                stdout: format!("{} {}", input.input_file, input.maximum_rows).into_bytes(),
                stderr: Vec::new(),
                argv: Vec::new(),
                duration: std::time::Duration::ZERO,
            })
        })
    }
}

fn in_process(machine: &Machine) -> Host {
    let mut runners = RunnerSet::default();
    runners.add(Arc::new(InProcess(TypedContract::new().unwrap())));
    let mut options = HostOptions::new(machine.settings.clone());
    options.runners = Some(runners);
    Host::open(options).unwrap()
}

#[tokio::test]
async fn a_runner_of_the_host_gets_the_typed_value() {
    let machine = Machine::new();
    machine.activate(&texts(&with_script("cat", "")));
    let host = in_process(&machine);
    let outcome = host.call("data", "normalize", &words(&["inputFile=a"]), &all).await.unwrap();
    assert_eq!(outcome.stdout, b"a 10");
}

#[tokio::test]
async fn a_script_of_the_host_is_callable_while_its_skill_is_active() {
    let machine = Machine::new();
    let mut host = in_process(&machine);
    let contract = TypedContract::<Normalize>::new().unwrap().contract().clone();
    let source = ScriptSource::Embedded(Bytes::from_static(b"unused"));
    let reference = ScriptReference { runtime: "rust".to_owned(), source };
    let script = Script::new("tidy", "Tidies.", reference, contract);
    let skill = "data".parse().unwrap();
    host.add_script(&skill, script.clone()).unwrap();
    let twice = host.add_script(&skill, script).unwrap_err();
    assert_eq!(twice.code, "capability_conflict");
    let arguments = words(&["inputFile=a", "maximumRows=7"]);
    assert!(host.call("data", "tidy", &arguments, &all).await.is_err());
    machine.activate(&texts(&with_script("cat", "")));
    let outcome = host.call("data", "tidy", &arguments, &all).await.unwrap();
    assert_eq!(outcome.stdout, b"a 7");
}

#[tokio::test]
async fn a_script_of_another_contract_does_not_become_the_type() {
    let machine = Machine::new();
    let mut host = in_process(&machine);
    machine.activate(&texts(&with_script("cat", "")));
    let contract = Contract::compile(
        r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#,
    );
    let source = ScriptSource::Embedded(Bytes::from_static(b"unused"));
    let reference = ScriptReference { runtime: "rust".to_owned(), source };
    let script = Script::new("tidy", "Tidies.", reference, contract.unwrap());
    host.add_script(&"data".parse().unwrap(), script).unwrap();
    let refused = host.call("data", "tidy", &Arguments::none(), &all).await;
    assert!(
        matches!(refused, Err(CallError::Run(ref failure))
        if failure.kind == FailureKind::InvalidContent),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_script_of_the_host_without_a_runner_is_refused_when_it_is_added() {
    let machine = Machine::new();
    let mut host = machine.host();
    let source = ScriptSource::Uri("https://jobs.example/7".parse().unwrap());
    let reference = ScriptReference { runtime: "remote".to_owned(), source };
    let contract = TypedContract::<Normalize>::new().unwrap().contract().clone();
    let script = Script::new("job", "A job.", reference, contract);
    let refused = host.add_script(&"data".parse().unwrap(), script).unwrap_err();
    assert_eq!((refused.kind, refused.code.as_str()), (Kind::Requirement, "runner_unavailable"));
}
