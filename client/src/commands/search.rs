//! `skillpkg search`.

use serde::Serialize;
use skillpkg::Error;
use skillpkg::registry::Registry;
use skillpkg::settings::registry_text;
use skillpkg::trust::Standings;
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
    let standings = Standings::read(&context.settings.home)?;
    let hits: Vec<Hit<'_>> = answer
        .skills
        .iter()
        .map(|hit| {
            let standing = standings.of(registry.url(), &hit.name, &hit.version);
            Hit { hit, forbidden_by: standing.forbids().map(|one| one.id.clone()) }
        })
        .collect();
    if hits.is_empty() {
        context.output.talk(&format!("Nothing found at {}.", registry_text(registry.url())));
    } else {
        let lines: Vec<String> = hits.iter().map(line).collect();
        context.output.text(&lines.join("\n"))?;
        let more = answer.total.saturating_sub(hits.len() as u64);
        if more > 0 {
            context.output.talk(&format!("{more} more; `--limit` shows more of them."));
        }
    }
    context.output.json(&Found { skills: hits, total: answer.total })?;
    Ok(0)
}

/// A skill that was found, and the advisory that forbids its version, where this machine has heard
/// of one.
#[derive(Serialize)]
struct Hit<'a> {
    #[serde(flatten)]
    hit: &'a SearchHit,
    #[serde(skip_serializing_if = "Option::is_none")]
    forbidden_by: Option<String>,
}

#[derive(Serialize)]
struct Found<'a> {
    skills: Vec<Hit<'a>>,
    total: u64,
}

fn line(Hit { hit, forbidden_by }: &Hit<'_>) -> String {
    let capabilities = if hit.capabilities.is_empty() {
        String::new()
    } else {
        format!("\n    can {}", escape(&hit.capabilities.join(", ")))
    };
    let forbidden = forbidden_by
        .as_ref()
        .map_or_else(String::new, |id| format!("  forbidden by advisory {}", escape(id)));
    let description = escape(&hit.description);
    format!("{} {}{forbidden}\n    {description}{capabilities}", hit.name, hit.version)
}
