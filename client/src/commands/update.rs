//! `skillpkg update`.

use skillpkg::Error;
use skillpkg::install::{Options, update};

use crate::commands::attendant::Terminal;
use crate::commands::{installed, reach};
use crate::context::Context;

/// Move skills to the newest versions that the project asks for.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg update waitlist")]
pub(crate) struct Arguments {
    /// Which; all where absent
    names: Vec<String>,
    /// For all projects of this user, in agents' global directories
    #[arg(short = 'g', long)]
    global: bool,
    /// Approve what they run
    #[arg(short, long)]
    yes: bool,
    /// Approve programs, tools, scripts and permissions that the version before did not have
    #[arg(long)]
    accept_permissions: bool,
    /// Take a skill that another key signed than the one seen first
    #[arg(long)]
    accept_signer: bool,
    /// Replace copies that were edited
    #[arg(long)]
    discard_edits: bool,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let Arguments { names, global, yes, accept_permissions, accept_signer, discard_edits } =
        arguments;
    let options = Options {
        approve: yes,
        accept_permissions,
        accept_signer,
        discard_edits,
        ..Options::new(reach(global))
    };
    let otherwise = "read what it adds, then approve it with `--accept-permissions`";
    let mut terminal = Terminal::new(context.output, otherwise);
    let report = update(&context.settings, &options, &names, &mut terminal).await?;
    installed::tell_update(&report, context.output)?;
    Ok(0)
}
