//! `skillpkg owner`.

use serde_json::json;
use skillpkg::registry::Registry;
use skillpkg::{Error, Kind};
use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;

use crate::commands::{absent, account};
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
    #[command(after_help = "Example: skillpkg owner list waitlist")]
    List {
        /// The skill
        name: String,
    },
    /// Add an owner
    #[command(after_help = "Example: skillpkg owner add waitlist bob")]
    Add {
        /// The skill
        name: String,
        /// The account
        account: String,
    },
    /// Remove an owner, never the last
    #[command(after_help = "Example: skillpkg owner remove waitlist bob")]
    Remove {
        /// The skill
        name: String,
        /// The account
        account: String,
    },
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let (registry, name, owners) = match arguments.action {
        Action::List { name } => {
            let name = read_name(&name)?;
            let registry = Registry::for_settings(&context.settings, &name)?;
            let owners = registry.owners(&name).await;
            (registry, name, owners)
        }
        Action::Add { name, account } => {
            let name = read_name(&name)?;
            let registry = account::registry_of(context, &name)?;
            let owners = registry.add_owner(&name, &account).await;
            if owners.is_ok() {
                context.output.talk(&format!("{} is an owner of {name}.", escape(&account)));
            }
            (registry, name, owners)
        }
        Action::Remove { name, account } => {
            let name = read_name(&name)?;
            let registry = account::registry_of(context, &name)?;
            let owners = registry.remove_owner(&name, &account).await;
            if owners.is_ok() {
                let account = escape(&account);
                context.output.talk(&format!("{account} is no longer an owner of {name}."));
            }
            (registry, name, owners)
        }
    };
    let owners = match owners {
        Ok(owners) => owners,
        Err(error) => return Err(absent::explain(error, &registry, &name, None).await),
    };
    let lines: Vec<String> = owners.owners.iter().map(|owner| escape(owner)).collect();
    context.output.text(&lines.join("\n"))?;
    context.output.json(&json!({ "name": name, "owners": owners.owners }))?;
    Ok(0)
}

fn read_name(text: &str) -> Result<QualifiedName, Error> {
    text.parse().map_err(|error: skillpkg_schema::name::NameError| {
        Error::new(Kind::Usage, "invalid_name", error.to_string())
    })
}
