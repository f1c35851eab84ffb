//! `skillpkg logout`.

use serde_json::json;
use skillpkg::Error;
use skillpkg::credentials::Credentials;
use skillpkg::settings::registry_text;

use crate::context::Context;

/// Forget the token for the registry.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg logout")]
pub(crate) struct Arguments {}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<u8, Error> {
    let Arguments {} = arguments;
    let choice = context.settings.chosen_registry()?;
    let url = registry_text(&choice.url);
    let removed = Credentials::new(&context.settings.home).forget(&choice.url)?;
    if removed {
        context.output.talk(&format!(
            "Forgot the token for {url}. It is still valid: the registry revokes it."
        ));
    } else {
        context.output.talk(&format!("There was no token for {url}."));
    }
    context.output.json(&json!({ "registry": url, "removed": removed }))?;
    Ok(0)
}
