//! `skillpkg-registry`: serves a registry, and manages its accounts, scopes and tokens.

mod commands;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    // Whatever it makes, in a directory that others may enter as well, is its owner's alone.
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    match commands::Arguments::try_parse() {
        Ok(arguments) => commands::run(arguments),
        Err(error) => commands::misunderstood(&error),
    }
}
