//! `advisory`.

use std::process::ExitCode;
use std::str::FromStr;

use clap::{Subcommand, ValueEnum};
use skillpkg_registry::advisories;
use skillpkg_registry::data::Data;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::{Effect, NewAdvisory};

use super::{Directory, Failure, Format, output};

#[derive(Debug, Subcommand)]
pub(super) enum Advisory {
    /// Publish what is wrong with versions of a skill
    #[command(
        after_help = "Example:\n  skillpkg-registry advisory add 'waitlist@<1.2.1' --effect forbid --summary 'It sends keys away' --data /var/lib/skillpkg"
    )]
    Add {
        /// `[scope/]name`, or `[scope/]name@requirement` for some versions
        #[arg(value_name = "NAME[@REQUIREMENT]")]
        about: About,
        /// What it asks of clients: to tell, or to refuse these versions
        #[arg(long, value_enum)]
        effect: Asked,
        /// What is wrong, in one line
        #[arg(long)]
        summary: String,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
    /// Take an advisory back
    #[command(
        after_help = "Example:\n  skillpkg-registry advisory withdraw SKA-2026-0001 --data /var/lib/skillpkg"
    )]
    Withdraw {
        /// Its id
        id: String,
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
    /// List all advisories, withdrawn ones among them
    #[command(after_help = "Example:\n  skillpkg-registry advisory list --data /var/lib/skillpkg")]
    List {
        #[command(flatten)]
        directory: Directory,
        #[command(flatten)]
        format: Format,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Asked {
    Warn,
    Forbid,
}

/// What an advisory is about.
#[derive(Debug, Clone)]
pub(super) struct About {
    name: QualifiedName,
    versions: String,
}

impl FromStr for About {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, versions) = text.split_once('@').unwrap_or((text, "*"));
        let name =
            name.parse().map_err(|error: skillpkg_schema::name::NameError| error.to_string())?;
        Ok(Self { name, versions: versions.to_owned() })
    }
}

impl Advisory {
    pub(super) fn json(&self) -> bool {
        let (Self::Add { format, .. } | Self::Withdraw { format, .. } | Self::List { format, .. }) =
            self;
        format.json
    }

    pub(super) async fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            Self::Add { about: About { name, versions }, effect, summary, directory, format } => {
                let data = Data::open(directory.places()).await?;
                let effect = match effect {
                    Asked::Warn => Effect::Warn,
                    Asked::Forbid => Effect::Forbid,
                };
                let (versions, summary) = (versions.clone(), summary.clone());
                let new = NewAdvisory { versions, effect, summary };
                let advisory = advisories::add(&data.database, name, &new).await?;
                if format.json {
                    output::json(&advisory)?;
                } else {
                    output::line(&advisory.id)?;
                }
            }
            Self::Withdraw { id, directory, format } => {
                let data = Data::open(directory.places()).await?;
                let name = advisories::take_back(&data.database, id).await?;
                if format.json {
                    output::json(&serde_json::json!({"id": id, "name": name}))?;
                } else {
                    output::tell(&format!("`{id}` about `{name}` is withdrawn"));
                }
            }
            Self::List { directory, format } => list(directory, format).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn list(directory: &Directory, format: &Format) -> Result<(), Failure> {
    let data = Data::open(directory.places()).await?;
    let listed = advisories::list(&data.database).await?;
    if format.json {
        return output::json(&serde_json::json!({"advisories": listed}));
    }
    for advisories::Listed { name, advisory, withdrawn } in listed {
        let effect = match (withdrawn, advisory.effect) {
            (Some(_), _) => "withdrawn",
            (None, Effect::Warn) => "warn",
            (None, Effect::Forbid) => "forbid",
        };
        let (id, versions, summary) = (advisory.id, advisory.versions, advisory.summary);
        output::line(&format!("{id}\t{name}@{versions}\t{effect}\t{summary}"))?;
    }
    Ok(())
}
