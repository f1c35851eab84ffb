//! `skillpkg check`.

use std::path::PathBuf;

use skillpkg::Error;

use crate::context::Context;

/// Tell every error and warning of skills.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg check examples/waitlist")]
pub(crate) struct Arguments {
    /// The skills' directories; the working directory where absent
    directories: Vec<PathBuf>,
    /// Fill in missing descriptions, and take every file under `references/` as a resource
    #[arg(long)]
    compat: bool,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
