//! `tools/call`: every call goes through [`crate::host`], with its permission and its bounds.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, ready};
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::limits::MAX_ARGUMENT_BYTES;
use tokio_util::sync::CancellationToken;

use super::pending::Question;
use super::question::{self, Way};
use super::server::{Shared, internal};
use super::{answer, uri};
use crate::host::{
    Arguments, CallError, CallOptions, CallOutcome, CapabilityKind, Permission, PermissionRequest,
};
use crate::runner::FailureKind;
use crate::{Error, Kind};

/// What a name stands for.
struct Found {
    skill: QualifiedName,
    kind: CapabilityKind,
    capability: String,
    /// The file, of a resource.
    file: Option<String>,
}

/// A call that a client wants.
struct Wanted {
    /// The tool's name as the host sees it.
    tool: String,
    skill: QualifiedName,
    capability: String,
    arguments: String,
}

/// Calls a tool.
///
/// An unknown tool, and an answer to a question that was not asked, are errors of the protocol; all
/// else is a result that the model may read.
pub(super) async fn call(
    shared: &Arc<Shared>,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let CallToolRequestParams { name, arguments, input_responses, request_state, .. } = request;
    let tool = name.into_owned();
    let found = {
        let tool = tool.clone();
        shared.read(move |shared| find(shared, &tool)).await?
    };
    let arguments = Value::Object(arguments.unwrap_or_default()).to_string();
    if arguments.len() > MAX_ARGUMENT_BYTES {
        let message = format!("the arguments are longer than {MAX_ARGUMENT_BYTES} bytes");
        let error = Error::new(Kind::Failed, "arguments_too_long", message);
        return Ok(answer::of_error(&error).into());
    }
    if found.kind == CapabilityKind::Resource {
        if arguments != "{}" {
            let message = format!("`{}` takes no arguments", escape(&tool));
            let error = Error::new(Kind::Failed, "unknown_property", message);
            return Ok(answer::of_error(&error).into());
        }
        return resource(shared, found).await.map(Into::into);
    }
    let Some(_place) = shared.turns.enter() else {
        let error = Error::new(Kind::Failed, "too_many_calls", "too many calls wait already")
            .with_hint("call again when some of them have ended");
        return Ok(answer::of_error(&error).into());
    };
    let Found { skill, capability, .. } = found;
    let wanted = Wanted { tool, skill, capability, arguments };
    let mut granted = None;
    if let Some(key) = request_state {
        let asked = shared
            .pending
            .take(&key)
            .filter(|asked| asked.tool == wanted.tool && asked.arguments == wanted.arguments);
        let asked = asked.ok_or_else(|| {
            let message =
                "this `requestState` was not given for this call, or it is too old: call again";
            ErrorData::invalid_params(message, None)
        })?;
        if !question::brought_back(input_responses.as_ref())? {
            return Ok(denied(&asked.request, "it was not allowed", None).into());
        }
        granted = Some(asked.request);
    }
    let was_asked = granted.is_some();
    let asks = match attempt(shared, context, &wanted, granted).await {
        Attempt::Done(result) => return Ok(result.into()),
        Attempt::Asks(request) => request,
    };
    if was_asked {
        return Ok(changed(&asks).into());
    }
    match question::way(context) {
        Way::None => {
            let hint = format!(
                "this client cannot ask you; where you start the server, `--allow {skill}:{name}` \
                 allows it, and so does `allow = [\"{skill}:{name}\"]` under `[mcp]` of your \
                 configuration",
                skill = asks.skill,
                name = escape(&asks.capability),
            );
            Ok(denied(&asks, "it needs permission", Some(hint)).into())
        }
        Way::Unfinished => {
            let Wanted { tool, arguments, .. } = wanted;
            let question = Question { tool, arguments, request: asks };
            question::unfinished(shared, question).map(Into::into)
        }
        Way::Request => {
            if !question::ask(shared, context, &asks).await? {
                return Ok(denied(&asks, "it was not allowed", None).into());
            }
            match attempt(shared, context, &wanted, Some(asks)).await {
                Attempt::Done(result) => Ok(result.into()),
                Attempt::Asks(other) => Ok(changed(&other).into()),
            }
        }
    }
}

