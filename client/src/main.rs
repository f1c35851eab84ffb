//! The `skillpkg` command.

mod commands;
mod context;
mod hidden;
mod output;

use std::process::ExitCode;

use clap::Parser as _;
use output::Output;

fn main() -> ExitCode {
    let command_line = match commands::CommandLine::try_parse() {
        Ok(command_line) => command_line,
        // Help and the version are data and go to stdout; clap tells which is which.
        Err(message) => {
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
