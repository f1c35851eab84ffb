//! `skillpkg login`.

use skillpkg::Error;

use crate::context::Context;

/// Keep a token for the registry, read from a prompt or stdin.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg login --registry http://127.0.0.1:7770 < token")]
pub(crate) struct Arguments {}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
