//! `skillpkg activate`.

use skillpkg::Error;
use skillpkg::install::{Options, activate};

use crate::candidates;
use crate::commands::attendant::Terminal;
use crate::commands::{installed, reach};
use crate::context::Context;

/// Verify an installed skill, ask, and let agents see it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg activate waitlist")]
pub(crate) struct Arguments {
    /// The installed skill
    #[arg(add = candidates::installed())]
    name: String,
    /// For all projects of this user, in agents' global directories
    #[arg(short = 'g', long)]
    global: bool,
    /// Approve what it runs
    #[arg(short, long)]
    yes: bool,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let Arguments { name, global, yes } = arguments;
    let options = Options { approve: yes, ..Options::new(reach(global)) };
    let mut terminal = Terminal::approving(context.output);
    let report = activate(&context.settings, &options, &[name], &mut terminal).await?;
    installed::tell_activated(&report, context.output)?;
    Ok(0)
}
