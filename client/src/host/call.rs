//! Calls of tools and scripts.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use skillpkg_schema::capability::{DEFAULT_MAXIMUM_OUTPUT_BYTES, DEFAULT_TIMEOUT};
use skillpkg_schema::diagnostic::{escape, escape_whole};
use skillpkg_schema::json::Json;
use skillpkg_schema::skill::{self, Answer, Call};

use super::environment::environment;
use super::snapshot::Snapshot;
use super::workplace::Workplace;
use super::{
    Arguments, CallError, CallOptions, CallOutcome, CapabilityKind, Host, Permission,
    PermissionRequest, Streams,
};
use crate::activation::program;
use crate::policy::refuse;
use crate::runner::{
    FailureKind, RunBounds, RunContext, RunFailure, RunOutput, Script, ScriptSource, Spawn,
};
use crate::{Error, Kind};

impl Host {
    /// Calls a tool or a script of an active skill, its output taken.
    ///
    /// In this order: the arguments are read; permission is asked; the snapshot is re-hashed, what
    /// is changed in it made whole from the store or the call refused; the program or the runner
    /// is found; it runs in a process group of its own, in a private copy of the snapshot, with the
    /// user's environment less our secrets. A snapshot too large to be copied for a call runs from
    /// its own directory.
    pub async fn call(
        &self,
        skill: &str,
        capability: &str,
        arguments: &Arguments,
        permission: &dyn Permission,
    ) -> Result<CallOutcome, CallError> {
        self.call_with(skill, capability, arguments, permission, &CallOptions::default()).await
    }

    /// [`Host::call`], with options.
    pub async fn call_with(
        &self,
        skill: &str,
        capability: &str,
        arguments: &Arguments,
        permission: &dyn Permission,
        options: &CallOptions,
    ) -> Result<CallOutcome, CallError> {
        let (moment, snapshot) = self.active_at(skill)?;
        self.check_approved(&snapshot)?;
        tell(
            &moment.standing(&snapshot).told(&snapshot.manifest.name, &snapshot.manifest.version),
            permission,
        );
        if snapshot.manifest.tools.iter().any(|tool| tool.id == capability) {
            return self.call_tool(&snapshot, capability, arguments, permission, options).await;
        }
        let own = snapshot.scripts()?;
        let added = self.added.get(&snapshot.manifest.name);
        let added = added.into_iter().flat_map(|added| &added.scripts);
        if let Some(script) = own.iter().chain(added).find(|script| script.name == capability) {
            return self.call_script(&snapshot, script, arguments, permission, options).await;
        }
        let kinds = [CapabilityKind::Tool, CapabilityKind::Script];
        Err(self.no_capability(&snapshot, capability, &kinds)?.into())
    }

    fn check_approved(&self, snapshot: &Snapshot) -> Result<(), Error> {
        let manifest = &snapshot.manifest;
        if self.state.is_approved(&manifest.address())? {
            return Ok(());
        }
        let message = format!(
            "what `{}` {} runs was not approved on this machine",
            manifest.name, manifest.version
        );
        Err(Error::new(Kind::Refused, "approval_required", message)
            .with_hint(format!("`skillpkg activate {}` shows it and asks", manifest.name)))
    }

    async fn call_tool(
        &self,
        snapshot: &Snapshot,
        id: &str,
        arguments: &Arguments,
        permission: &dyn Permission,
        options: &CallOptions,
    ) -> Result<CallOutcome, CallError> {
        let call = resolve(snapshot, id, arguments.for_tool()?)?;
        if let Some(tool) = snapshot.manifest.tools.iter().find(|tool| tool.id == id) {
            refuse(&snapshot.policy.call(&snapshot.shown(), &tool.run, &call.argv))?;
        }
        let input = Json::Object(call.args.clone().into_iter().collect()).canonical();
        let request = request(snapshot, id, CapabilityKind::Tool, call.argv.clone(), input, true);
        ask(&request, permission).await?;
        let (place, mut notices) = self.workplace(snapshot).await?;
        let (name, words) = call.argv.split_first().ok_or_else(|| {
            CallError::arguments("run_empty", format!("`{}` runs nothing", escape(id)))
        })?;
        let program = self.program(snapshot, name, place.path(), &mut notices)?;
        tell(&notices, permission);
        let arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
        let spawn = Spawn {
            program: &program,
            arguments: &arguments,
            directory: place.path(),
            environment: &environment(&self.settings),
        };
        let output = run_tool(&spawn, options).await.map_err(|failure| match failure.kind {
            FailureKind::RunnerUnavailable => {
                RunFailure { kind: FailureKind::ExecutionFailed, ..failure }
            }
            _ => failure,
        })?;
        Ok(CallOutcome::new(RunOutput { argv: call.argv, ..output }, notices))
    }

    /// The program that the skill was approved with; where that is gone, the one that there is
    /// now, and a notice.
    fn program(
        &self,
        snapshot: &Snapshot,
        name: &str,
        place: &Path,
        notices: &mut Vec<String>,
    ) -> Result<PathBuf, Error> {
        let recorded = snapshot.programs.get(name);
        if let Some(found) = recorded.and_then(|path| program::executable(path)) {
            return Ok(found);
        }
        let found = program::find(name, &snapshot.manifest, place, &self.settings.path).map_err(
            |error| {
                Error::new(Kind::Requirement, error.code(), error.to_string())
                    .with_hint(error.hint())
            },
        )?;
        if let Some(recorded) = recorded {
            notices.push(format!(
                "`{}` is `{}` now; when it was approved it was `{}`",
                escape(name),
                escape(&found.to_string_lossy()),
                escape(&recorded.to_string_lossy())
            ));
        }
        Ok(found)
    }

