//! `skillpkg contract`.

use std::path::PathBuf;

use skillpkg::Error;

use crate::context::Context;

/// Compile a script's input contract, and bind arguments to it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg contract schema.json --args arguments.json")]
pub(crate) struct Arguments {
    /// The file of the schema
    schema: PathBuf,
    /// A file of arguments to bind
    #[arg(long, value_name = "FILE")]
    args: Option<PathBuf>,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
