//! `skillpkg sync`.

use serde::Serialize;
use skillpkg::install::{Frozen, Options, drift, require_project, sync};
use skillpkg::{Error, Kind};
use skillpkg_schema::QualifiedName;

use crate::commands::attendant::Terminal;
use crate::commands::bundle::BundleArguments;
use crate::commands::{PlacingArguments, installed};
use crate::context::Context;

/// Make the project what its lockfile says.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg sync --frozen")]
pub(crate) struct Arguments {
    /// Fail where `skillpkg.toml` and `skillpkg.lock` differ
    #[arg(long, conflicts_with = "check")]
    frozen: bool,
    /// Change nothing; exit 6 where something would change
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    bundle: BundleArguments,
    #[command(flatten)]
    placing: PlacingArguments,
    /// Ask no registry
    #[arg(long)]
    offline: bool,
    /// Approve what they run
    #[arg(short, long)]
    yes: bool,
    /// Take a skill that another key signed than the one seen first
    #[arg(long)]
    accept_signer: bool,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let Arguments { frozen, check, bundle, placing, offline, yes, accept_signer } = arguments;
    let options = Options { approve: yes, accept_signer, ..placing.options() };
    let mut terminal = Terminal::approving(context.output);
    if check {
        return tell_drift(&options, context, &mut terminal);
    }
    let frozen = if frozen { Frozen::Yes } else { Frozen::No };
    let mut settings = bundle.settings(&context.settings)?;
    settings.offline |= offline;
    let report = sync(&settings, &options, frozen, &mut terminal).await?;
    installed::tell(&report, context.output)?;
    Ok(0)
}

fn tell_drift(options: &Options, context: &Context, terminal: &mut Terminal) -> Result<u8, Error> {
    #[derive(Serialize)]
    struct Different<'a> {
        name: Option<&'a QualifiedName>,
        what: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<&'a str>,
    }
    #[derive(Serialize)]
    struct Shape<'a> {
        ok: bool,
        drift: Vec<Different<'a>>,
    }
    require_project(&context.settings, options.reach)?;
    let drift = drift(&context.settings, options, terminal)?;
    context.output.json(&Shape {
        ok: drift.is_empty(),
        drift: drift
            .iter()
            .map(|one| Different {
                name: one.name.as_ref(),
                what: &one.what,
                hint: one.hint.as_deref(),
            })
            .collect(),
    })?;
    for one in &drift {
        context.output.text(&one.what)?;
        if let Some(hint) = &one.hint {
            context.output.talk(&format!("  hint: {hint}"));
        }
    }
    if drift.is_empty() {
        context.output.talk("the project is what its lockfile says");
        return Ok(0);
    }
    if drift.iter().all(|one| one.hint.is_some()) {
        return Ok(Kind::Drift.exit_code());
    }
    context.output.talk(
            "hint: `skillpkg sync` makes the project what its lockfile says, and brings what is missing",
        );
    Ok(Kind::Drift.exit_code())
}
