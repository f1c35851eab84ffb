//! `skillpkg logout`.

use skillpkg::Error;

use crate::context::Context;

/// Forget the token for the registry.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg logout")]
pub(crate) struct Arguments {}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
