//! `skillpkg install`.

use skillpkg::Error;
use skillpkg::install::{Options, Outcome, Request, install};

use crate::commands::attendant::Terminal;
use crate::commands::bundle::BundleArguments;
use crate::commands::{PlacingArguments, installed};
use crate::context::Context;

/// Install skills: resolve, fetch, verify, activate and place them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg install waitlist@1.2 -y")]
pub(crate) struct Arguments {
    /// Skills, `[scope/]name[@requirement]`, or archives; what the project asks for, or the bundle holds, where absent
    references: Vec<String>,
    #[command(flatten)]
    bundle: BundleArguments,
    #[command(flatten)]
    placing: PlacingArguments,
    /// Another directory name for the one skill
    #[arg(long = "as", value_name = "NAME")]
    placed_as: Option<String>,
    /// Fetch and lock, but let no agent see it yet
    #[arg(long)]
    no_activate: bool,
    /// Approve what they run
    #[arg(short, long)]
    yes: bool,
    /// Take a skill that another key signed than the one seen first
    #[arg(long)]
    accept_signer: bool,
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let Arguments { references, bundle, placing, placed_as, no_activate, yes, accept_signer } =
        arguments;
    let settings = bundle.settings(&context.settings)?;
    let options = Options { approve: yes, accept_signer, ..placing.options() };
    let request = Request { references, placed_as, hidden: no_activate };
    let mut terminal = Terminal::approving(context.output);
    let named = request.references.clone();
    let report = install(&settings, &options, &request, &mut terminal).await?;
    installed::tell(&report, context.output)?;
    let is_named = |one: &&Outcome| named.contains(&one.locked.name.to_string());
    for one in report.skills.iter().filter(is_named).filter(|one| !one.changed) {
        let (name, version) = (&one.locked.name, &one.locked.version);
        context.output.talk(&format!(
            "`{name}` stays at {version}; `skillpkg update {name}` takes a newer one, where there is one"
        ));
    }
    Ok(0)
}
