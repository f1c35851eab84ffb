//! `skillpkg completions`.

use clap::CommandFactory as _;
use serde_json::json;
use skillpkg::Error;

use crate::commands::CommandLine;
use crate::context::Context;

/// Print the completions of a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg completions bash")]
pub(crate) struct Arguments {
    /// The shell
    shell: clap_complete::Shell,
}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<u8, Error> {
    let mut script = Vec::new();
    let mut command = CommandLine::command();
    clap_complete::generate(arguments.shell, &mut command, "skillpkg", &mut script);
    let script = String::from_utf8_lossy(&script);
    context.output.exact(&script)?;
    context.output.json(&json!({ "shell": arguments.shell.to_string(), "script": script }))?;
    Ok(0)
}
