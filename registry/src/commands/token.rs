//! `token`.

use std::process::ExitCode;

use clap::Subcommand;
use skillpkg_registry::accounts::tokens::{self, Minting};
use skillpkg_registry::clock;
use skillpkg_registry::data::Data;
use skillpkg_registry::grant::Grant;

use super::{Directory, Failure, Format, output};

#[derive(Debug, Subcommand)]
pub(super) enum Token {
    /// Make a token of an account and print it, alone, on stdout
    #[command(
        after_help = "Example:\n  skillpkg-registry token mint ana --grant read --grant 'publish:acme/*' --days 90 --data /var/lib/skillpkg"
    )]
    Mint {
        /// The account
        user: String,
        /// What it allows: `read`, `admin`, `publish:PATTERN`, `yank:PATTERN`
        #[arg(long = "grant", value_name = "GRANT", required = true)]
        grants: Vec<Grant>,
        /// What its owner calls it
        #[arg(long, default_value = "minted by an operator")]
        label: String,
        /// For how many days; no end where it is absent
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(tokens::MOST_DAYS)))]
        days: Option<u32>,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
    /// List the tokens in use of an account, never their secrets
    #[command(after_help = "Example:\n  skillpkg-registry token list ana --data /var/lib/skillpkg")]
    List {
        /// The account
        user: String,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
    /// Revoke a token; a registry that serves refuses it within a second
    #[command(
        after_help = "Example:\n  skillpkg-registry token revoke 0123456789abcdef --data /var/lib/skillpkg"
    )]
    Revoke {
        /// The token's id, as `token list` shows it
        id: String,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
}

impl Token {
    pub(super) fn json(&self) -> bool {
        let (Self::Mint { format, .. } | Self::List { format, .. } | Self::Revoke { format, .. }) =
            self;
        format.json
    }

    pub(super) async fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            Self::Mint { user, grants, label, days, directory, format } => {
                let data = Data::open(directory.places()).await?;
                let expires = days.map(clock::in_days);
                let minting = Minting { label, grants, expires: expires.as_deref() };
                let minted = tokens::mint_for(&data.database, user, &minting).await?;
                let shown = if format.json {
                    output::secret(&serde_json::to_string(&minted).unwrap_or_default())
                } else {
                    output::secret(&minted.secret)
                };
                shown.map_err(|failure| {
                    let id = &minted.token.id;
                    let revoke = format!("`skillpkg-registry token revoke {id}` takes it back");
                    failure.or_unshown(format!("the token `{id}` is made"), revoke)
                })?;
            }
            Self::List { user, directory, format } => {
                let data = Data::open(directory.places()).await?;
                let tokens = tokens::list_of(&data.database, user).await?;
                if format.json {
                    output::json(&serde_json::json!({"tokens": tokens}))?;
                } else {
                    if !tokens.is_empty() {
                        output::tell("id, grants, end, last use (to the hour), label:");
                    }
                    let now = clock::now();
                    for token in tokens {
                        let end = match token.expires.as_deref() {
                            None => "no end".to_owned(),
                            Some(end) if end <= now.as_str() => format!("ended {end}"),
                            Some(end) => end.to_owned(),
                        };
                        let used = token.last_used.as_deref().unwrap_or("never used");
                        let grants = token.grants.join(" ");
                        output::line(&format!(
                            "{}\t{grants}\t{end}\t{used}\t{}",
                            token.id, token.label
                        ))?;
                    }
                }
            }
            Self::Revoke { id, directory, format } => {
                let data = Data::open(directory.places()).await?;
                tokens::revoke_any(&data.database, id).await?;
                if format.json {
                    output::json(&serde_json::json!({"revoked": id}))?;
                } else {
                    output::tell(&format!("`{id}` is revoked"));
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
