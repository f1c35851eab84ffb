//! `skillpkg show`.

use skillpkg::Error;

use crate::context::Context;

/// Tell everything known about one skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg show waitlist@1.2")]
pub(crate) struct Arguments {
    /// The skill, `[scope/]name[@requirement]`
    reference: String,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
