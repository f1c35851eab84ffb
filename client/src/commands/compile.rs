//! `skillpkg compile`.

use skillpkg::Error;

use crate::context::Context;

/// Print the system text of a skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg compile examples/waitlist")]
pub(crate) struct Arguments {
    /// A directory or an installed skill's name; the working directory where absent
    what: Option<String>,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
