//! `skillpkg completions`.

use skillpkg::Error;

use crate::context::Context;

/// Print the completions of a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg completions bash")]
pub(crate) struct Arguments {
    /// The shell
    shell: clap_complete::Shell,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
