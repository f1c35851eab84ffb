//! `skillpkg cat`.

use skillpkg::Error;

use crate::context::Context;

/// Print exact bytes, verified before they are written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg cat waitlist SKILL.md")]
pub(crate) struct Arguments {
    /// An address, or a skill, `[scope/]name[@requirement]`
    what: String,
    /// The file, where a skill is named
    path: Option<String>,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
