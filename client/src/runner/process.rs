//! A runner that starts a program, with the script as its last argument and the effective JSON on
//! its standard input.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use skillpkg_schema::diagnostic::escape;

use super::spawn::{RunBounds, Spawn};
use super::{FailureKind, RunContext, RunFailure, RunOutput, Runner, Script, ScriptSource};
use crate::activation::program;

/// Runs scripts of one runtime with a command such as `python3`.
#[derive(Debug, Clone)]
pub struct ProcessRunner {
    runtime: String,
    command: Vec<String>,
    program: Option<PathBuf>,
}

impl ProcessRunner {
    /// The runner of `runtime` with `command`: a program, which is an absolute path or a name in
    /// one of the directories `path`, and arguments that stand before the script's file.
    pub fn new(runtime: impl Into<String>, command: Vec<String>, path: &[PathBuf]) -> Self {
        let program = command.first().and_then(|name| program::on_machine(name, path));
        Self { runtime: runtime.into(), command, program }
    }

    /// The command, and the script's file as the skill names it.
    fn shown_argv(&self, script: &Script) -> Vec<String> {
        let mut argv = self.command.clone();
        if let ScriptSource::File { path, .. } = &script.reference.source {
            argv.push(path.to_string());
        }
        argv
    }
}

impl Runner for ProcessRunner {
    fn name(&self) -> String {
        let words: Vec<String> = self.command.iter().map(|word| escape(word)).collect();
        format!("process `{}`", words.join(" "))
    }

    fn can_run(&self, script: &Script) -> bool {
        self.program.is_some()
            && script.reference.runtime == self.runtime
            && !matches!(script.reference.source, ScriptSource::Uri(_))
    }

    fn unable(&self) -> Option<String> {
        if self.program.is_some() {
            return None;
        }
        Some(match self.command.first() {
            Some(name) => format!("`{}` is not on your PATH", escape(name)),
            None => "its command is empty".to_owned(),
        })
    }

    fn run<'a>(&'a self, context: RunContext<'a>) -> BoxFuture<'a, Result<RunOutput, RunFailure>> {
        Box::pin(async move {
            let program = self.program.as_deref().ok_or_else(|| {
                let reason = self.unable().unwrap_or_default();
                let message = format!("{} cannot start: {reason}", self.name());
                RunFailure::new(FailureKind::RunnerUnavailable, message)
            })?;
            let file = context.script_file()?;
            let mut arguments: Vec<std::ffi::OsString> =
                self.command.iter().skip(1).map(Into::into).collect();
            arguments.push(file.path().into());
            let spawn = Spawn {
                program,
                arguments: &arguments,
                directory: context.directory,
                environment: context.environment,
            };
            let bounds = RunBounds {
                timeout: Some(context.timeout),
                maximum_output_bytes: context.maximum_output_bytes,
                cancellation: context.cancellation.clone(),
            };
            let mut output = spawn.run(context.input.as_bytes(), &bounds).await?;
            output.argv = self.shown_argv(context.script);
            judge(&context, output)
        })
    }
}

/// A script's result is text, and comes with exit code 0.
fn judge(context: &RunContext<'_>, output: RunOutput) -> Result<RunOutput, RunFailure> {
    let script = escape(&context.script.name);
    if output.exit != 0 {
        let message = format!("the script `{script}` ended with exit code {}", output.exit);
        let failure = RunFailure::new(FailureKind::ExecutionFailed, message);
        return Err(RunFailure { output: Some(Box::new(output)), ..failure });
    }
    if std::str::from_utf8(&output.stdout).is_err() {
        let message = format!("the script `{script}` wrote what is not UTF-8 text");
        return Err(RunFailure::new(FailureKind::UnsupportedResult, message));
    }
    Ok(output)
}
