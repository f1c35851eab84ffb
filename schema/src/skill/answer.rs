//! The calls that a model's answer holds.

use super::fence::{Most, fences};
use super::resolve::ResolveError;
use crate::diagnostic::escape;
use crate::json::{self, Bounds, Json, JsonError, JsonReason};
use crate::limits::MAX_ARGUMENT_BYTES;

/// How much of an answer is read as JSON.
const BOUNDS: Bounds = Bounds { bytes: MAX_ARGUMENT_BYTES, depth: 32, nodes: 65_536 };
/// Most bytes of an answer.
const MAX_ANSWER_BYTES: usize = 4 * MAX_ARGUMENT_BYTES;
/// Deepest nesting of a bare object; a text of braces alone costs no more than this a brace.
const MAX_BARE_DEPTH: usize = 32;
/// The keys under which a call's arguments stand.
const ARGUMENT_KEYS: [&str; 4] = ["args", "arguments", "input", "params"];

/// Whether a skill has something of this name to call.
pub(super) type Callable<'a> = &'a dyn Fn(&str) -> bool;

/// A call as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// What is called.
    pub tool: String,
    /// The arguments, as given.
    pub arguments: Vec<(String, Json)>,
}

fn error(code: &'static str, message: impl Into<String>) -> ResolveError {
    ResolveError { code, message: message.into() }
}

/// The one call in a text; [`None`] where it holds none.
pub(super) fn in_text(callable: Callable<'_>, text: &str) -> Result<Option<Written>, ResolveError> {
    if text.len() > MAX_ANSWER_BYTES {
        return Err(error(
            "answer_too_long",
            format!("the answer is longer than {MAX_ANSWER_BYTES} bytes"),
        ));
    }
    let whole = text.trim();
    if whole.starts_with(['{', '[']) {
        match json::parse(whole, &BOUNDS) {
            Ok(value) => {
                let calls = if is_call(callable, &value) {
                    structured_all(&value)?
                } else {
                    bare_calls(callable, whole)?
                };
                return only(calls);
            }
            // Whatever call it holds would be overlooked.
            Err(JsonError { reason: reason @ JsonReason::TooDeep(_), .. }) => {
                return Err(error("answer_too_deep", format!("the answer is {reason}")));
            }
            Err(_) => {}
        }
    }
    let mut calls = Vec::new();
    let mut outside = String::with_capacity(text.len());
    let mut last = 0;
    for fence in fences(text, &["call", "json"], Most::ALL) {
        outside.push_str(text.get(last..fence.range.start).unwrap_or_default());
        last = fence.range.end;
        let lines: Vec<&str> = fence.lines.iter().map(|line| line.text.as_str()).collect();
        match json::parse(&lines.join("\n"), &BOUNDS) {
            Ok(value) if fence.language == "call" || is_call(callable, &value) => {
                calls.extend(structured_all(&value)?);
            }
            Err(reason) if fence.language == "call" => {
                return Err(error(
                    "call_not_json",
                    format!(
                        "the `call` block is not JSON: {reason}; write {{\"tool\": \"ID\", \"args\": {{…}}}}"
                    ),
                ));
            }
            _ => {}
        }
    }
    outside.push_str(text.get(last..).unwrap_or_default());
    calls.extend(bare_calls(callable, &outside)?);
    only(calls)
}

/// The one call that a host has parsed.
pub(super) fn in_structure(value: &Json) -> Result<Option<Written>, ResolveError> {
    only(structured_all(value)?)
}

fn only(calls: Vec<Written>) -> Result<Option<Written>, ResolveError> {
    if calls.len() > 1 {
        let names: Vec<String> =
            calls.iter().take(5).map(|call| format!("`{}`", escape(&call.tool))).collect();
        return Err(error(
            "several_calls",
            format!(
                "the answer holds {} calls ({}); make one call a turn and wait for its answer",
                calls.len(),
                names.join(", ")
            ),
        ));
    }
    Ok(calls.into_iter().next())
}

/// Whether an object in a text is meant as a call, rather than as data.
fn is_call(callable: Callable<'_>, value: &Json) -> bool {
    if let Json::Array(items) = value {
        return !items.is_empty() && items.iter().all(|item| is_call(callable, item));
    }
    let target = target(value);
    let Some(name) = name(target) else { return message_calls(value).is_some() };
    callable(name)
        || target.get("tool").is_some()
        || ARGUMENT_KEYS.iter().any(|key| target.get(key).is_some())
}

/// The object that names the tool: OpenAI and MCP wrap it.
fn target(value: &Json) -> &Json {
    let function = value.get("function").filter(|inner| matches!(inner, Json::Object(_)));
    let is_mcp = value.get("method").and_then(Json::as_str) == Some("tools/call");
    function.or_else(|| value.get("params").filter(|_| is_mcp)).unwrap_or(value)
}

