//! `skillpkg sync`.

use skillpkg::Error;

use crate::commands::PlacingArguments;
use crate::context::Context;

/// Make the project what its lockfile says.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg sync --frozen")]
pub(crate) struct Arguments {
    /// Fail where `skillpkg.toml` and `skillpkg.lock` differ
    #[arg(long, conflicts_with = "check")]
    frozen: bool,
    /// Change nothing; exit 6 where something would change
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    placing: PlacingArguments,
    /// Approve what they run
    #[arg(short, long)]
    yes: bool,
    /// Take a skill that another key signed than the one seen first
    #[arg(long)]
    accept_signer: bool,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
