//! Asking the person behind a client whether something may run.

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequiredResult,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use skillpkg_schema::diagnostic::{escape, escape_whole};

use super::pending::Question;
use super::server::Shared;
use crate::host::{CapabilityKind, PermissionRequest};

/// How long a person may think.
const PATIENCE: Duration = Duration::from_mins(5);
/// The field of the form, and the name of the question in an unfinished result.
const ALLOW: &str = "allow";
const PERMISSION: &str = "permission";
/// Most characters of the arguments that are shown.
const MOST_SHOWN: usize = 8_000;

/// How the client of a request can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Not at all.
    None,
    /// By a request of the server, up to revision 2025-11-25.
    Request,
    /// By an unfinished result, from revision 2026-07-28.
    Unfinished,
}

/// How the client of this request can be asked.
pub(super) fn way(context: &RequestContext<RoleServer>) -> Way {
    let elicitation = context.client_capabilities().and_then(|client| client.elicitation);
    // A client that names neither form nor URL means forms.
    if !elicitation.is_some_and(|can| can.form.is_some() || can.url.is_none()) {
        return Way::None;
    }
    match context.protocol_version() {
        Some(version) if !version.has_initialize() => Way::Unfinished,
        _ => Way::Request,
    }
}

/// The question, as a form with one field.
fn form(request: &PermissionRequest) -> Result<ElicitRequestParams, ErrorData> {
    let requested_schema = ElicitationSchema::builder()
        .required_bool(ALLOW)
        .build()
        .map_err(|error| ErrorData::internal_error(error, None))?;
    let message = message(request);
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// Everything that a person needs to decide.
fn message(request: &PermissionRequest) -> String {
    let kind = match request.kind {
        CapabilityKind::Script => "script",
        CapabilityKind::Tool | CapabilityKind::Resource => "tool",
    };
    let runs = request.runs_text();
    let input: String = escape_whole(&request.input);
    let shown: String = input.chars().take(MOST_SHOWN).collect();
    let rest = if shown.len() < input.len() {
        format!("… ({} bytes in all)", request.input.len())
    } else {
        String::new()
    };
    format!(
        "`{}` {} ({}) would run the {kind} `{}`: {}\nwith {shown}{rest}\nMay it run?",
        request.skill,
        request.version,
        request.address,
        escape(&request.capability),
        runs,
    )
}

/// An unfinished result that asks; what it asks is remembered until it is brought back.
pub(super) fn unfinished(
    shared: &Shared,
    question: Question,
) -> Result<InputRequiredResult, ErrorData> {
    let form = form(&question.request)?;
    let key = shared.pending.ask(question).ok_or_else(|| {
        ErrorData::internal_error("the system gives no random bytes to ask with", None)
    })?;
    let asked = InputRequest::Elicitation(ElicitRequest::new(form));
    Ok(InputRequiredResult::new(Some(BTreeMap::from([(PERMISSION.into(), asked)])), Some(key)))
}

/// The answer that a client brought back.
pub(super) fn brought_back(answers: Option<&BTreeMap<String, Value>>) -> Result<bool, ErrorData> {
    let answer = answers.and_then(|answers| answers.get(PERMISSION)).ok_or_else(|| {
        ErrorData::invalid_params(format!("`inputResponses` has no `{PERMISSION}`"), None)
    })?;
    let answer: ElicitResult = serde_json::from_value(answer.clone()).map_err(|error| {
        let message = format!("`inputResponses.{PERMISSION}`: {}", escape(&error.to_string()));
        ErrorData::invalid_params(message, None)
    })?;
    Ok(is_yes(&answer))
}

/// Asks by a request of the server. No answer is a no.
pub(super) async fn ask(
    shared: &Shared,
    context: &RequestContext<RoleServer>,
    request: &PermissionRequest,
) -> Result<bool, ErrorData> {
    let asking = context.peer.create_elicitation_with_timeout(form(request)?, Some(PATIENCE));
    let answer = tokio::select! {
        answer = asking => answer,
        () = context.ct.cancelled() => return Ok(false),
        () = shared.ending.cancelled() => return Ok(false),
    };
    Ok(answer.is_ok_and(|answer| is_yes(&answer)))
}

/// A form that was sent and says yes; one that was merely sent says nothing.
fn is_yes(answer: &ElicitResult) -> bool {
    let allowed = answer.content.as_ref().and_then(|content| content.get(ALLOW));
    answer.action == ElicitationAction::Accept && allowed == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use skillpkg_schema::Sha256Digest;

    fn request(input: &str) -> PermissionRequest {
        PermissionRequest {
            skill: "acme/waitlist".parse().unwrap(),
            version: "1.2.0".parse().unwrap(),
            address: Sha256Digest::of(b"snapshot").address(),
            capability: "normalize".to_owned(),
            kind: CapabilityKind::Script,
            runs: vec!["process `sh`".to_owned(), "a\u{202e}b.sh".to_owned()],
            input: input.to_owned(),
            approved: false,
        }
    }

    #[test]
    fn a_person_is_shown_everything_and_nothing_that_deceives() {
        let shown = message(&request(r#"{"file":"x"}"#));
        for part in ["`acme/waitlist` 1.2.0", "sha256:", "script `normalize`", r#"{"file":"x"}"#] {
            assert!(shown.contains(part), "{shown}");
        }
        assert!(!shown.contains('\u{202e}'));
        let long = message(&request(&"x".repeat(20_000)));
        assert!(long.len() < 9_000 && long.contains("… (20000 bytes in all)"));
    }

    #[test]
    fn only_a_form_that_was_sent_and_says_yes_is_a_yes() {
        for (answer, expected) in [
            (json!({"action": "accept", "content": {"allow": true}}), Some(true)),
            (json!({"action": "accept", "content": {"allow": false}}), Some(false)),
            (json!({"action": "accept", "content": {"allow": "true"}}), Some(false)),
            (json!({"action": "accept"}), Some(false)),
            (json!({"action": "decline", "content": {"allow": true}}), Some(false)),
            (json!({"action": "cancel"}), Some(false)),
            (json!({"action": "sure"}), None),
            (json!(true), None),
        ] {
            let answers = BTreeMap::from([(PERMISSION.to_owned(), answer.clone())]);
            assert_eq!(brought_back(Some(&answers)).ok(), expected, "{answer}");
        }
        assert!(brought_back(None).is_err());
    }
}
