//! `skillpkg compile`.

use serde_json::json;
use skillpkg::Error;
use skillpkg_schema::skill::compile;

use crate::commands::subject::Subject;
use crate::context::Context;

/// Print the system text of a skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg compile examples/waitlist")]
pub(crate) struct Arguments {
    /// A directory or an installed skill's name; the working directory where absent
    what: Option<String>,
}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<u8, Error> {
    let skill = Subject::find(context, arguments.what.as_deref())?.skill_file()?;
    let system = compile(&skill);
    context.output.exact(&system)?;
    context.output.json(&json!({
        "name": skill.name,
        "system": system,
        "rendered": skill.rendered,
    }))?;
    Ok(0)
}
