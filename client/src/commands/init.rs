//! `skillpkg init`.

use std::path::PathBuf;

use skillpkg::Error;

use crate::context::Context;

/// Make a skill that passes `check`, ready to publish.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg init my-skill --hard")]
pub(crate) struct Arguments {
    /// Where; the working directory where absent
    directory: Option<PathBuf>,
    /// A hard skill, with a tool
    #[arg(long)]
    hard: bool,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
