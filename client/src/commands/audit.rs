//! `skillpkg audit`.

use serde::Serialize;
use skillpkg::audit::{Level, Problem, audit, sarif};
use skillpkg::policy::Policy;
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::escape;

use crate::context::Context;
use crate::output;
use crate::working::Working;

/// Hold everything that is installed against policies, yanks, advisories and keys.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg audit --sarif > skillpkg.sarif

Looks at the skills of the project and at those for all projects of this user, and changes nothing. \
Asks no registry: `skillpkg sync` does that first. Exits with 3 where something is not what was \
signed, with 5 where a policy or an advisory forbids it, and with 6 where only copies in agents' \
directories were changed.")]
pub(crate) struct Arguments {
    /// Print SARIF 2.1.0, which code hosts show
    #[arg(long, conflicts_with = "json")]
    sarif: bool,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Shape<'a> {
    ok: bool,
    checked: usize,
    problems: &'a [Problem],
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let (settings, output) = (&context.settings, context.output);
    // A wrong policy is told also where nothing is installed.
    Policy::of_project(settings, &settings.project)?;
    let working = Working::on(output, "Holding what is installed against the policies");
    let report = audit(settings).await?;
    drop(working);
    if arguments.sarif {
        output::print_json(&sarif(&report.problems, &settings.project))?;
    } else {
        let ok = report.kind().is_none();
        output.json(&Shape { ok, checked: report.checked, problems: &report.problems })?;
        for problem in &report.problems {
            output.text(&line(problem))?;
        }
        if report.problems.is_empty() {
            output.text(&format!("{} checked, nothing found", report.checked))?;
        }
    }
    Ok(report.kind().map_or(0, Kind::exit_code))
}

fn line(problem: &Problem) -> String {
    let level = match problem.level {
        Level::Error => "error",
        Level::Warning => "warning",
    };
    let place = match (&problem.file, problem.line) {
        (Some(file), Some(line)) => format!(" ({}:{line})", escape(file)),
        (Some(file), None) => format!(" (`{}`)", escape(file)),
        (None, _) => String::new(),
    };
    let Problem { name, version, message, .. } = problem;
    format!("{level}: {name}@{version}: {}: {message}{place}", problem.what())
}
