//! `skillpkg-registry`: serves a registry, and manages its accounts, scopes and tokens.

mod commands;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match commands::Arguments::try_parse() {
        Ok(arguments) => commands::run(arguments),
        Err(error) => commands::misunderstood(&error),
    }
}
