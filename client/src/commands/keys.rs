//! `skillpkg keys`.

use std::path::PathBuf;

use skillpkg::Error;

use crate::context::Context;

/// Tell the signing keys there are, and which the account has.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg keys list")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

/// What to do with keys.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Action {
    /// Tell the keys on this machine and those that the account has
    List,
    /// Register a public key with the account; the default key's where no file is given
    Add {
        /// A PEM file of a private or a public key
        file: Option<PathBuf>,
    },
    /// Revoke a key of the account
    Revoke {
        /// The key's id, or enough of its first digits
        id: String,
    },
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let _ = (arguments, context);
    todo!()
}
