//! `skillpkg call`.

use std::time::Duration;

use futures_util::future::{BoxFuture, ready};
use serde::Serialize;
use skillpkg::host::{
    self, CallError, CallOptions, CallOutcome, CapabilityKind, Host, HostOptions, Permission,
    PermissionRequest, Streams,
};
use skillpkg::runner::{FailureKind, RunFailure, RunOutput};
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::{escape, escape_whole};
use skillpkg_schema::limits::MAX_ARGUMENT_BYTES;
use tokio_util::sync::CancellationToken;

use crate::candidates;
use crate::commands::input::read_stdin;
use crate::commands::told_to_end::told_to_end;
use crate::context::Context;
use crate::output::Output;

/// Run a tool or a script of an active skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg call waitlist access user=x@y.z

Exits with the exit code of what was run. Its standard input is empty for a tool and the \
arguments, as JSON, for a script.")]
pub(crate) struct Arguments {
    /// The active skill
    #[arg(add = candidates::installed())]
    name: String,
    /// The tool's id or the script's name
    #[arg(add = candidates::capabilities())]
    capability: String,
    /// Arguments, `name=value`; `-` reads a JSON object from stdin
    #[arg(value_name = "NAME=VALUE | -")]
    words: Vec<String>,
    /// Kill it after this many seconds; a script's own timeout can only be made shorter
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// For all projects of this user, in agents' global directories
    #[arg(short = 'g', long)]
    global: bool,
    /// Permit the call
    #[arg(short, long)]
    yes: bool,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Shape<'a> {
    exit: i32,
    stdout: String,
    stderr: String,
    argv: &'a [String],
    duration_ms: u64,
    /// Present where a script ended with another exit code than 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<serde_json::Value>,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let output = context.output;
    let given = given(&arguments.words)?;
    let mut options = HostOptions::new(context.settings.clone());
    options.global = arguments.global;
    // A skill that lacks a runner does not keep the others from being called.
    options.check_runners = false;
    let host = Host::open(options)?;
    let options = CallOptions {
        streams: if output.json { Streams::Captured } else { Streams::Inherited },
        timeout: arguments.timeout.map(Duration::from_secs),
        cancellation: cancelled_by_signals(),
        ..CallOptions::default()
    };
    let permission = Asking { output, yes: arguments.yes };
    let called =
        host.call_with(&arguments.name, &arguments.capability, &given, &permission, &options).await;
    match called {
        Ok(outcome) => tell(output, &outcome),
        Err(CallError::Run(RunFailure { output: Some(run), kind, message })) => {
            let error = Error::new(kind.kind(), kind.as_str(), message);
            tell_failed(output, &run, &error)
        }
        Err(CallError::Run(failure)) if failure.kind == FailureKind::PermissionDenied => {
            Err(Error::from(failure).with_hint("`-y` permits the call"))
        }
        Err(CallError::Run(failure)) if failure.kind == FailureKind::RunnerUnavailable => {
            Err(Error::from(failure).with_hint(
                "`[runners.RUNTIME]` in the user configuration sets what runs the scripts of a \
                 runtime: a command, or a URL",
            ))
        }
        Err(error) => Err(error.into()),
    }
}

fn given(words: &[String]) -> Result<host::Arguments, Error> {
    if words.iter().any(|word| word == "-") {
        if words.len() > 1 {
            let message = "`-` stands alone: all arguments come from stdin";
            return Err(Error::new(Kind::Usage, "argument_invalid", message));
        }
        let text = read_stdin("the arguments on stdin", MAX_ARGUMENT_BYTES as u64)?;
        return Ok(host::Arguments::Json(text));
    }
    host::Arguments::from_words(words.iter().map(String::as_str))
        .map_err(|error| Error { kind: Kind::Usage, ..Error::from(error) })
}

/// Asks a person before each call that the approval at activation does not cover.
struct Asking {
    output: Output,
    yes: bool,
}

impl Permission for Asking {
    fn permits<'a>(&'a self, request: &'a PermissionRequest) -> BoxFuture<'a, bool> {
        let permitted = request.approved || self.yes || self.asks(request);
        Box::pin(ready(permitted))
    }

    fn notice(&self, notice: &str) {
        self.output.warn(notice);
    }
}

impl Asking {
    fn asks(&self, request: &PermissionRequest) -> bool {
        if !self.output.can_ask() {
            return false;
        }
        let kind = match request.kind {
            CapabilityKind::Script => "the script",
            CapabilityKind::Tool | CapabilityKind::Resource => "the tool",
        };
        let runs = request.runs_text();
        let question = format!(
            "`{}` {} would run {kind} `{}`: {}\n  with {}\nRun it?",
            request.skill,
            request.version,
            escape(&request.capability),
            runs,
            escape_whole(&request.input)
        );
        self.output
            .confirm(&question, "nobody can be asked here", "`-y` permits the call")
            .unwrap_or(false)
    }
}

/// A token that is cancelled when this process is told to end, so that what it runs ends with it.
fn cancelled_by_signals() -> CancellationToken {
    let token = CancellationToken::new();
    let cancelled = token.clone();
    tokio::spawn(async move {
        told_to_end().await;
        cancelled.cancel();
    });
    token
}

fn tell(output: Output, outcome: &CallOutcome) -> Result<u8, Error> {
    output.json(&Shape {
        exit: outcome.exit,
        stdout: String::from_utf8_lossy(&outcome.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&outcome.stderr).into_owned(),
        argv: &outcome.argv,
        duration_ms: millis(outcome.duration),
        error: None,
    })?;
    output.streams(&outcome.stdout, &outcome.stderr)?;
    Ok(exit(outcome.exit))
}

/// A script that ran and failed: what it wrote is worth as much as that of one that did not.
fn tell_failed(output: Output, run: &RunOutput, error: &Error) -> Result<u8, Error> {
    output.json(&Shape {
        exit: run.exit,
        stdout: String::from_utf8_lossy(&run.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&run.stderr).into_owned(),
        argv: &run.argv,
        duration_ms: millis(run.duration),
        error: error.to_json().get("error").cloned(),
    })?;
    output.streams(&run.stdout, &run.stderr)?;
    Ok(exit(run.exit))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn exit(code: i32) -> u8 {
    u8::try_from(code).unwrap_or(1)
}
