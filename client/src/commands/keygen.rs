//! `skillpkg keygen`.

use std::path::PathBuf;

use skillpkg::Error;

use crate::context::Context;

/// Make a signing key.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg keygen")]
pub(crate) struct Arguments {
    /// Where to write it; the default key of this home where absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
