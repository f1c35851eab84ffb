//! The `skillpkg` command.

mod commands;
mod context;
mod hidden;
mod output;

use std::process::ExitCode;

use clap::Parser as _;
use clap::error::{ContextKind, ErrorKind};
use output::Output;

fn main() -> ExitCode {
    let command_line = match commands::CommandLine::try_parse() {
        Ok(command_line) => command_line,
        // Help and the version are data and go to stdout; clap tells which is which.
        Err(mut message) => {
            leave_out_vain_tips(&mut message);
            if message.use_stderr() && std::env::args_os().any(|argument| argument == "--json") {
                output::fail_usage(&message);
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

/// Takes out the tip to pass what looks like an option behind `--` as a value, where no value starts
/// with a hyphen: names, versions and capabilities never do, words that are searched for may.
fn leave_out_vain_tips(message: &mut clap::Error) {
    let is_search = std::env::args_os().any(|argument| argument == "search");
    if message.kind() == ErrorKind::UnknownArgument && !is_search {
        message.remove(ContextKind::Suggested);
    }
}
