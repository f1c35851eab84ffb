//! `scope`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use skillpkg_registry::accounts::scopes::{self, Role};
use skillpkg_registry::data::Data;
use skillpkg_registry::names::requests;

use super::{Directory, Failure, Format, output};

#[derive(Debug, Subcommand)]
pub(super) enum Scope {
    /// Make a scope with its first owner
    #[command(
        after_help = "Example:\n  skillpkg-registry scope add acme --owner ana --private --data /var/lib/skillpkg"
    )]
    Add {
        /// The scope's name
        name: String,
        /// The account that owns it
        #[arg(long, value_name = "USER")]
        owner: String,
        /// Only members may read its skills
        #[arg(long)]
        private: bool,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
    /// List the scopes and their members
    #[command(after_help = "Example:\n  skillpkg-registry scope list --data /var/lib/skillpkg")]
    List {
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
    /// Add and remove members
    #[command(
        subcommand,
        after_help = "Example:\n  skillpkg-registry scope member add acme ben --role reader --data /var/lib/skillpkg"
    )]
    Member(Member),
}

#[derive(Debug, Subcommand)]
pub(super) enum Member {
    /// Make an account a member, or give a member another role
    #[command(
        after_help = "Example:\n  skillpkg-registry scope member add acme ben --role reader --data /var/lib/skillpkg"
    )]
    Add {
        #[command(flatten)]
        who: Who,
        /// `reader`, `publisher` or `owner`
        #[arg(long, value_name = "ROLE", default_value = "publisher")]
        role: Role,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
    /// Remove a member
    #[command(
        after_help = "Example:\n  skillpkg-registry scope member remove acme ben --data /var/lib/skillpkg"
    )]
    Remove {
        #[command(flatten)]
        who: Who,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
}

#[derive(Debug, Args)]
pub(super) struct Who {
    /// The scope
    scope: String,
    /// The account
    user: String,
}

impl Scope {
    pub(super) fn json(&self) -> bool {
        let (Self::Add { format, .. }
        | Self::List { format, .. }
        | Self::Member(Member::Add { format, .. } | Member::Remove { format, .. })) = self;
        format.json
    }

    pub(super) async fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            Self::Add { name, owner, private, directory, format } => {
                let data = Data::open(directory.places()).await?;
                scopes::add(&data.database, name, owner, *private).await?;
                let like = requests::scopes_like(&data.database, name).await?;
                let resembles: Vec<&str> = like.iter().map(|one| one.name.as_str()).collect();
                let done = serde_json::json!({
                    "scope": name, "owner": owner, "private": private, "resembles": resembles
                });
                said(format, &done, &format!("`{name}` is a scope; `{owner}` owns it"))?;
                for resemblance in &like {
                    output::tell(&format!(
                        "warning: `{name}` {resemblance}, a scope that was there: who reads one may \
                         take it for the other"
                    ));
                }
            }
            Self::List { directory, format } => list(directory, format).await?,
            Self::Member(Member::Add { who: Who { scope, user }, role, directory, format }) => {
                let data = Data::open(directory.places()).await?;
                scopes::add_member(&data.database, scope, user, *role).await?;
                let done = serde_json::json!({"scope": scope, "account": user, "role": role});
                said(format, &done, &format!("`{user}` is a member of `{scope}`: {role}"))?;
            }
            Self::Member(Member::Remove { who: Who { scope, user }, directory, format }) => {
                let data = Data::open(directory.places()).await?;
                scopes::remove_member(&data.database, scope, user).await?;
                let done = serde_json::json!({"scope": scope, "account": user, "role": null});
                said(format, &done, &format!("`{user}` is no member of `{scope}` any more"))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn said(format: &Format, done: &serde_json::Value, text: &str) -> Result<(), Failure> {
    if format.json {
        return output::json(done);
    }
    output::tell(text);
    Ok(())
}

async fn list(directory: &Directory, format: &Format) -> Result<(), Failure> {
    let data = Data::open(directory.places()).await?;
    let scopes = scopes::list(&data.database).await?;
    if format.json {
        return output::json(&serde_json::json!({"scopes": scopes}));
    }
    for scope in scopes {
        let members: Vec<String> = scope
            .members
            .iter()
            .map(|member| format!("{} ({})", member.account, member.role))
            .collect();
        let visibility = if scope.private { "private" } else { "public" };
        output::line(&format!("{}\t{visibility}\t{}", scope.name, members.join(", ")))?;
    }
    Ok(())
}
