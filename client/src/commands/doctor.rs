//! `skillpkg doctor`.

use serde::Serialize;
use skillpkg::doctor::{Area, Complaint, examine};
use skillpkg::{Error, Kind};

use crate::commands::attendant::Terminal;
use crate::context::Context;
use crate::output::Output;

/// Tell what is wrong here, and what to do about it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg doctor

Looks at the configuration, the registry and its log, the clock, what is installed for the project \
and for the user, agents' directories, and the modes of files with secrets. Changes nothing. It \
exits with 6 where something is wrong.")]
pub(crate) struct Arguments {
    /// Ask no registry
    #[arg(long)]
    offline: bool,
}

#[derive(Debug, Serialize)]
struct Shape<'a> {
    ok: bool,
    complaints: &'a [Complaint],
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let mut settings = context.settings.clone();
    settings.offline |= arguments.offline;
    let mut terminal = Terminal::approving(context.output);
    let complaints = examine(&settings, &mut terminal).await;
    tell(&complaints, context.output)
}

/// Tells of a configuration that cannot be read, without which nothing else can be looked at.
pub(crate) fn tell_unreadable(error: &Error, output: Output) -> Result<u8, Error> {
    let advice = "correct it, then run this again: nothing else could be looked at";
    tell(&[Complaint::of(Area::Configuration, error, advice)], output)
}

fn tell(complaints: &[Complaint], output: Output) -> Result<u8, Error> {
    for Complaint { area, what, advice } in complaints {
        output.text(&format!("{}: {what}\n  {advice}", area.as_str()))?;
    }
    if complaints.is_empty() {
        output.text("nothing is wrong here")?;
    }
    output.json(&Shape { ok: complaints.is_empty(), complaints })?;
    Ok(if complaints.is_empty() { 0 } else { Kind::Drift.exit_code() })
}
