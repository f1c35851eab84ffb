//! `skillpkg gc`.

use skillpkg::Error;

use crate::context::Context;

/// Remove what no project on this machine uses from the store.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg gc")]
pub(crate) struct Arguments {}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
