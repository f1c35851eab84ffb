//! `skillpkg agents`.

use std::path::Path;

use serde::Serialize;
use skillpkg::Error;
use skillpkg::agents::{AgentView, ChosenBy, Overview, Sign};
use skillpkg::install::{Options, overview, reset_agents, use_agents};
use skillpkg_schema::diagnostic::escape;

use crate::commands::attendant::Terminal;
use crate::commands::reach;
use crate::context::Context;

/// Tell what goes where for which agent and why, and choose the agents.
///
/// Agents are found by their directories, their files and their programs. Each skill goes to as few
/// directories as reach them all, and to none in which one of them would show it twice where that can
/// be helped. What was found when a skill was first placed is remembered for the project.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg agents use claude-code codex")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Tell every agent that is known, not only those that are found or served
    #[arg(long)]
    all: bool,
    /// For all projects of this user, in agents' global directories
    #[arg(short = 'g', long, global = true)]
    global: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Name the agents in `skillpkg.toml`, and place every active skill for exactly them
    #[command(after_help = "Example: skillpkg agents use claude-code codex")]
    Use {
        /// The agents, such as `claude-code`
        #[arg(required = true, value_name = "AGENT")]
        agents: Vec<String>,
        /// Remove copies that were edited from directories that are left
        #[arg(long)]
        discard_edits: bool,
    },
    /// Take the names out of `skillpkg.toml`, look anew which agents are in use, and place every active
    /// skill for exactly those
    #[command(after_help = "Example: skillpkg agents reset")]
    Reset {
        /// Remove copies that were edited from directories that are left
        #[arg(long)]
        discard_edits: bool,
    },
}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let Arguments { action, all, global } = arguments;
    let mut terminal = Terminal::approving(context.output);
    let settings = &context.settings;
    let mut options = Options::new(reach(global));
    match action {
        None => {}
        Some(Action::Use { agents, discard_edits }) => {
            options.discard_edits = discard_edits;
            use_agents(settings, &options, &agents, &mut terminal)?;
        }
        Some(Action::Reset { discard_edits }) => {
            options.discard_edits = discard_edits;
            reset_agents(settings, &options, &mut terminal)?;
        }
    }
    let overview = overview(settings, &options, &mut terminal)?;
    tell(&overview, all, context)?;
    Ok(0)
}

fn tell(overview: &Overview, all: bool, context: &Context) -> Result<(), Error> {
    #[derive(Serialize)]
    struct Shape<'a> {
        #[serde(flatten)]
        overview: &'a Overview,
    }
    let mut shown = overview.clone();
    if !all {
        let is_told =
            |view: &AgentView| !view.found.is_empty() || overview.chosen.contains(&view.id);
        shown.agents.retain(is_told);
    }
    let output = context.output;
    output.json(&Shape { overview: &shown })?;
    let places = Places { base: &context.settings.project, user_home: &context.settings.user_home };
    output
        .text(&format!("skills are placed for these agents, {}:", decided(overview.chosen_by)))?;
    for directory in &overview.directories {
        let agents = directory.agents.iter().map(|id| escape(id)).collect::<Vec<_>>().join(", ");
        output.text(&format!("  {}  {agents}", places.shown(&directory.path)))?;
    }
    for view in &shown.agents {
        output.text("")?;
        for line in lines(view, places) {
            output.text(&line)?;
        }
    }
    if !all {
        output.talk("hint: `--all` tells every agent that is known");
    }
    Ok(())
}

fn decided(by: ChosenBy) -> &'static str {
    match by {
        ChosenBy::Project => "as `skillpkg.toml` says",
        ChosenBy::Configuration => "as your configuration says",
        ChosenBy::Remembered => "found when a skill was first placed here",
        ChosenBy::Found => "found now",
    }
}

fn lines(view: &AgentView, places: Places<'_>) -> Vec<String> {
    let mut lines = vec![format!("{} ({})", escape(&view.name), escape(&view.id))];
    let found: Vec<String> =
        view.found.iter().map(|Sign { path, .. }| places.shown(path)).collect();
    lines.push(match found.as_slice() {
        [] => "  not found here".to_owned(),
        found => format!("  found by {}", found.join(", ")),
    });
    let reads = view.reads.iter().map(|read| {
        let shown = places.shown(&read.path);
        if read.exists { shown } else { format!("{shown} (not there)") }
    });
    lines.push(format!("  reads {}", reads.collect::<Vec<_>>().join(", ")));
    lines.push(match &view.writes {
        Some(path) => format!("  placed in {}: {}", places.shown(path), view.why),
        None => format!("  not placed for: {}", view.why),
    });
    if !view.skills.is_empty() {
        let mut names: Vec<String> = Vec::new();
        for seen in &view.skills {
            let name = match seen.placed {
                Some(_) => escape(&seen.name),
                None => format!("{} (not skillpkg's)", escape(&seen.name)),
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        lines.push(format!("  finds {}", names.join(", ")));
    }
    for twice in &view.twice {
        let paths: Vec<String> = twice.paths.iter().map(|path| places.shown(path)).collect();
        let times = match paths.len() {
            2 => "twice".to_owned(),
            count => format!("{count} times"),
        };
        lines.push(format!("  shows {} {times}: {}", escape(&twice.name), paths.join(", ")));
    }
    lines.extend(view.advice.iter().map(|advice| format!("  hint: {advice}")));
    lines
}

/// Where paths are told from.
#[derive(Debug, Clone, Copy)]
struct Places<'p> {
    base: &'p Path,
    user_home: &'p Path,
}

impl Places<'_> {
    /// A path as people write it: from the project, or from `~`.
    fn shown(self, path: &Path) -> String {
        let text = |path: &Path| escape(&path.to_string_lossy());
        if let Ok(inside) = path.strip_prefix(self.base)
            && inside.components().next().is_some()
        {
            return text(inside);
        }
        match path.strip_prefix(self.user_home) {
            Ok(inside) => format!("~/{}", text(inside)),
            Err(_) => text(path),
        }
    }
}
