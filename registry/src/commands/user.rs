//! `user`.

use std::process::ExitCode;

use clap::Subcommand;
use skillpkg_registry::accounts;
use skillpkg_registry::data::Data;

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
}

impl User {
    pub(super) fn json(&self) -> bool {
        let (Self::Add { format, .. } | Self::List { format, .. }) = self;
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
                        output::line(&format!("{}\t{}", account.name, account.created))?;
                    }
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
