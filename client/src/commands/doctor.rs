//! `skillpkg doctor`.

use serde::Serialize;
use skillpkg::doctor::{Area, Complaint, examine};
use skillpkg::{Error, Kind};

use crate::context::Context;
use crate::output::Output;

/// Tell what is wrong here, and what to do about it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg doctor

Looks at the configuration, the registry and its log, the clock, what is installed for the project \
and for the user, what it needs, agents' directories, the modes of files with secrets, what is \
remembered and what was left behind. Changes nothing, and needs no network. It exits with 1 where \
something is wrong.")]
pub(crate) struct Arguments {
    /// Ask no registry
    #[arg(long)]
    offline: bool,
}

/// What to do about a fault of the configuration that says no more.
const CORRECT: &str = "correct the user's configuration";

#[derive(Debug, Serialize)]
struct Shape<'a> {
    ok: bool,
    complaints: &'a [Complaint],
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let mut settings = context.settings.clone();
    settings.offline |= arguments.offline;
    let warned = |warning| Complaint::of_warning(Area::Configuration, warning, CORRECT);
    let mut complaints: Vec<Complaint> = context.warnings.iter().map(warned).collect();
    complaints.extend(examine(&settings).await);
    tell(&complaints, context.output)
}

/// Tells of a configuration that cannot be read, without which nothing else can be looked at.
pub(crate) fn tell_unreadable(error: &Error, output: Output) -> Result<u8, Error> {
    let mut complaint = Complaint::of(Area::Configuration, error, CORRECT);
    complaint.advice.push_str("; then run this again: nothing else could be looked at");
    tell(&[complaint], output)
}

fn tell(complaints: &[Complaint], output: Output) -> Result<u8, Error> {
    let ok = complaints.iter().all(|one| one.note);
    for Complaint { area, what, advice, note } in complaints {
        let note = if *note { "note: " } else { "" };
        output.text(&format!("{note}{}: {what}\n  {advice}", area.as_str()))?;
    }
    if ok {
        output.text("nothing is wrong here")?;
    }
    output.json(&Shape { ok, complaints })?;
    Ok(if ok { 0 } else { Kind::Failed.exit_code() })
}
