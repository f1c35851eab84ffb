//! The `skillpkg` command.

mod candidates;
mod commands;
mod context;
mod hidden;
mod interruption;
mod keyboard;
mod output;
mod working;

use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory as _, Parser as _};
use output::Output;

fn main() -> ExitCode {
    if let Some(code) = completed() {
        return code;
    }
    let command_line = match commands::CommandLine::try_parse() {
        Ok(command_line) => command_line,
        // Help and the version are data and go to stdout; clap tells which is which.
        Err(message) => {
            let mut message =
                commands::explained(message, commands::CommandLine::command(), std::env::args_os());
            leave_out_vain_tips(&mut message);
            let is_json = std::env::args_os().any(|argument| argument == "--json");
            if message.use_stderr() && is_json {
                output::fail_usage(&message);
            }
            if message.kind() == ErrorKind::DisplayVersion && is_json {
                return version_as_json();
            }
            if let Err(error) = message.print()
                && !message.use_stderr()
            {
                let error = output::closed(&error);
                Output { json: false, quiet: false, verbose: false, input: false }.fail(&error);
                return ExitCode::from(error.kind.exit_code());
            }
            return ExitCode::from(u8::try_from(message.exit_code()).unwrap_or(2));
        }
    };
    commands::run(command_line)
}

/// Answers `--version --json`.
fn version_as_json() -> ExitCode {
    let output = Output { json: true, quiet: false, verbose: false, input: false };
    let answer = serde_json::json!({
        "name": env!("CARGO_PKG_NAME"),
        "version": env!("CARGO_PKG_VERSION"),
    });
    match output.json(&answer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output.fail(&error);
            ExitCode::from(error.kind.exit_code())
        }
    }
}

/// Takes out the tip to pass what looks like an option behind `--` as a value, where no value starts
/// with a hyphen: names, versions and capabilities never do, words that are searched for may.
fn leave_out_vain_tips(message: &mut clap::Error) {
    let is_search = std::env::args_os().any(|argument| argument == "search");
    if message.kind() == ErrorKind::UnknownArgument && !is_search {
        message.remove(ContextKind::Suggested);
    }
}

/// Completes a command line where a shell asks for that, in place of running one.
fn completed() -> Option<ExitCode> {
    use clap_complete::CompleteEnv;
    let directory = std::env::current_dir().ok();
    let complete = CompleteEnv::with_factory(commands::CommandLine::command)
        .var(candidates::VARIABLE)
        .completer("skillpkg");
    match complete.try_complete(std::env::args_os(), directory.as_deref()) {
        Ok(false) => None,
        Ok(true) => Some(ExitCode::SUCCESS),
        Err(error) => {
            let _ = error.print();
            Some(ExitCode::FAILURE)
        }
    }
}