/// What is named so now: the skill, and what kind of which name; of a resource its file.
fn find(shared: &Shared, tool: &str) -> Result<Found, ErrorData> {
    let catalogue = shared.look().map_err(|error| internal(&error))?;
    let (served, offered) = catalogue.tool(tool).ok_or_else(|| {
        let message = format!("there is no tool `{}`: the list may have changed", escape(tool));
        ErrorData::invalid_params(message, None)
    })?;
    let contents = &served.contents;
    let name = &offered.capability.name;
    let resource = contents.manifest.resources.iter().find(|resource| resource.name == *name);
    Ok(Found {
        skill: contents.skill.name.clone(),
        kind: offered.capability.kind,
        capability: name.clone(),
        file: resource.map(|resource| resource.path.to_string()),
    })
}

/// Reads a resource of a skill.
async fn resource(shared: &Arc<Shared>, found: Found) -> Result<CallToolResult, ErrorData> {
    shared
        .read(move |shared| {
            let path = found.file.unwrap_or_default();
            let read = shared.host.read_file(&found.skill.to_string(), &path);
            Ok(match read {
                Ok((file, bytes)) => {
                    answer::of_resource(&uri::of_path(&found.skill, &path), &file, &bytes)
                }
                Err(error) => answer::of_error(&error),
            })
        })
        .await
}

/// How far a call came.
enum Attempt {
    /// To its end, whatever that was.
    Done(CallToolResult),
    /// To the question whether it may run.
    Asks(PermissionRequest),
}

/// Calls as far as permission allows: `granted` is what a person said yes to, and allows nothing
/// that differs from it.
async fn attempt(
    shared: &Arc<Shared>,
    context: &RequestContext<RoleServer>,
    wanted: &Wanted,
    granted: Option<PermissionRequest>,
) -> Attempt {
    let _turn = shared.turns.take().await;
    let gate = Gate { shared, granted, asked: Mutex::default() };
    let outcome = run(shared, &context.ct, wanted, &gate).await;
    let asked = gate.asked.into_inner().unwrap_or_else(PoisonError::into_inner);
    match (outcome, asked) {
        (Err(CallError::Run(failure)), Some(request))
            if failure.kind == FailureKind::PermissionDenied =>
        {
            Attempt::Asks(request)
        }
        (Ok(outcome), _) => Attempt::Done(answer::of_outcome(&outcome)),
        (Err(failure), _) => Attempt::Done(answer::of_failure(failure)),
    }
}

/// Runs the call until it ends, the client calls it off, or the server ends.
async fn run(
    shared: &Shared,
    called_off: &CancellationToken,
    wanted: &Wanted,
    gate: &Gate<'_>,
) -> Result<CallOutcome, CallError> {
    let cancellation = shared.ending.child_token();
    let options = CallOptions {
        timeout: shared.timeout,
        cancellation: cancellation.clone(),
        ..CallOptions::default()
    };
    let arguments = Arguments::Json(wanted.arguments.clone());
    let skill = wanted.skill.to_string();
    let mut running =
        pin!(shared.host.call_with(&skill, &wanted.capability, &arguments, gate, &options));
    tokio::select! {
        outcome = &mut running => return outcome,
        () = called_off.cancelled() => cancellation.cancel(),
    }
    running.await
}

/// Lets a call through that its user approved, that the configuration allows, or that a person said
/// yes to just now; keeps what else was asked.
struct Gate<'a> {
    shared: &'a Shared,
    granted: Option<PermissionRequest>,
    asked: Mutex<Option<PermissionRequest>>,
}

impl Permission for Gate<'_> {
    fn permits<'a>(&'a self, request: &'a PermissionRequest) -> BoxFuture<'a, bool> {
        let permitted = request.approved
            || self.granted.as_ref() == Some(request)
            || self.shared.allow.iter().any(|allowed| allowed.allows(request));
        if !permitted {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            *asked = Some(request.clone());
        }
        Box::pin(ready(permitted))
    }

    fn notice(&self, notice: &str) {
        self.shared.tell(notice);
    }
}

fn denied(request: &PermissionRequest, why: &str, hint: Option<String>) -> CallToolResult {
    let message =
        format!("`{}` of `{}` was not called: {why}", escape(&request.capability), request.skill);
    let error = Error { hint, ..Error::new(Kind::Refused, "permission_denied", message) };
    answer::of_error(&error)
}

/// What would run is no longer what was asked about.
fn changed(request: &PermissionRequest) -> CallToolResult {
    denied(request, "what it would run has changed since it was asked", None)
}
