//! `skillpkg list`.

use skillpkg::Error;

use crate::context::Context;

/// Tell the installed skills.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg list --json")]
pub(crate) struct Arguments {
    /// For all projects of this user, in agents' global directories
    #[arg(short = 'g', long)]
    global: bool,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