    async fn call_script(
        &self,
        snapshot: &Snapshot,
        script: &Script,
        arguments: &Arguments,
        permission: &dyn Permission,
        options: &CallOptions,
    ) -> Result<CallOutcome, CallError> {
        let runner = self.runners.select(script).map_err(RunFailure::from)?;
        refuse(&snapshot.policy.script_call(&snapshot.shown(), &runner.name()))?;
        let input = script.contract.bind(&arguments.for_script(script.contract.canonical())?)?;
        let runs = vec![runner.name(), shown(script)];
        let request = request(
            snapshot,
            &script.name,
            CapabilityKind::Script,
            runs,
            input.clone(),
            !script.requires_permission,
        );
        ask(&request, permission).await?;
        let (place, notices) = self.workplace(snapshot).await?;
        tell(&notices, permission);
        let script = &moved(script, &snapshot.tree, place.path());
        let context = RunContext {
            script,
            input: &input,
            directory: place.path(),
            store: Some(&self.store),
            environment: &environment(&self.settings),
            timeout: options.timeout.map_or(script.timeout, |timeout| timeout.min(script.timeout)),
            maximum_output_bytes: options
                .maximum_output_bytes
                .map_or(script.maximum_output_bytes, |most| most.min(script.maximum_output_bytes)),
            cancellation: options.cancellation.clone(),
        };
        Ok(CallOutcome::new(runner.run(context).await?, notices))
    }

    /// Prepares where the call runs, on a thread where that may take its time.
    async fn workplace(&self, snapshot: &Snapshot) -> Result<(Workplace, Vec<String>), Error> {
        let (store, manifest) = (self.store.clone(), snapshot.manifest.clone());
        let (place, mut notices) =
            tokio::task::spawn_blocking(move || Workplace::prepare(&store, &manifest))
                .await
                .map_err(|error| {
                    let message = format!("the re-hash was lost: {error}");
                    Error::new(Kind::Failed, "store_failed", message)
                })??;
        notices.extend(self.revoked(snapshot)?);
        Ok((place, notices))
    }

    /// That the key which signed the snapshot was revoked, where this machine has learnt so and the
    /// key signed it for nobody before.
    fn revoked(&self, snapshot: &Snapshot) -> Result<Option<String>, Error> {
        let Some(locked) = &snapshot.locked else { return Ok(None) };
        let signers = self.state.signers()?;
        let revoked = signers
            .revocation(locked.source.registry(), &locked.name, &locked.key)
            .filter(|revoked| !revoked.allows(&locked.address));
        Ok(revoked.map(|revoked| {
            format!(
                "`{0}@{1}`: {2}; `skillpkg remove {0}` takes it away",
                locked.name,
                locked.version,
                revoked.refusal()
            )
        }))
    }
}

/// Tells what is worth telling before anything starts: what runs may never end, or fail.
fn tell(notices: &[String], permission: &dyn Permission) {
    for notice in notices {
        permission.notice(notice);
    }
}

/// The script where the call runs, if it is a file of the snapshot.
fn moved(script: &Script, tree: &Path, place: &Path) -> Script {
    let mut moved = script.clone();
    if let ScriptSource::File { root, .. } = &mut moved.reference.source
        && root == tree
    {
        place.clone_into(root);
    }
    moved
}

fn request(
    snapshot: &Snapshot,
    capability: &str,
    kind: CapabilityKind,
    runs: Vec<String>,
    input: String,
    approved: bool,
) -> PermissionRequest {
    PermissionRequest {
        skill: snapshot.manifest.name.clone(),
        version: snapshot.manifest.version.clone(),
        address: snapshot.manifest.address(),
        capability: capability.to_owned(),
        kind,
        runs,
        input,
        approved,
    }
}

async fn ask(request: &PermissionRequest, permission: &dyn Permission) -> Result<(), RunFailure> {
    if permission.permits(request).await {
        return Ok(());
    }
    let message = format!(
        "permission to call `{}` of `{}` was refused",
        escape(&request.capability),
        request.skill
    );
    Err(RunFailure::new(FailureKind::PermissionDenied, message))
}

fn resolve(snapshot: &Snapshot, id: &str, arguments: Json) -> Result<Call, CallError> {
    let tools = snapshot.skill_file()?.tools;
    let answer = Json::Object(vec![
        ("tool".to_owned(), Json::String(id.to_owned())),
        ("args".to_owned(), arguments),
    ]);
    skill::resolve(&tools, Answer::Structured(&answer))?.ok_or_else(|| {
        CallError::arguments("capability_not_found", format!("there is no tool `{}`", escape(id)))
    })
}

async fn run_tool(spawn: &Spawn<'_>, options: &CallOptions) -> Result<RunOutput, RunFailure> {
    let captured = options.streams == Streams::Captured;
    let bounds = RunBounds {
        timeout: options.timeout.or(captured.then_some(DEFAULT_TIMEOUT)),
        maximum_output_bytes: options.maximum_output_bytes.unwrap_or(DEFAULT_MAXIMUM_OUTPUT_BYTES),
        cancellation: options.cancellation.clone(),
    };
    if captured { spawn.run(b"", &bounds).await } else { spawn.run_attached(&bounds).await }
}

/// Where a script's bytes are, in a few words.
fn shown(script: &Script) -> String {
    match &script.reference.source {
        ScriptSource::Content(address) => address.to_string(),
        ScriptSource::File { path, .. } => path.to_string(),
        ScriptSource::Embedded(_) => "a script of the host".to_owned(),
        ScriptSource::Uri(uri) => escape_whole(uri.as_str()),
    }
}
