//! `skillpkg resolve`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape_whole;
use skillpkg_schema::skill::{Answer, Call, resolve};

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
    what: Option<String>,
}

#[derive(Serialize)]
struct Resolved<'a> {
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
    let skill = Subject::find(context, arguments.what.as_deref())?.skill_file()?;
    let answer = input::read_stdin("the model's answer", MAX_ANSWER_BYTES)?;
    let call = resolve(&skill.tools, Answer::Text(&answer))
        .map_err(|error| Error::new(Kind::Failed, error.code, error.message))?;
    match &call {
        Some(call) => context.output.text(&shown(call))?,
        None => context.output.talk("There is no call in it."),
    }
    let call = call.as_ref().map(json_of).transpose()?;
    context.output.json(&Resolved { call })?;
    Ok(0)
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
