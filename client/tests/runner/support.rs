//! A script in a directory of its own, and what a call of it needs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skillpkg::runner::{
    ProcessRunner, RunContext, RunFailure, RunOutput, Runner, Script, ScriptReference, ScriptSource,
};
use skillpkg_schema::contract::Contract;
use skillpkg_schema::{Sha256Digest, SkillPath};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) const EMPTY: &str =
    r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#;

/// A script file and the bounds of its run.
pub(crate) struct Case {
    pub(crate) directory: TempDir,
    pub(crate) script: Script,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) timeout: Duration,
    pub(crate) maximum_output_bytes: u64,
    pub(crate) cancellation: CancellationToken,
}

impl Case {
    /// A shell script with this text.
    pub(crate) fn shell(text: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path: SkillPath = "scripts/run.sh".parse().unwrap();
        std::fs::create_dir(directory.path().join("scripts")).unwrap();
        std::fs::write(directory.path().join(path.as_str()), text).unwrap();
        let source = ScriptSource::File {
            root: directory.path().to_path_buf(),
            path,
            address: Some(Sha256Digest::of(text.as_bytes()).address()),
        };
        Self {
            script: script("shell", source),
            directory,
            environment: BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]),
            timeout: Duration::from_secs(20),
            maximum_output_bytes: 1 << 20,
            cancellation: CancellationToken::new(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn context<'a>(&'a self, input: &'a str) -> RunContext<'a> {
        RunContext {
            script: &self.script,
            input,
            directory: self.path(),
            store: None,
            environment: &self.environment,
            timeout: self.timeout,
            maximum_output_bytes: self.maximum_output_bytes,
            cancellation: self.cancellation.clone(),
        }
    }

    pub(crate) async fn run(&self, input: &str) -> Result<RunOutput, RunFailure> {
        sh().run(self.context(input)).await
    }
}

pub(crate) fn script(runtime: &str, source: ScriptSource) -> Script {
    let reference = ScriptReference { runtime: runtime.to_owned(), source };
    Script::new("normalize", "Normalizes.", reference, Contract::compile(EMPTY).unwrap())
}

pub(crate) fn sh() -> ProcessRunner {
    ProcessRunner::new("shell", vec!["sh".to_owned()], &path())
}

pub(crate) fn path() -> Vec<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect()
}

/// Whether a process runs; one that has ended and was not reaped yet does not.
pub(crate) fn runs(process: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
}

/// Waits, for a few seconds at most, until a process no longer runs.
pub(crate) async fn ends(process: &str) -> bool {
    for _ in 0..300 {
        if !runs(process) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

/// The process number that a script wrote to a file, as soon as it is there.
pub(crate) async fn number_in(file: &Path) -> String {
    loop {
        match std::fs::read_to_string(file) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}
