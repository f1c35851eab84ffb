//! The runners that are configured, and which of them runs a script.

use std::fmt;
use std::sync::Arc;

use skillpkg_schema::diagnostic::escape;

use super::{FailureKind, RunFailure, Runner, Script};

/// Why no one runner stands for a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// None accepts it.
    #[error(
        "no configured runner runs the script `{}` (runtime `{}`){}",
        escape(.script),
        escape(.runtime),
        reasons(.runners)
    )]
    Unavailable {
        /// The script.
        script: String,
        /// Its runtime.
        runtime: String,
        /// Every runner, with why it cannot where that is known.
        runners: Vec<String>,
    },
    /// More than one accepts it.
    #[error(
        "{} runners would run the script `{}` (runtime `{}`): {}; exactly one must",
        .runners.len(),
        escape(.script),
        escape(.runtime),
        .runners.join(", ")
    )]
    Ambiguous {
        /// The script.
        script: String,
        /// Its runtime.
        runtime: String,
        /// Those that accept it.
        runners: Vec<String>,
    },
}

fn reasons(runners: &[String]) -> String {
    if runners.is_empty() {
        return "; none is configured".to_owned();
    }
    format!("; configured are {}", runners.join(", "))
}

impl From<SelectError> for RunFailure {
    fn from(error: SelectError) -> Self {
        Self::new(FailureKind::RunnerUnavailable, error.to_string())
    }
}

/// The runners of a host. Cheap to clone.
#[derive(Clone, Default)]
pub struct RunnerSet {
    runners: Vec<Arc<dyn Runner>>,
}

impl RunnerSet {
    /// Adds one.
    pub fn add(&mut self, runner: Arc<dyn Runner>) {
        self.runners.push(runner);
    }

    /// The one runner that accepts the script; none or several are an error that names them.
    pub fn select(&self, script: &Script) -> Result<&Arc<dyn Runner>, SelectError> {
        let able: Vec<&Arc<dyn Runner>> =
            self.runners.iter().filter(|runner| runner.can_run(script)).collect();
        match able.as_slice() {
            [one] => Ok(one),
            [] => Err(SelectError::Unavailable {
                script: script.name.clone(),
                runtime: script.reference.runtime.clone(),
                runners: self.runners.iter().map(|runner| with_reason(runner.as_ref())).collect(),
            }),
            several => Err(SelectError::Ambiguous {
                script: script.name.clone(),
                runtime: script.reference.runtime.clone(),
                runners: several.iter().map(|runner| runner.name()).collect(),
            }),
        }
    }
}

fn with_reason(runner: &dyn Runner) -> String {
    match runner.unable() {
        Some(reason) => format!("{} ({reason})", runner.name()),
        None => runner.name(),
    }
}

impl fmt::Debug for RunnerSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.runners.iter().map(|runner| runner.name())).finish()
    }
}
