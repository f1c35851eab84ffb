//! `skillpkg resolve`.

use skillpkg::Error;

use crate::context::Context;

/// Read a model's answer on stdin and print the call in it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: echo '{\"tool\":\"access\",\"args\":{\"user\":\"x@y.z\"}}' | skillpkg resolve examples/waitlist"
)]
pub(crate) struct Arguments {
    /// A directory or an installed skill's name; the working directory where absent
    what: Option<String>,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
