//! `skillpkg outdated`.

use serde::Serialize;
use skillpkg::install::{Outdated, outdated, require_project};
use skillpkg::trust::Standing;
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::wire::Effect;
use skillpkg_schema::{ContentAddress, QualifiedName, Version};

use crate::candidates;
use crate::commands::attendant::Terminal;
use crate::commands::{installed, reach};
use crate::context::Context;

/// Tell which skills have newer versions, and what these would add.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg outdated --json

It exits with 6 where `skillpkg update` would take another version of a skill, and where one that is \
installed was yanked or is forbidden by an advisory.")]
pub(crate) struct Arguments {
    /// Which; all where absent
    #[arg(add = candidates::installed())]
    names: Vec<String>,
    /// For all projects of this user, in agents' global directories
    #[arg(short = 'g', long)]
    global: bool,
}

#[derive(Debug, Serialize)]
struct Skill<'a> {
    name: &'a QualifiedName,
    registry: String,
    requirement: &'a str,
    current: &'a Version,
    address: &'a ContentAddress,
    fits: Option<&'a Version>,
    newest: Option<&'a Version>,
    outdated: bool,
    adds: Option<&'a [String]>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    kept_back: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a str>,
    #[serde(flatten)]
    standing: &'a Standing,
}

#[derive(Debug, Serialize)]
struct Shape<'a> {
    skills: Vec<Skill<'a>>,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let Arguments { names, global } = arguments;
    require_project(&context.settings, reach(global))?;
    let mut terminal = Terminal::approving(context.output);
    let seen = outdated(&context.settings, reach(global), &names, &mut terminal).await?;
    let mut is_quiet = true;
    for one in &seen {
        if let Some(line) = line(one) {
            is_quiet = false;
            context.output.text(&line)?;
        }
    }
    let moves = seen.iter().any(Outdated::moves);
    if seen.is_empty() {
        context.output.talk("no skill is installed here");
    } else if is_quiet {
        context.output.talk("every skill is at the newest version there is");
    } else if moves {
        context.output.talk(
            "hint: `skillpkg update --dry-run` tells all that would change, `skillpkg update` does \
             it",
        );
    }
    context.output.json(&Shape { skills: seen.iter().map(shape).collect() })?;
    let is_against =
        |one: &Outdated| one.standing.yanked.is_some() || one.standing.forbids().is_some();
    Ok(if moves || seen.iter().any(is_against) { Kind::Drift.exit_code() } else { 0 })
}

fn shape(one: &Outdated) -> Skill<'_> {
    Skill {
        name: &one.name,
        registry: installed::source_text(&one.source),
        requirement: &one.requirement,
        current: &one.current,
        address: &one.address,
        fits: one.fits.as_ref(),
        newest: one.newest.as_ref(),
        outdated: one.moves(),
        adds: one.adds.as_deref(),
        kept_back: &one.kept_back,
        problem: one.problem.as_deref(),
        standing: &one.standing,
    }
}

/// What there is to say of a skill; [`None`] where it is the newest and nothing is against it.
fn line(one: &Outdated) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(fits) = one.fits.as_ref().filter(|_| one.moves()) {
        parts.push(format!("{} -> {fits}", one.current));
    }
    let reached = one.fits.as_ref().unwrap_or(&one.current);
    if let Some(newest) = one.newest.as_ref().filter(|newest| *newest > reached) {
        // What a policy keeps back is told as such.
        if one.kept_back.is_empty() {
            let asked = escape(&one.requirement);
            parts.push(format!("newest {newest}, which `{asked}` does not take"));
        }
    }
    match one.adds.as_deref() {
        Some([]) => parts.push("adds nothing".to_owned()),
        Some(adds) => {
            let adds: Vec<String> = adds.iter().map(|one| one.replace('\n', ";")).collect();
            parts.push(format!("adds: {}", adds.join("; ")));
        }
        None if one.moves() => parts.push("what it adds could not be found out".to_owned()),
        None => {}
    }
    parts.extend(one.kept_back.iter().cloned());
    parts.extend(one.problem.clone());
    if let Some(reason) = &one.standing.yanked {
        parts.push(format!("{} was yanked: {}", one.current, escape(reason)));
    }
    for advisory in &one.standing.advisories {
        let what = match advisory.effect {
            Effect::Forbid => "FORBIDDEN by advisory",
            Effect::Warn => "advisory",
        };
        let (id, summary) = (escape(&advisory.id), escape(&advisory.summary));
        parts.push(format!("{what} {id}: {summary}"));
    }
    if parts.is_empty() {
        return None;
    }
    if !one.moves() {
        parts.insert(0, one.current.to_string());
    }
    Some(format!("{}  {}", one.name, parts.join("  ")))
}
