//! `skillpkg yank`.

use serde_json::json;
use skillpkg::Error;

use crate::commands::{absent, account, exact_version, reason};
use crate::context::Context;

/// Keep a version from being picked anew; who has it locked keeps it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: skillpkg yank waitlist@1.2.0 --reason \"asks for the wrong address\""
)]
pub(crate) struct Arguments {
    /// The version, `[scope/]name@version`
    reference: String,
    /// Why, for those who have it
    #[arg(long)]
    reason: String,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let (name, version) = exact_version::read(&arguments.reference)?;
    let reason = reason::read(&arguments.reason)?;
    let registry = account::registry_of(context, &name).await?;
    // Whether it is new is only told: what cannot be asked stops nothing.
    let document = registry.document(&name).await.ok().flatten();
    let was_yanked = document.is_some_and(|document| {
        document.version(&version).is_some_and(|entry| entry.yanked.is_some())
    });
    if let Err(error) = registry.yank(&name, &version, reason).await {
        return Err(absent::explain(error, &registry, &name, Some(&version)).await);
    }
    context.output.talk(&if was_yanked {
        format!("{name} {version} was yanked already; the reason is the one given now.")
    } else {
        format!("Yanked {name} {version}: nobody gets it anew, who has it locked keeps it.")
    });
    context.output.json(&json!({
        "name": name,
        "version": version,
        "yanked": true,
        "reason": reason,
    }))?;
    Ok(0)
}
