//! `skillpkg compile`.

use serde_json::json;
use skillpkg::Error;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::skill::compile;

use crate::candidates;
use crate::commands::subject::Subject;
use crate::context::Context;

/// Print the system text of a skill.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg compile examples/waitlist")]
pub(crate) struct Arguments {
    /// A directory or an installed skill's name; the working directory where absent
    #[arg(add = candidates::installed_or_path())]
    what: Option<String>,
}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<u8, Error> {
    let (skill, scripts) =
        Subject::find(context, arguments.what.as_deref())?.skill_file(context)?;
    let system = compile(&skill);
    context.output.exact(&system)?;
    if !scripts.is_empty() {
        let names: Vec<String> =
            scripts.iter().map(|script| format!("`{}`", escape(script))).collect();
        context.output.talk(&format!(
            "The text tells of tools alone. Scripts, once the skill is installed: `skillpkg call \
             {} SCRIPT` with {}.",
            escape(&skill.name),
            names.join(", ")
        ));
    }
    context.output.json(&json!({
        "name": skill.name,
        "scripts": scripts,
        "system": system,
        "rendered": skill.rendered,
    }))?;
    Ok(0)
}
