//! `skillpkg pack`.

use std::path::PathBuf;

use skillpkg::Error;

use crate::commands::PackingArguments;
use crate::context::Context;

/// Write the signed archive of a skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg pack examples/waitlist -o waitlist.skill.tar.zst")]
pub(crate) struct Arguments {
    #[command(flatten)]
    packing: PackingArguments,
    /// Where to write it; `NAME-VERSION.skill.tar.zst` where absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print which files would be packed, and write nothing
    #[arg(long)]
    list: bool,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
