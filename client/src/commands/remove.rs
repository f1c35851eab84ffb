//! `skillpkg remove`.

use skillpkg::Error;
use skillpkg::install::{Options, remove};

use crate::candidates;
use crate::commands::attendant::Terminal;
use crate::commands::{installed, reach};
use crate::context::Context;

/// Remove skills from the project.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg remove waitlist")]
pub(crate) struct Arguments {
    /// Which
    #[arg(required = true, add = candidates::installed())]
    names: Vec<String>,
    /// For all projects of this user, in agents' global directories
    #[arg(short = 'g', long)]
    global: bool,
    /// Remove copies that were edited
    #[arg(long)]
    discard_edits: bool,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let Arguments { names, global, discard_edits } = arguments;
    let options = Options { discard_edits, ..Options::new(reach(global)) };
    let mut terminal = Terminal::approving(context.output);
    let report = remove(&context.settings, &options, &names, &mut terminal).await?;
    installed::tell(&report, context.output)?;
    Ok(0)
}
