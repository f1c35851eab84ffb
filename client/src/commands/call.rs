//! `skillpkg call`.

use skillpkg::Error;

use crate::context::Context;

/// Run a tool or a script of an active skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg call waitlist access user=x@y.z")]
pub(crate) struct Arguments {
    /// The active skill
    name: String,
    /// The tool's id or the script's name
    capability: String,
    /// Arguments, `name=value`; `-` reads a JSON object from stdin
    arguments: Vec<String>,
    /// For all projects of this user, in agents' global directories
    #[arg(short = 'g', long)]
    global: bool,
    /// Permit the call
    #[arg(short, long)]
    yes: bool,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
