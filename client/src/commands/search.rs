//! `skillpkg search`.

use skillpkg::Error;

use crate::context::Context;

/// Find skills.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg search waitlist")]
pub(crate) struct Arguments {
    /// Words of the name, the description or the tools
    #[arg(required = true)]
    words: Vec<String>,
    /// How many at most
    #[arg(long, default_value_t = 20)]
    limit: u32,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
