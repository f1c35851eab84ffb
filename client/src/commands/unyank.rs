//! `skillpkg unyank`.

use skillpkg::Error;

use crate::context::Context;

/// Take a yank back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg unyank waitlist@1.2.0")]
pub(crate) struct Arguments {
    /// The version, `[scope/]name@version`
    reference: String,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
