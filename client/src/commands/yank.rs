//! `skillpkg yank`.

use skillpkg::Error;

use crate::context::Context;

/// Keep a version from being picked anew; who has it locked keeps it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: skillpkg yank waitlist@1.2.0 --reason \"asks for the wrong address\""
)]
pub(crate) struct Arguments {
    /// The version, `[scope/]name@version`
    reference: String,
    /// Why, for those who have it
    #[arg(long)]
    reason: String,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
