//! `skillpkg owner`.

use skillpkg::Error;

use crate::context::Context;

/// Tell, add or remove who may publish a skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg owner add waitlist ada")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// What to do with owners.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Action {
    /// Tell the owners
    List {
        /// The skill
        name: String,
    },
    /// Add an owner
    Add {
        /// The skill
        name: String,
        /// The account
        account: String,
    },
    /// Remove an owner, never the last
    Remove {
        /// The skill
        name: String,
        /// The account
        account: String,
    },
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
