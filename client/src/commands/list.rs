//! `skillpkg list`.

use std::fmt::Write as _;

use serde::Serialize;
use skillpkg::Error;
use skillpkg::install::list;
use skillpkg_schema::{ContentAddress, QualifiedName, Version};

use crate::commands::attendant::Terminal;
use crate::commands::{installed, reach};
use crate::context::Context;

/// Tell the installed skills.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg list --json")]
pub(crate) struct Arguments {
    /// For all projects of this user, in agents' global directories
    #[arg(short = 'g', long)]
    global: bool,
}

#[derive(Debug, Serialize)]
struct Skill<'a> {
    name: &'a QualifiedName,
    version: &'a Version,
    address: &'a ContentAddress,
    registry: String,
    active: bool,
    agents: &'a [String],
    modified: &'a [String],
}

#[derive(Debug, Serialize)]
struct Shape<'a> {
    skills: Vec<Skill<'a>>,
}

/// Runs it; answers with the exit code.
#[expect(clippy::unused_async, reason = "every command is awaited")]
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let mut terminal = Terminal::approving(context.output);
    let listed = list(&context.settings, reach(arguments.global), &mut terminal)?;
    let skills: Vec<Skill<'_>> = listed
        .iter()
        .map(|one| Skill {
            name: &one.name,
            version: &one.version,
            address: &one.address,
            registry: installed::source_text(&one.source),
            active: one.active,
            agents: &one.agents,
            modified: &one.modified,
        })
        .collect();
    for skill in &skills {
        let mut line = format!("{}@{}", skill.name, skill.version);
        if skill.active {
            let _ = write!(line, "  {}", skill.agents.join(", "));
        } else {
            line.push_str("  not active");
        }
        if !skill.modified.is_empty() {
            let _ = write!(line, "  edited: {}", skill.modified.join(", "));
        }
        context.output.text(&line)?;
    }
    if skills.is_empty() {
        context.output.talk("no skill is installed here");
    }
    context.output.json(&Shape { skills })?;
    Ok(0)
}
