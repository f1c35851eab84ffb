//! `skillpkg deactivate`.

use serde::Serialize;
use skillpkg::Error;
use skillpkg::install::{Options, deactivate};
use skillpkg_schema::QualifiedName;

use crate::candidates;
use crate::commands::attendant::Terminal;
use crate::commands::reach;
use crate::context::Context;

/// Take an installed skill out of the sight of agents.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg deactivate waitlist")]
pub(crate) struct Arguments {
    /// The installed skill
    #[arg(add = candidates::installed())]
    name: String,
    /// For all projects of this user, in agents' global directories
    #[arg(short = 'g', long)]
    global: bool,
    /// Remove copies that were edited
    #[arg(long)]
    discard_edits: bool,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Shape<'a> {
    deactivated: &'a [QualifiedName],
}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let Arguments { name, global, discard_edits } = arguments;
    let options = Options { discard_edits, ..Options::new(reach(global)) };
    let mut terminal = Terminal::approving(context.output);
    let names = deactivate(&context.settings, &options, &[name], &mut terminal)?;
    context.output.json(&Shape { deactivated: &names })?;
    for name in names {
        context.output.text(&format!("deactivated {name}, which stays installed"))?;
    }
    Ok(0)
}
