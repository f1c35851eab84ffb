//! `skillpkg update`.

use serde::Serialize;
use skillpkg::difference::{self, Difference};
use skillpkg::install::{Options, preview, require_project, update};
use skillpkg::merge::MergedCopy;
use skillpkg::{Error, Kind, Settings};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{QualifiedName, Version};

use crate::candidates;
use crate::commands::attendant::Terminal;
use crate::commands::{installed, reach};
use crate::context::Context;

/// Move skills to the newest versions that the project asks for.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg update waitlist

A skill of which a copy was edited is kept as it is; where that keeps one from a newer version, it \
exits with 6 once the others are updated. With `--merge` it is updated too and keeps the edits; \
where both changed the same lines, the file stays as it was edited, both versions stand beside it in \
FILE.merge, and it exits with 6. The copy as it was edited is kept whole in `edits` beneath the \
home.")]
pub(crate) struct Arguments {
    /// Which; all where absent
    #[arg(add = candidates::installed())]
    names: Vec<String>,
    /// For all projects of this user, in agents' global directories
    #[arg(short = 'g', long)]
    global: bool,
    /// Approve what they run
    #[arg(short, long)]
    yes: bool,
    /// Approve programs, tools, scripts and permissions that the version before did not have
    #[arg(long)]
    accept_permissions: bool,
    /// Take a skill that another key signed than the one seen first
    #[arg(long)]
    accept_signer: bool,
    /// Replace copies that were edited
    #[arg(long)]
    discard_edits: bool,
    /// Merge the edits of copies with what is new
    #[arg(long, conflicts_with = "discard_edits")]
    merge: bool,
    /// Change nothing, and remember nothing; tell all that would change
    #[arg(long)]
    dry_run: bool,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let Arguments { names, global, yes, accept_permissions, .. } = arguments;
    let Arguments { accept_signer, discard_edits, dry_run, merge, .. } = arguments;
    if let Some(name) = names.iter().find(|name| name.contains('@')) {
        return Err(not_a_name(name));
    }
    require_project(&context.settings, reach(global))?;
    if dry_run {
        return rehearse(context, global, &names).await;
    }
    let options = Options {
        approve: yes,
        accept_permissions,
        accept_signer,
        discard_edits,
        merge_edits: merge,
        ..Options::new(reach(global))
    };
    let mut terminal = Terminal::approving(context.output);
    let report = update(&context.settings, &options, &names, &mut terminal).await?;
    installed::tell_update(&report, merge, context.output)?;
    let is_whole = |copy: &MergedCopy| copy.conflicts.is_empty() && copy.missed.is_empty();
    let is_done = report.kept.is_empty() && report.merged.iter().all(is_whole);
    Ok(if is_done { 0 } else { Kind::Drift.exit_code() })
}

/// Tells all that an update would change.
async fn rehearse(context: &Context, global: bool, names: &[String]) -> Result<u8, Error> {
    #[derive(Serialize)]
    struct Moving<'a> {
        name: &'a QualifiedName,
        before: &'a Version,
        version: &'a Version,
        difference: &'a Difference,
    }
    #[derive(Serialize)]
    struct Shape<'a> {
        would_update: Vec<Moving<'a>>,
    }
    let output = context.output;
    let mut terminal = Terminal::approving(output);
    let settings = Settings { looks_only: true, ..context.settings.clone() };
    let seen = preview(&settings, reach(global), names, &mut terminal).await?;
    let mut would_update = Vec::new();
    for one in &seen {
        for sentence in &one.kept_back {
            output.warn(sentence);
        }
        if let Some(problem) = &one.problem {
            output.warn(problem);
        }
        if let Some((version, difference)) = one.fits.as_ref().zip(one.difference.as_ref()) {
            let blank = if would_update.is_empty() { "" } else { "\n" };
            output.text(&format!("{blank}{}", difference::lines(difference).join("\n")))?;
            let (name, before) = (&one.name, &one.current);
            would_update.push(Moving { name, before, version, difference });
        }
    }
    if would_update.is_empty() {
        output.talk("nothing would be updated: no skill has a newer version that is asked for");
    }
    output.json(&Shape { would_update })?;
    Ok(0)
}

/// What is updated stays within what the project asks for: another requirement is another request.
fn not_a_name(text: &str) -> Error {
    let name = text.split('@').next().unwrap_or_default();
    let (text, name) = (escape(text), escape(name));
    let message = format!("`{text}` is a name with a requirement, and `update` takes names alone");
    Error::new(Kind::Usage, "invalid_name", message).with_hint(format!(
        "`skillpkg update {name}` moves within what `skillpkg.toml` asks for; `skillpkg install \
         {text}` asks for another version"
    ))
}
