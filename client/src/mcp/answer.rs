//! What a call gave, as a model reads it.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};
use skillpkg_schema::manifest::FileEntry;

use super::{meta, resource};
use crate::Error;
use crate::host::{CallError, CallOutcome};
use crate::runner::RunOutput;

/// A call that ran to its end. One that ended with another exit code than 0 is an error that a model
/// may read and act on.
pub(super) fn of_outcome(outcome: &CallOutcome) -> CallToolResult {
    let CallOutcome { exit, stdout, stderr, argv, duration, notices } = outcome;
    let mut own = vec![
        ("exit", json!(exit)),
        ("argv", json!(argv)),
        ("duration-ms", json!(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))),
    ];
    if !notices.is_empty() {
        own.push(("notices", json!(notices)));
    }
    let mut content = streams(stdout, stderr);
    if *exit != 0 {
        content.push(ContentBlock::text(format!("exit code {exit}")));
    } else if content.is_empty() {
        content.push(ContentBlock::text("exit code 0, nothing was written"));
    }
    finished(content, *exit != 0, own)
}

/// A call that gave no outcome, with what to do about it.
pub(super) fn of_failure(failure: CallError) -> CallToolResult {
    let ran = match &failure {
        CallError::Run(failure) => failure.output.clone(),
        CallError::Skill(_) | CallError::Arguments { .. } => None,
    };
    let error = Error::from(failure);
    let mut content = Vec::new();
    let mut own = vec![("code", json!(error.code))];
    if let Some(path) = &error.path {
        own.push(("path", json!(path)));
    }
    if let Some(ran) = ran {
        let RunOutput { exit, stdout, stderr, argv, duration: _ } = *ran;
        own.extend([("exit", json!(exit)), ("argv", json!(argv))]);
        content = streams(&stdout, &stderr);
    }
    content.push(ContentBlock::text(told(&error)));
    finished(content, true, own)
}

/// A failure of this library.
pub(super) fn of_error(error: &Error) -> CallToolResult {
    finished(vec![ContentBlock::text(told(error))], true, vec![("code", json!(error.code))])
}

/// What a resource holds: its text, or its bytes as they are embedded in a message.
pub(super) fn of_resource(uri: &str, file: &FileEntry, bytes: &[u8]) -> CallToolResult {
    let contents = resource::contents(uri, file, bytes);
    let own = vec![("digest", json!(meta::digest(&file.sha256)))];
    let content = match contents {
        ResourceContents::TextResourceContents { text, .. } => ContentBlock::text(text),
        other => ContentBlock::resource(other),
    };
    finished(vec![content], false, own)
}

fn finished(
    content: Vec<ContentBlock>,
    is_error: bool,
    own: Vec<(&'static str, Value)>,
) -> CallToolResult {
    let mut result =
        if is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.meta = Some(meta::of(own)).filter(|meta| !meta.is_empty());
    result
}

/// What was written, standard output first. Bytes that are not UTF-8 read as `U+FFFD`.
fn streams(stdout: &[u8], stderr: &[u8]) -> Vec<ContentBlock> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut content = Vec::new();
    if !stdout.is_empty() {
        content.push(ContentBlock::text(text(stdout)));
    }
    if !stderr.is_empty() {
        content.push(ContentBlock::text(format!("standard error:\n{}", text(stderr))));
    }
    content
}

fn told(error: &Error) -> String {
    let Error { message, hint, .. } = error;
    hint.as_ref().map_or_else(|| message.clone(), |hint| format!("{message}\nhint: {hint}"))
}
