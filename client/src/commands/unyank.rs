//! `skillpkg unyank`.

use serde_json::json;
use skillpkg::Error;

use crate::commands::{absent, account, exact_version};
use crate::context::Context;

/// Take a yank back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg unyank waitlist@1.2.0")]
pub(crate) struct Arguments {
    /// The version, `[scope/]name@version`
    reference: String,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let (name, version) = exact_version::read(&arguments.reference)?;
    let registry = account::registry_of(context, &name).await?;
    // Known beforehand where the document can be had; the registry decides either way.
    let was_yanked = exact_version::yank_of(&registry, &name, &version).await;
    if let Err(error) = registry.unyank(&name, &version).await {
        return Err(absent::explain(error, &registry, &name, Some(&version)).await);
    }
    context.output.talk(&match was_yanked {
        Some(None) => format!("{name} {version} was not yanked: nothing changed."),
        _ => format!("{name} {version} is no longer yanked."),
    });
    context.output.json(&json!({ "name": name, "version": version, "yanked": false }))?;
    Ok(0)
}
