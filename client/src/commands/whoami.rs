//! `skillpkg whoami`.

use serde::Serialize;
use skillpkg::Error;
use skillpkg::settings::registry_text;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::wire::WhoAmI;

use crate::commands::account;
use crate::context::Context;

/// Tell whose token it is and what it allows.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg whoami")]
pub(crate) struct Arguments {}

#[derive(Serialize)]
struct Known {
    #[serde(flatten)]
    who: WhoAmI,
    registry: String,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let Arguments {} = arguments;
    let registry = account::registry_with_token(context).await?;
    let who = registry.who_am_i().await?;
    let registry = registry_text(registry.url()).to_owned();
    let mut lines = vec![format!("{} at {registry}", escape(&who.account))];
    lines.push(format!("allowed: {}", escape(&who.grants.join(", "))));
    if !who.scopes.is_empty() {
        let scopes: Vec<&str> = who.scopes.iter().map(skillpkg_schema::Scope::as_str).collect();
        lines.push(format!("scopes: {}", escape(&scopes.join(", "))));
    }
    if let Some(expires) = &who.expires {
        lines.push(format!("until: {}", escape(expires)));
    }
    context.output.text(&lines.join("\n"))?;
    context.output.json(&Known { who, registry })?;
    Ok(0)
}
