//! `skillpkg completions`.

use clap_complete::env::Shells;
use serde_json::json;
use skillpkg::{Error, Kind};

use crate::candidates::VARIABLE;
use crate::context::Context;

/// Print the completions of a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg completions bash

Bash reads them with `source <(skillpkg completions bash)` in ~/.bashrc, zsh with the same in \
~/.zshrc, fish from ~/.config/fish/completions/skillpkg.fish. They ask this program at each Tab: for \
commands and options, and for the names of installed skills, their tools, agents, registries and keys.")]
pub(crate) struct Arguments {
    /// The shell
    shell: clap_complete::Shell,
}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<u8, Error> {
    let failed = |why: String| Error::new(Kind::Failed, "completions_failed", why);
    let shell = arguments.shell.to_string();
    let known = Shells::builtins();
    let completer =
        known.completer(&shell).ok_or_else(|| failed(format!("`{shell}` cannot be completed")))?;
    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, "skillpkg", "skillpkg", "skillpkg", &mut script)
        .map_err(|error| failed(error.to_string()))?;
    let script = String::from_utf8_lossy(&script);
    context.output.exact(&script)?;
    context.output.json(&json!({ "shell": shell, "script": script }))?;
    Ok(0)
}
