//! `user`.

use std::process::ExitCode;

use clap::Subcommand;
use skillpkg_registry::accounts;
use skillpkg_registry::accounts::closing::{self, Closing};
use skillpkg_registry::data::Data;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::signature::KeyId;

use super::{Directory, Failure, Format, output};

#[derive(Debug, Subcommand)]
pub(super) enum User {
    /// Make an account and print its first token, alone, on stdout
    #[command(after_help = "Example:\n  skillpkg-registry user add ana --data /var/lib/skillpkg")]
    Add {
        /// The account's name
        name: String,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
    /// List the accounts
    #[command(after_help = "Example:\n  skillpkg-registry user list --data /var/lib/skillpkg")]
    List {
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
    /// Close an account, for good: its tokens and keys are revoked and it gets no others; its name stays
    /// taken, and what it owns is left as it is
    #[command(
        after_help = "Example:\n  skillpkg-registry user close ben --reason 'left the company' --data /var/lib/skillpkg"
    )]
    Close {
        /// The account's name
        name: String,
        /// Why: whoever has something signed with its keys is told
        #[arg(long)]
        reason: Option<String>,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
    /// List the signing keys of an account, revoked ones among them
    #[command(after_help = "Example:\n  skillpkg-registry user keys ben --data /var/lib/skillpkg")]
    Keys {
        /// The account's name
        name: String,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
    /// Revoke a signing key of an account, for good: nothing is published under it any more
    #[command(
        after_help = "Example:\n  skillpkg-registry user revoke-key ben 3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b --reason 'the laptop was stolen' --data /var/lib/skillpkg"
    )]
    RevokeKey {
        /// The account's name
        name: String,
        /// The key's id, as `user keys` shows it
        key: KeyId,
        /// Why: whoever has something signed with it is told
        #[arg(long)]
        reason: Option<String>,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
}

impl User {
    pub(super) fn json(&self) -> bool {
        let (Self::Add { format, .. }
        | Self::List { format, .. }
        | Self::Close { format, .. }
        | Self::Keys { format, .. }
        | Self::RevokeKey { format, .. }) = self;
        format.json
    }

    pub(super) async fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            Self::Add { name, directory, format } => {
                let (data, made) = Data::open_or_start(directory.places()).await?;
                if made {
                    output::tell(&format!("made a registry in `{}`", directory.data.display()));
                }
                let token = accounts::add(&data.database, name).await?;
                let shown = if format.json {
                    let answer = serde_json::json!({"account": name, "token": token});
                    output::secret(&answer.to_string())
                } else {
                    output::secret(&token)
                };
                shown.map_err(|failure| {
                    let another = format!(
                        "`skillpkg-registry token mint {name} --grant read --grant 'publish:*' \
                         --grant 'yank:*' --grant admin` makes another"
                    );
                    failure.or_unshown(format!("the account `{name}` is made"), another)
                })?;
            }
            Self::List { directory, format } => {
                let data = Data::open(directory.places()).await?;
                let accounts = accounts::list(&data.database).await?;
                if format.json {
                    output::json(&serde_json::json!({"accounts": accounts}))?;
                } else {
                    for account in accounts {
                        let closed = account.closed.map(|closed| format!("\tclosed {closed}"));
                        let closed = closed.unwrap_or_default();
                        output::line(&format!("{}\t{}{closed}", account.name, account.created))?;
                    }
                }
            }
            Self::Close { name, reason, directory, format } => {
                let data = Data::open(directory.places()).await?;
                let closing = closing::close(&data.database, name, reason.as_deref()).await?;
                if format.json {
                    output::json(&closing)?;
                } else {
                    tell_closing(&closing);
                }
            }
            Self::Keys { name, directory, format } => {
                let data = Data::open(directory.places()).await?;
                let keys = accounts::keys::list_of(&data.database, name).await?;
                if format.json {
                    output::json(&serde_json::json!({"keys": keys}))?;
                } else {
                    for key in keys {
                        let state = match key.revoked {
                            Some(revoked) => format!("revoked {revoked}"),
                            None => "in use".to_owned(),
                        };
                        let reason = key.reason.map(|reason| format!("\t{}", escape(&reason)));
                        let reason = reason.unwrap_or_default();
                        output::line(&format!("{}\t{}\t{state}{reason}", key.id, key.added))?;
                    }
                }
            }
            Self::RevokeKey { name, key, reason, directory, format } => {
                let data = Data::open(directory.places()).await?;
                closing::revoke_key(&data.database, name, key, reason.as_deref()).await?;
                if format.json {
                    output::json(&serde_json::json!({"account": name, "revoked": key}))?;
                } else {
                    output::tell(&format!("the key {key} of `{name}` is revoked"));
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn tell_closing(closing: &Closing) {
    let Closing { account, tokens, keys, invitations, .. } = closing;
    let keys = keys.len();
    output::tell(&format!(
        "`{account}` is closed; tokens revoked: {tokens}, keys revoked: {keys}, invitations withdrawn: \
         {invitations}"
    ));
    for name in &closing.ownerless_names {
        output::tell(&format!(
            "`{name}` has no other owner; `name transfer {name} USER` gives it one"
        ));
    }
    for scope in &closing.ownerless_scopes {
        output::tell(&format!(
            "the scope `{scope}` has no other owner; `scope member add {scope} USER --role owner` gives it one"
        ));
    }
}
