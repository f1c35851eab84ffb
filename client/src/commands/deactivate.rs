//! `skillpkg deactivate`.

use skillpkg::Error;

use crate::context::Context;

/// Take an installed skill out of the sight of agents.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg deactivate waitlist")]
pub(crate) struct Arguments {
    /// The installed skill
    name: String,
    /// For all projects of this user, in agents' global directories
    #[arg(short = 'g', long)]
    global: bool,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
