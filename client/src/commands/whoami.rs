//! `skillpkg whoami`.

use skillpkg::Error;

use crate::context::Context;

/// Tell whose token it is and what it allows.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg whoami")]
pub(crate) struct Arguments {}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
