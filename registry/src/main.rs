//! `skillpkg-registry`: serves a registry, and manages its accounts, scopes and tokens.

mod commands;

use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ContextKind;

fn main() -> ExitCode {
    // Whatever it makes, in a directory that others may enter as well, is its owner's alone.
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    match commands::Arguments::try_parse() {
        Ok(arguments) => commands::run(arguments),
        Err(mut error) => {
            // That what looks like an option may be a value: none here starts with a hyphen.
            error.remove(ContextKind::Suggested);
            commands::misunderstood(&error)
        }
    }
}
