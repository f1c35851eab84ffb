//! `skillpkg verify`.

use skillpkg::Error;

use crate::context::Context;

/// Hash installed skills or archives again, and check their signatures.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg verify --all")]
pub(crate) struct Arguments {
    /// Installed skills or archives; those of the project where absent
    what: Vec<String>,
    /// Every snapshot in the store
    #[arg(long)]
    all: bool,
    /// Ask no registry
    #[arg(long)]
    offline: bool,
    /// Mend what is wrong: from the store, else from the registry
    #[arg(long)]
    repair: bool,
    /// For all projects of this user, in agents' global directories
    #[arg(short = 'g', long)]
    global: bool,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