/// The name of the tool. `id` names it only where nothing else does: to Anthropic and OpenAI it is
/// the call's.
fn name(target: &Json) -> Option<&str> {
    ["tool", "name", "id"].iter().find_map(|key| target.get(key)?.as_str())
}

/// The calls of a whole message: Anthropic's `content`, OpenAI's `tool_calls`.
fn message_calls(value: &Json) -> Option<Vec<&Json>> {
    let is_call = |item: &&Json| {
        let kind = item.get("type").and_then(Json::as_str);
        matches!(kind, Some("tool_use" | "function" | "function_call"))
    };
    ["content", "tool_calls"].iter().find_map(|key| match value.get(key)? {
        Json::Array(items) => Some(items.iter().filter(is_call).collect()),
        _ => None,
    })
}

fn structured_all(value: &Json) -> Result<Vec<Written>, ResolveError> {
    if let Json::Array(items) = value {
        return items.iter().map(structured).collect();
    }
    match message_calls(value) {
        Some(calls) if name(target(value)).is_none() || value.get("role").is_some() => {
            calls.into_iter().map(structured).collect()
        }
        _ => Ok(vec![structured(value)?]),
    }
}

fn structured(value: &Json) -> Result<Written, ResolveError> {
    let target = target(value);
    let Some(tool) = name(target) else {
        return Err(error(
            "call_form",
            "the call names no tool; write {\"tool\": \"ID\", \"args\": {…}}",
        ));
    };
    let given: Vec<(&str, &Json)> =
        ARGUMENT_KEYS.iter().filter_map(|key| Some((*key, target.get(key)?))).collect();
    let arguments = match given.as_slice() {
        [] => Vec::new(),
        [(key, value)] => arguments(tool, key, value)?,
        [(first, _), (second, _), ..] => {
            return Err(error(
                "call_form",
                format!(
                    "the call of `{}` holds both `{first}` and `{second}`; write the arguments once, under `args`",
                    escape(tool)
                ),
            ));
        }
    };
    Ok(Written { tool: tool.to_owned(), arguments })
}

fn arguments(tool: &str, key: &str, value: &Json) -> Result<Vec<(String, Json)>, ResolveError> {
    let refuse = |reason: String| {
        let tool = escape(tool);
        error("arguments_form", format!("tool `{tool}`: `{key}` {reason}"))
    };
    match value {
        Json::Object(members) => Ok(members.clone()),
        Json::Null => Ok(Vec::new()),
        Json::String(text) if text.trim().is_empty() => Ok(Vec::new()),
        Json::String(text) => match json::parse(text, &BOUNDS) {
            Ok(Json::Object(members)) => Ok(members),
            Ok(Json::Null) => Ok(Vec::new()),
            Ok(_) => Err(refuse("is a string that holds no JSON object".to_owned())),
            Err(reason) => Err(refuse(format!("is a string that is not JSON: {reason}"))),
        },
        _ => Err(refuse("is not an object of argument names and values".to_owned())),
    }
}

/// The bare objects of a text that name a tool.
fn bare_calls(callable: Callable<'_>, text: &str) -> Result<Vec<Written>, ResolveError> {
    let mut calls = Vec::new();
    let mut from = 0;
    // Every byte is looked at by at most so many starts before the text is given up.
    let mut budget = text.len().saturating_mul(MAX_BARE_DEPTH * 2);
    while let Some(start) = text.get(from..).and_then(|rest| rest.find('{')).map(|at| from + at) {
        from = start + 1;
        let rest = text.get(start..).unwrap_or_default();
        let (end, looked_at) = object_end(rest.as_bytes());
        let Some(left) = budget.checked_sub(looked_at) else {
            return Err(error("answer_unreadable", "the answer holds too many unclosed braces"));
        };
        budget = left;
        let Some(object) = end.and_then(|end| rest.get(..end)) else { continue };
        let Ok(value) = json::parse(object, &BOUNDS) else { continue };
        from = start + object.len();
        if name(target(&value)).is_some_and(callable) {
            calls.push(structured(&value)?);
        }
    }
    Ok(calls)
}

/// The length of the object at the start of `text`, if one closes, and how many bytes were read.
fn object_end(text: &[u8]) -> (Option<usize>, usize) {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut is_escaped = false;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return (Some(at + 1), at + 1);
                }
            }
            b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' | b'-' | b'+' | b'.' => {}
            byte if byte.is_ascii_alphanumeric() => {}
            _ => return (None, at + 1),
        }
        if depth > MAX_BARE_DEPTH {
            return (None, at + 1);
        }
    }
    (None, text.len())
}
