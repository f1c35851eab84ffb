//! `skillpkg publish`.

use skillpkg::Error;

use crate::commands::PackingArguments;
use crate::context::Context;

/// Check, pack, sign and upload a skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg publish examples/waitlist")]
pub(crate) struct Arguments {
    #[command(flatten)]
    packing: PackingArguments,
    /// Do everything but upload
    #[arg(long)]
    dry_run: bool,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
