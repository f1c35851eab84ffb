//! `skillpkg inspect`.

use skillpkg::Error;

use crate::context::Context;

/// Tell what a skill carries: tools, programs, files, resources, scripts.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg inspect examples/waitlist --json")]
pub(crate) struct Arguments {
    /// A directory, an installed skill's name or an archive; the working directory where absent
    what: Option<String>,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
