//! `skillpkg resolve`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::{escape, escape_whole};
use skillpkg_schema::skill::{Answer, Call, Resolved, Written, resolve_among};

use crate::candidates;
use crate::commands::input;
use crate::commands::subject::Subject;
use crate::context::Context;

/// Most bytes of an answer that is read.
const MAX_ANSWER_BYTES: u64 = 4 * 1024 * 1024;

/// Read a model's answer on stdin and print the call in it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: echo '{\"tool\":\"access\",\"args\":{\"user\":\"x@y.z\"}}' | skillpkg resolve examples/waitlist"
)]
pub(crate) struct Arguments {
    /// A directory or an installed skill's name; the working directory where absent
    #[arg(add = candidates::installed_or_path())]
    what: Option<String>,
}

#[derive(Serialize)]
struct Report<'a> {
    call: Option<ShownCall<'a>>,
}

#[derive(Serialize)]
struct ShownCall<'a> {
    tool: &'a str,
    args: BTreeMap<&'a str, Box<RawValue>>,
    argv: &'a [String],
}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<u8, Error> {
    let (skill, scripts) =
        Subject::find(context, arguments.what.as_deref())?.skill_file(context)?;
    let answer = input::read_stdin("the model's answer", MAX_ANSWER_BYTES)?;
    let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    let resolved = resolve_among(&skill.tools, &scripts, Answer::Text(&answer))
        .map_err(|error| Error::new(Kind::Failed, error.code, error.message))?;
    let call = match resolved {
        None => None,
        Some(Resolved::Tool(call)) => Some(call),
        Some(Resolved::Other(written)) => return Err(script_called(&skill.name, &written)),
    };
    match &call {
        Some(call) => context.output.text(&shown(call))?,
        None => context.output.talk("There is no call in it."),
    }
    let call = call.as_ref().map(json_of).transpose()?;
    context.output.json(&Report { call })?;
    Ok(0)
}

/// A runner decides what a script's call spawns, and its contract what it gets.
fn script_called(skill: &str, written: &Written) -> Error {
    let (skill, script) = (escape(skill), escape(&written.tool));
    let message = format!("`{script}` is a script, and `resolve` binds calls of tools alone");
    Error::new(Kind::Failed, "script_called", message).with_hint(format!(
        "once the skill is installed, `skillpkg call {skill} {script} -` runs it with its \
         arguments as JSON on stdin"
    ))
}

/// The tool, and under it each argv word on a line of its own: no quoting can be misread.
fn shown(call: &Call) -> String {
    let words = call.argv.iter().map(|word| format!("  {}", escape_whole(word)));
    let lines: Vec<String> = std::iter::once(call.tool.clone()).chain(words).collect();
    lines.join("\n")
}

fn json_of(call: &Call) -> Result<ShownCall<'_>, Error> {
    let args = call
        .args
        .iter()
        .map(|(name, value)| Ok((name.as_str(), input::raw_json(value.canonical())?)))
        .collect::<Result<_, Error>>()?;
    Ok(ShownCall { tool: &call.tool, args, argv: &call.argv })
}
