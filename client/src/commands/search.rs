//! `skillpkg search`.

use skillpkg::Error;
use skillpkg::registry::Registry;
use skillpkg::settings::registry_text;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::wire::SearchHit;

use crate::commands::account;
use crate::context::Context;

/// Find skills.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg search waitlist")]
pub(crate) struct Arguments {
    /// Words of the name, the description or the tools
    #[arg(required = true)]
    words: Vec<String>,
    /// How many at most
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let choice = context.settings.chosen_registry()?;
    let registry = Registry::chosen(&context.settings, &choice)?;
    let registry = account::checked(context, registry).await?;
    let answer = registry.search(&arguments.words.join(" "), arguments.limit).await?;
    if answer.skills.is_empty() {
        context.output.talk(&format!("Nothing found at {}.", registry_text(registry.url())));
    } else {
        let lines: Vec<String> = answer.skills.iter().map(line).collect();
        context.output.text(&lines.join("\n"))?;
        let more = answer.total.saturating_sub(answer.skills.len() as u64);
        if more > 0 {
            context.output.talk(&format!("{more} more; `--limit` shows more of them."));
        }
    }
    context.output.json(&answer)?;
    Ok(0)
}

fn line(hit: &SearchHit) -> String {
    let capabilities = if hit.capabilities.is_empty() {
        String::new()
    } else {
        format!("\n    can {}", escape(&hit.capabilities.join(", ")))
    };
    format!("{} {}\n    {}{capabilities}", hit.name, hit.version, escape(&hit.description))
}
