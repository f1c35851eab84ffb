//! `skillpkg advisory`.

use serde::Serialize;
use serde_json::json;
use skillpkg::registry::Registry;
use skillpkg::{Error, Kind, trust};
use skillpkg_schema::diagnostic::{escape, nearest};
use skillpkg_schema::wire::{Advisory, Document, Effect, NewAdvisory};
use skillpkg_schema::{QualifiedName, Version};

use crate::commands::{absent, account};
use crate::context::Context;

/// Most characters of a summary.
const MAX_SUMMARY: usize = 500;
/// Most versions that are named as those that an advisory is about.
const MOST_VERSIONS: usize = 10;

/// Say what is wrong with versions of a skill, to everybody who has one of them.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: skillpkg advisory add 'waitlist@<1.2.1' --effect forbid --summary \"It sends keys away\""
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// What to do with advisories.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Action {
    /// Publish an advisory; its id is printed
    #[command(
        after_help = "Example: skillpkg advisory add 'waitlist@<1.2.1' --effect forbid --summary \"It sends keys away\"

`waitlist@1.2` is about every 1.x from 1.2 on, as a requirement in skillpkg.toml is; `waitlist@=1.2.0` \
is about one version, and `waitlist` about all, also those to come."
    )]
    Add {
        /// The skill, `[scope/]name`, or `[scope/]name@requirement` for some versions
        #[arg(value_name = "NAME[@REQUIREMENT]")]
        about: String,
        /// What it asks of clients: to tell, or to refuse to install, restore and call these versions
        #[arg(long, value_enum)]
        effect: Asked,
        /// What is wrong and what to do, in one line; a page about it can stand in it
        #[arg(long)]
        summary: String,
    },
    /// Tell the advisories about a skill that are not withdrawn
    #[command(after_help = "Example: skillpkg advisory list waitlist")]
    List {
        /// The skill
        name: String,
    },
    /// Take an advisory back
    #[command(after_help = "Example: skillpkg advisory withdraw waitlist SKA-2026-0001")]
    Withdraw {
        /// The skill
        name: String,
        /// The id that `add` printed and `list` tells
        id: String,
    },
}

/// What an advisory asks of clients.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Asked {
    Warn,
    Forbid,
}

/// An advisory, with the versions there are that it is about.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    advisory: &'a Advisory,
    covers: Vec<&'a Version>,
}

impl<'a> Shown<'a> {
    fn of(advisory: &'a Advisory, document: Option<&'a Document>) -> Self {
        let versions = document.into_iter().flat_map(|document| &document.versions);
        let covers = versions.map(|entry| &entry.version).filter(|one| advisory.covers(one));
        Self { advisory, covers: covers.collect() }
    }

    /// The versions in words.
    fn versions(&self) -> String {
        let count = self.covers.len();
        if count == 0 {
            return "no version that is there".to_owned();
        }
        let named = self.covers.iter().rev().take(MOST_VERSIONS).map(ToString::to_string);
        let named = named.collect::<Vec<_>>().join(", ");
        match count.checked_sub(MOST_VERSIONS) {
            Some(more @ 1..) => format!("{named} and {more} older"),
            _ => named,
        }
    }
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    match arguments.action {
        Action::Add { about, effect, summary } => add(context, &about, effect, &summary).await,
        Action::List { name } => list(context, &read_name(&name)?).await,
        Action::Withdraw { name, id } => withdraw(context, &read_name(&name)?, &id).await,
    }
}

async fn add(context: &Context, about: &str, effect: Asked, summary: &str) -> Result<u8, Error> {
    let (name, versions) = read_about(about)?;
    let new = NewAdvisory {
        versions,
        effect: match effect {
            Asked::Warn => Effect::Warn,
            Asked::Forbid => Effect::Forbid,
        },
        summary: read_summary(summary)?.to_owned(),
    };
    let registry = account::registry_of(context, &name).await?;
    let advisory = match registry.publish_advisory(&name, &new).await {
        Ok(advisory) => advisory,
        Err(error) => return Err(absent::explain(error, &registry, &name, None).await),
    };
    // It is published whether or not what it is about can be told.
    let document = registry.document(&name).await.ok().flatten();
    let shown = Shown::of(&advisory, document.as_ref());
    let id = escape(&advisory.id);
    if document.is_some() {
        let (versions, does) = (shown.versions(), does(advisory.effect));
        context.output.talk(&format!("Published {id}, which {does} {name} {versions}."));
        if shown.covers.is_empty() {
            let versions = escape(&advisory.versions);
            context.output.warn(&format!(
                "`{versions}` fits none of the versions of {name}; `skillpkg advisory withdraw \
                 {name} {id}` takes it back"
            ));
        }
    }
    context.output.text(&id)?;
    context.output.json(&with_name(&name, &shown))?;
    Ok(0)
}

fn does(effect: Effect) -> &'static str {
    match effect {
        Effect::Warn => "warns of",
        Effect::Forbid => "forbids",
    }
}

