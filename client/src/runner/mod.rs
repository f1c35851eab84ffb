//! Runners: what runs a script, with JSON on its standard input.
//!
//! A skill brings scripts, never the means to run them: a host configures runners, and activation
//! fails unless exactly one of them accepts each script. Activating runs nothing.

mod configured;
mod content;
mod failure;
mod group;
mod process;
mod remote;
mod script;
mod set;
mod spawn;

pub(crate) use configured::commands;
pub use failure::{FailureKind, RunFailure};
pub use process::ProcessRunner;
pub use remote::RemoteRunner;
pub use script::{Script, ScriptReference, ScriptSource};
pub use set::{RunnerSet, SelectError};
pub use spawn::{RunBounds, Spawn};

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use skillpkg_schema::contract::TypedContract;
use skillpkg_schema::contract::schemars::JsonSchema;
use skillpkg_store::content::Store;
use tokio_util::sync::CancellationToken;

/// Runs scripts of the runtimes it knows.
pub trait Runner: Send + Sync {
    /// What it is called where runners are listed, such as ``process `python3` ``.
    fn name(&self) -> String;

    /// Whether it can run the script here and now; a runner whose program is missing cannot.
    ///
    /// Asked when a skill is activated and before each call. Runs nothing.
    fn can_run(&self, script: &Script) -> bool;

    /// Why it cannot run any script, in a few words, where that is known.
    fn unable(&self) -> Option<String> {
        None
    }

    /// Runs the script that the context names.
    ///
    /// The input reaches it as JSON on standard input or as a request's body, never in argv, the
    /// environment or a shell line. Dropping the future ends whatever was started.
    fn run<'a>(&'a self, context: RunContext<'a>) -> BoxFuture<'a, Result<RunOutput, RunFailure>>;
}

/// Everything that a runner gets for one call.
#[derive(Debug, Clone)]
pub struct RunContext<'a> {
    /// What is run.
    pub script: &'a Script,
    /// The effective JSON: validated, defaults filled in, in the contract's order. What a runner
    /// hands on is exactly this text.
    pub input: &'a str,
    /// The snapshot's files, which are the working directory; read-only, and a private copy where
    /// the snapshot is not too large for one.
    pub directory: &'a Path,
    /// The content store, for scripts that are found there.
    pub store: Option<&'a Store>,
    /// The whole environment of what is started.
    pub environment: &'a BTreeMap<String, String>,
    /// Longest run.
    pub timeout: Duration,
    /// Most bytes of output, standard output and standard error together.
    pub maximum_output_bytes: u64,
    /// Ends the run when cancelled.
    pub cancellation: CancellationToken,
}

impl RunContext<'_> {
    /// The input as the type whose contract the script has.
    ///
    /// Fails where the script's contract is another one, and where the type refuses what the
    /// contract takes.
    pub fn typed<T: JsonSchema + DeserializeOwned>(
        &self,
        contract: &TypedContract<T>,
    ) -> Result<T, RunFailure> {
        let invalid = |reason: String| RunFailure::new(FailureKind::InvalidContent, reason);
        contract.matches(&self.script.contract).map_err(|error| invalid(error.to_string()))?;
        let bound = contract.bind(self.input);
        bound.map(|(_, value)| value).map_err(|error| invalid(error.to_string()))
    }
}

/// What a run that came to its end gave back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutput {
    /// The exit code; 128 and the signal's number where a signal ended it.
    pub exit: i32,
    /// What it wrote to standard output, or the answer's body.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
    /// What was started, word by word; empty where nothing was, as by a service.
    pub argv: Vec<String>,
    /// From start to end.
    pub duration: Duration,
}
