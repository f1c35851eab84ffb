//! `skillpkg policy`.

use serde::Serialize;
use skillpkg::Error;
use skillpkg::policy::{Policy, RuleInForce};

use crate::context::Context;

/// Tell the rules that the machine, the user and the project set.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg policy --json

All of them apply together: what one forbids, no other lets through. A policy that cannot be read or \
is not understood refuses whatever it would decide, with exit code 5.")]
pub(crate) struct Arguments {
    /// Those of the skills for all projects of this user, in place of the project's
    #[arg(short = 'g', long)]
    global: bool,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Shape<'a> {
    rules: &'a [RuleInForce],
    /// Every file that is looked for, in the order in which it is.
    files: Vec<FileShape>,
}

#[derive(Debug, Serialize)]
struct FileShape {
    file: String,
    whose: &'static str,
    present: bool,
}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<u8, Error> {
    let (settings, output) = (&context.settings, context.output);
    let root =
        if arguments.global { settings.home.join("global") } else { settings.project.clone() };
    let rules = Policy::of_project(settings, &root)?.rules();
    let files = settings.policies.iter().map(|source| FileShape {
        file: source.path.to_string_lossy().into_owned(),
        whose: source.whose.as_str(),
        present: source.path.exists(),
    });
    output.json(&Shape { rules: &rules, files: files.collect() })?;
    for RuleInForce { rule, value, whose, place } in &rules {
        output.text(&format!("{rule}: {value}  ({}'s, {place})", whose.as_str()))?;
    }
    if rules.is_empty() {
        output.talk("no policy rules anything here");
    }
    Ok(0)
}