fn with_name(name: &QualifiedName, shown: &Shown<'_>) -> serde_json::Value {
    let mut value = json!(shown);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("name".to_owned(), json!(name));
    }
    value
}

/// The skill's document, as its registry's log has it.
async fn document(
    context: &Context,
    registry: &Registry,
    name: &QualifiedName,
) -> Result<Document, Error> {
    let (document, notices) = trust::document(&context.settings, registry, name).await?;
    context.output.tell_all(&notices);
    match document {
        Some(document) => Ok(document),
        None => Err(absent::skill(registry, name).await),
    }
}

async fn list(context: &Context, name: &QualifiedName) -> Result<u8, Error> {
    let registry = Registry::for_settings(&context.settings, name)?;
    let document = document(context, &registry, name).await?;
    let all: Vec<Shown<'_>> =
        document.advisories.iter().map(|one| Shown::of(one, Some(&document))).collect();
    for one in &all {
        let Advisory { id, versions, effect, summary, .. } = one.advisory;
        context.output.text(&format!(
            "{}  {} {name}@{} ({}): {}",
            escape(id),
            does(*effect),
            escape(versions),
            one.versions(),
            escape(summary)
        ))?;
    }
    if all.is_empty() {
        context.output.talk(&format!("No advisory is about {name}."));
    }
    context.output.json(&json!({ "name": name, "advisories": all }))?;
    Ok(0)
}

async fn withdraw(context: &Context, name: &QualifiedName, id: &str) -> Result<u8, Error> {
    let registry = account::registry_of(context, name).await?;
    if let Err(error) = registry.withdraw_advisory(name, id).await {
        return Err(unknown(error, &registry, name, id).await);
    }
    let id = escape(id);
    context.output.talk(&format!(
        "{id} is withdrawn: machines that were told of it learn so the next time that they ask."
    ));
    context.output.json(&json!({ "name": name, "id": id, "withdrawn": true }))?;
    Ok(0)
}

/// What it is that is not there: the skill, or an advisory about it with this id.
async fn unknown(error: Error, registry: &Registry, name: &QualifiedName, id: &str) -> Error {
    if error.code != "not_found" {
        return error;
    }
    let Ok(Some(document)) = registry.document(name).await else {
        return absent::explain(error, registry, name, None).await;
    };
    let message = format!("`{name}` has no advisory `{}`", escape(id));
    let ids = document.advisories.iter().map(|one| one.id.as_str());
    Error::new(Kind::Failed, "advisory_not_found", message).with_hint(match nearest(id, ids) {
        Some(near) => format!("did you mean `{}`?", escape(near)),
        None => format!("`skillpkg advisory list {name}` tells those there are"),
    })
}

/// The skill and the versions that an advisory is about.
fn read_about(text: &str) -> Result<(QualifiedName, String), Error> {
    let (name, versions) = text.split_once('@').unwrap_or((text, "*"));
    let name = read_name(name)?;
    if let Err(error) = semver::VersionReq::parse(versions) {
        let message = format!("`{}` is no requirement: {error}", escape(versions));
        return Err(Error::new(Kind::Usage, "invalid_requirement", message).with_hint(format!(
            "`{name}@=1.2.0` is one version, `'{name}@>=1.2, <1.4'` are several, `{name}` all"
        )));
    }
    Ok((name, versions.to_owned()))
}

fn read_summary(text: &str) -> Result<&str, Error> {
    let summary = text.trim();
    let is_line = !summary.chars().any(char::is_control);
    if is_line && (1..=MAX_SUMMARY).contains(&summary.chars().count()) {
        return Ok(summary);
    }
    let message = format!("a summary is one line of 1 to {MAX_SUMMARY} characters");
    Err(Error::new(Kind::Usage, "invalid_summary", message))
}

fn read_name(text: &str) -> Result<QualifiedName, Error> {
    text.parse().map_err(|error: skillpkg_schema::name::NameError| {
        Error::new(Kind::Usage, "invalid_name", error.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::{read_about, read_summary};

    #[test]
    fn what_an_advisory_is_about_is_a_skill_and_a_requirement() {
        for (text, name, versions) in [
            ("waitlist", "waitlist", "*"),
            ("acme/waitlist@=1.2.0", "acme/waitlist", "=1.2.0"),
            ("waitlist@>=1.2, <1.4", "waitlist", ">=1.2, <1.4"),
        ] {
            let (found, requirement) = read_about(text).unwrap();
            assert_eq!((found.to_string().as_str(), requirement.as_str()), (name, versions));
        }
        for text in ["waitlist@latest", "waitlist@one", "Wait@1", "", "@1"] {
            assert_eq!(read_about(text).unwrap_err().kind.exit_code(), 2, "{text}");
        }
    }

    #[test]
    fn a_summary_is_one_line() {
        assert_eq!(read_summary(" It leaks. ").unwrap(), "It leaks.");
        for text in ["", "  ", "a\nb", &"x".repeat(501)] {
            assert_eq!(read_summary(text).unwrap_err().code, "invalid_summary");
        }
    }
}
