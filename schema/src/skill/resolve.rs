//! From a model's answer to the argv of a tool.

use std::collections::BTreeMap;

use super::answer;
pub use super::answer::Written;
use super::coerce::{coerce, expected, text};
use super::param::is_choice;
use super::report::did_you_mean;
use super::run::Part;
use super::{Param, Tool};
use crate::diagnostic::escape;
use crate::json::Json;

/// Most bytes of all argv words together: what Linux starts a program with at most.
const MAX_ARGV_BYTES: usize = 2 * 1024 * 1024;
/// Most faults of one call that are told.
const MOST_FAULTS: usize = 10;
/// Most tools or params that a message names.
const MOST_NAMED: usize = 20;

/// A model's answer.
#[derive(Debug, Clone, Copy)]
pub enum Answer<'a> {
    /// What it wrote.
    Text(&'a str),
    /// A call that a host has parsed: `{tool|name|id, args|arguments|input|params}`, or the shape
    /// that Anthropic, OpenAI or MCP sends.
    Structured(&'a Json),
}

/// A call of a tool that its schema accepts.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool's id.
    pub tool: String,
    /// The arguments, coerced, defaults filled in.
    pub args: BTreeMap<String, Json>,
    /// What to spawn.
    pub argv: Vec<String>,
}

/// An answer that calls wrongly, worded for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ResolveError {
    /// Stable, in `snake_case`.
    pub code: &'static str,
    /// Names the tool and the argument, and what was expected.
    pub message: String,
}

/// The call in `answer`; [`None`] where a text holds none.
pub fn resolve(tools: &[Tool], answer: Answer<'_>) -> Result<Option<Call>, ResolveError> {
    match resolve_among(tools, &[], answer)? {
        None => Ok(None),
        Some(Resolved::Tool(call)) => Ok(Some(call)),
        Some(Resolved::Other(written)) => Err(unknown_tool(tools, &[], &written.tool)),
    }
}

/// What an answer calls.
#[derive(Debug, Clone, PartialEq)]
pub enum Resolved {
    /// A tool, its arguments checked.
    Tool(Call),
    /// One of the others, whose arguments whoever runs it checks.
    Other(Written),
}

/// As [`resolve`], where beside the tools the capabilities named by `others` can be called.
pub fn resolve_among(
    tools: &[Tool],
    others: &[&str],
    answer: Answer<'_>,
) -> Result<Option<Resolved>, ResolveError> {
    let callable = |name: &str| tools.iter().any(|tool| tool.id == name) || others.contains(&name);
    let written = match answer {
        Answer::Text(text) => answer::in_text(&callable, text)?,
        Answer::Structured(value) => answer::in_structure(value)?,
    };
    let Some(written) = written else { return Ok(None) };
    match tools.iter().find(|tool| tool.id == written.tool) {
        Some(tool) => bind(tool, written).map(|call| Some(Resolved::Tool(call))),
        None if others.contains(&written.tool.as_str()) => Ok(Some(Resolved::Other(written))),
        None => Err(unknown_tool(tools, others, &written.tool)),
    }
}

fn bind(tool: &Tool, written: Written) -> Result<Call, ResolveError> {
    let args = arguments(tool, written.arguments)?;
    Ok(Call { argv: words(tool, &args)?, tool: tool.id.clone(), args })
}

fn unknown_tool(tools: &[Tool], others: &[&str], name: &str) -> ResolveError {
    let ids = || tools.iter().map(|tool| tool.id.as_str()).chain(others.iter().copied());
    let hint = did_you_mean(name, ids()).unwrap_or_else(|| match listed(ids()) {
        Some(ids) => format!("there are {ids}"),
        None => "this skill has no tools".to_owned(),
    });
    ResolveError {
        code: "unknown_tool",
        message: format!("there is no tool `{}`; {hint}", escape(name)),
    }
}

