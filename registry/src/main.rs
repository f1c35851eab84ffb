//! `skillpkg-registry`: serves a registry, and manages its accounts, scopes and tokens.

mod commands;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let arguments = commands::Arguments::parse();
    commands::run(arguments)
}
