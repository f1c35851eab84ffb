//! `name`.

use std::process::ExitCode;
use std::str::FromStr;

use clap::Subcommand;
use skillpkg_registry::data::Data;
use skillpkg_registry::names::requests::{self, State};
use skillpkg_registry::names::{deletion, transfer};
use skillpkg_schema::{QualifiedName, Version};

use super::{Directory, Failure, Format, output};

#[derive(Debug, Subcommand)]
pub(super) enum Name {
    /// List the names that read like popular ones, and those that are given to nobody
    #[command(
        after_help = "Example:\n  skillpkg-registry name list --held --data /var/lib/skillpkg"
    )]
    List {
        /// Only those that wait
        #[arg(long)]
        held: bool,
        /// Only those that are published and that nobody has looked at
        #[arg(long)]
        flagged: bool,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
    /// Let the account that asked for a name have it, and take back that it is refused; a flagged one is
    /// listed no more as such
    #[command(
        after_help = "Example:\n  skillpkg-registry name release lodash-cli --data /var/lib/skillpkg"
    )]
    Release {
        /// The name
        name: QualifiedName,
        /// The account, where nobody or more than one asked
        #[arg(long)]
        user: Option<String>,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
    /// Give a name that is not published to nobody, until it is released
    #[command(
        after_help = "Example:\n  skillpkg-registry name refuse lodahs --data /var/lib/skillpkg"
    )]
    Refuse {
        /// The name
        name: QualifiedName,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
    /// Delete a version, or a name with every version; what is deleted cannot be had back
    #[command(
        after_help = "Example:\n  skillpkg-registry name delete waitlist@1.2.0 --reason 'it sends keys away' --data /var/lib/skillpkg"
    )]
    Delete {
        /// `[scope/]name`, or `[scope/]name@version` for one version
        #[arg(value_name = "NAME[@VERSION]")]
        what: Doomed,
        /// Why: whoever has it in a lockfile is told
        #[arg(long)]
        reason: String,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
    /// Make an account the only owner of a bare name, a deleted one among them
    #[command(
        after_help = "Example:\n  skillpkg-registry name transfer waitlist ben --data /var/lib/skillpkg"
    )]
    Transfer {
        /// The name
        name: QualifiedName,
        /// The account
        user: String,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
}

/// What is to be deleted.
#[derive(Debug, Clone)]
pub(super) struct Doomed {
    name: QualifiedName,
    version: Option<Version>,
}

impl FromStr for Doomed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, version) = match text.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let name =
            name.parse().map_err(|error: skillpkg_schema::name::NameError| error.to_string())?;
        let version = version.map(str::parse).transpose();
        let version =
            version.map_err(|error: skillpkg_schema::version::VersionError| error.to_string())?;
        Ok(Self { name, version })
    }
}

impl Name {
    pub(super) fn json(&self) -> bool {
        let (Self::List { format, .. }
        | Self::Release { format, .. }
        | Self::Refuse { format, .. }
        | Self::Delete { format, .. }
        | Self::Transfer { format, .. }) = self;
        format.json
    }

    pub(super) async fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            Self::List { held, flagged, directory, format } => {
                let wanted = [(*held, State::Held), (*flagged, State::Flagged)];
                let states: Vec<State> =
                    wanted.into_iter().filter(|(is, _)| *is).map(|(_, state)| state).collect();
                list(&states, directory, format).await?;
            }
            Self::Release { name, user, directory, format } => {
                let data = Data::open(directory.places()).await?;
                let user = requests::release(&data.database, name, user.as_deref()).await?;
                if format.json {
                    output::json(&serde_json::json!({"name": name, "released_to": user}))?;
                } else {
                    output::tell(&match user {
                        Some(user) => format!("`{user}` may publish `{name}`"),
                        None => format!(
                            "`{name}` is refused no more: whoever publishes it first has it"
                        ),
                    });
                }
            }
            Self::Refuse { name, directory, format } => {
                let data = Data::open(directory.places()).await?;
                requests::refuse(&data.database, name).await?;
                if format.json {
                    output::json(&serde_json::json!({"name": name, "refused": true}))?;
                } else {
                    output::tell(&format!("`{name}` is given to nobody"));
                }
            }
            Self::Delete { what, reason, directory, format } => {
                let data = Data::open(directory.places()).await?;
                let (name, version) = (&what.name, what.version.as_ref());
                let deletion = deletion::delete(&data.database, name, version, reason).await?;
                if format.json {
                    output::json(&deletion)?;
                } else {
                    let what = match version {
                        Some(version) => format!("`{name}@{version}` is"),
                        None if deletion.versions == 1 => {
                            format!("`{name}` is, and its one version is,")
                        }
                        None => format!("`{name}` is, and its {} versions are,", deletion.versions),
                    };
                    output::tell(&format!(
                        "{what} deleted; `gc` removes the content that nothing else holds"
                    ));
                }
            }
            Self::Transfer { name, user, directory, format } => {
                let data = Data::open(directory.places()).await?;
                transfer::transfer(&data.database, name, user).await?;
                if format.json {
                    output::json(&serde_json::json!({"name": name, "owner": user}))?;
                } else {
                    output::tell(&format!("`{user}` is the only owner of `{name}`"));
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn list(states: &[State], directory: &Directory, format: &Format) -> Result<(), Failure> {
    let data = Data::open(directory.places()).await?;
    let names = requests::list(&data.database, states).await?;
    if format.json {
        return output::json(&serde_json::json!({"names": names}));
    }
    for name in names {
        let or = |text: &Option<String>| {
            text.clone().filter(|text| !text.is_empty()).unwrap_or_else(|| "-".to_owned())
        };
        output::line(&format!(
            "{}\t{}\t{}\t{}\t{}\t{}",
            name.name,
            name.state.text(),
            or(&name.account),
            or(&name.likeness),
            or(&name.resembles),
            name.asked
        ))?;
    }
    Ok(())
}