/// The first of `names`; [`None`] where there are none.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: Vec<String> = names.take(MOST_NAMED).map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// The arguments as the schema has them: coerced, checked, defaults filled in.
fn arguments(
    tool: &Tool,
    given: Vec<(String, Json)>,
) -> Result<BTreeMap<String, Json>, ResolveError> {
    let mut faults: Vec<(&'static str, String)> = Vec::new();
    let mut args = BTreeMap::new();
    for (name, value) in given {
        match tool.params.iter().find(|param| param.name == name) {
            Some(_) if value == Json::Null => {}
            Some(param) => match coerced(param, &value) {
                Ok(value) => {
                    args.insert(name, value);
                }
                Err(fault) => faults.push(fault),
            },
            None => faults.push(("unknown_argument", unknown_argument(tool, &name))),
        }
        if faults.len() >= MOST_FAULTS {
            break;
        }
    }
    for param in &tool.params {
        if args.contains_key(&param.name) || faults.len() >= MOST_FAULTS {
            continue;
        }
        if let Some(default) = &param.default {
            args.insert(param.name.clone(), default.clone());
        } else if !faults.iter().any(|(_, fault)| fault.starts_with(&format!("`{}` ", param.name)))
        {
            let expected = expected(param);
            faults.push((
                "missing_argument",
                format!("`{}` is missing; give {expected}", param.name),
            ));
        }
    }
    let Some((code, _)) = faults.first() else { return Ok(args) };
    let told: Vec<&str> = faults.iter().map(|(_, fault)| fault.as_str()).collect();
    Err(ResolveError { code, message: format!("tool `{}`: {}", tool.id, told.join("; ")) })
}

fn coerced(param: &Param, value: &Json) -> Result<Json, (&'static str, String)> {
    let shown = || {
        let shown = match value {
            Json::Array(_) => "an array".to_owned(),
            Json::Object(_) => "an object".to_owned(),
            Json::String(text) => format!("`{}`, a string", escape(text)),
            other => format!("`{}`", escape(&text(other))),
        };
        format!("`{}` is {shown}; expected {}", param.name, expected(param))
    };
    let fitted = coerce(param.kind, value).ok_or_else(|| ("argument_type", shown()))?;
    if !is_choice(param, &fitted) {
        return Err(("argument_not_in_enum", shown()));
    }
    Ok(fitted)
}

fn unknown_argument(tool: &Tool, name: &str) -> String {
    let names = || tool.params.iter().map(|param| param.name.as_str());
    let hint = did_you_mean(name, names()).unwrap_or_else(|| match listed(names()) {
        Some(names) => format!("it takes {names}"),
        None => "it takes none".to_owned(),
    });
    format!("`{}` is no argument of it, {hint}", escape(name))
}

/// The words of `run`, each param replaced inside its word, once.
fn words(tool: &Tool, args: &BTreeMap<String, Json>) -> Result<Vec<String>, ResolveError> {
    let refuse = |code, reason: &str| ResolveError {
        code,
        message: format!("tool `{}`: {reason}", tool.id),
    };
    let mut words = Vec::new();
    let mut length = 0_usize;
    for parts in tool.run.parts() {
        let mut word = String::new();
        for part in parts {
            let value = match part {
                Part::Literal(text) => text.to_owned(),
                Part::Param(name) => args.get(name).map(text).unwrap_or_default(),
            };
            length = length.saturating_add(value.len());
            if length > MAX_ARGV_BYTES {
                let reason = format!("the call is longer than {MAX_ARGV_BYTES} bytes; pass less");
                return Err(refuse("call_too_long", &reason));
            }
            word.push_str(&value);
        }
        if word.contains('\0') {
            let reason = "an argument holds a NUL character, which no program can be given";
            return Err(refuse("nul_in_argument", reason));
        }
        words.push(word);
    }
    if words.first().is_none_or(String::is_empty) {
        return Err(refuse("no_program", "the program's name came out empty"));
    }
    Ok(words)
}
