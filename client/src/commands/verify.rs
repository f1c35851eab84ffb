//! `skillpkg verify`.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;
use skillpkg::agents::Reach;
use skillpkg::bundle::is_bundle;
use skillpkg::install::{RESTORE_HINT, require_project};
use skillpkg::verification::{Problem, ProblemKind, Report, Verifier};
use skillpkg::{Error, Kind, Settings};
use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;

use crate::candidates;
use crate::commands::{reach, subject};
use crate::context::Context;
use crate::working::Working;

/// Hash installed skills or archives again, and check their signatures.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg verify --all

Exits with 3 where a snapshot or an archive is not what was signed, else with 5 where a policy \
forbids a skill or nobody vouches for the log of a bundle, and with 6 where only copies in agents' directories were changed. Those are left as \
they are.")]
pub(crate) struct Arguments {
    /// Installed skills, archives or bundles; the skills of the project where absent
    #[arg(add = candidates::installed_or_path())]
    what: Vec<String>,
    /// Every snapshot in the store; policies are asked of this project's skills alone
    #[arg(long, conflicts_with = "what")]
    all: bool,
    /// Ask no registry
    #[arg(long)]
    offline: bool,
    /// Mend what is wrong: from the store, else from the registry
    #[arg(long)]
    repair: bool,
    /// For all projects of this user, in agents' global directories
    #[arg(short = 'g', long)]
    global: bool,
}

impl Arguments {
    /// Whether it changes anything.
    pub(crate) fn repairs(&self) -> bool {
        self.repair
    }
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Shape<'a> {
    ok: bool,
    checked: usize,
    problems: &'a [Problem],
    repaired: &'a [Problem],
}

/// Runs it; answers with the exit code.
pub(crate) async fn run(arguments: Arguments, context: &Context) -> Result<u8, Error> {
    let mut settings = context.settings.clone();
    settings.offline |= arguments.offline;
    let root =
        if arguments.global { settings.home.join("global") } else { settings.project.clone() };
    let working = Working::on(context.output, "Hashing what is installed");
    let verifier =
        Verifier::new(&settings, root.clone(), arguments.repair)?.metered(working.meter());
    let report = if arguments.all {
        verifier.everything().await?
    } else {
        named(&verifier, (&settings, reach(arguments.global), &root), &arguments.what).await?
    };
    drop(working);
    tell(context, &report)?;
    Ok(report.kind().map_or(0, Kind::exit_code))
}

async fn named(
    verifier: &Verifier<'_>,
    (settings, reach, root): (&Settings, Reach, &Path),
    what: &[String],
) -> Result<Report, Error> {
    let mut report = Report::default();
    let mut names: Vec<QualifiedName> = Vec::new();
    for one in what {
        // A name holds no dot and names no file that is there.
        match one.parse() {
            Ok(name) if !Path::new(one).is_file() => {
                names.push(subject::whole_name(&[root], one)?.unwrap_or(name));
            }
            _ if is_bundle(Path::new(one)) => report.add(verifier.bundle(Path::new(one)).await?),
            _ => report.add(verifier.archive(Path::new(one)).await?),
        }
    }
    if what.is_empty() || !names.is_empty() {
        require_project(settings, reach)?;
        report.add(verifier.project(&names).await?);
    }
    Ok(report)
}

fn tell(context: &Context, report: &Report) -> Result<(), Error> {
    let output = context.output;
    for notice in &report.notices {
        output.warn(notice);
    }
    for problem in &report.repaired {
        output.talk(&format!("repaired {}", sentence(problem)));
    }
    output.json(&Shape {
        ok: report.problems.is_empty(),
        checked: report.checked,
        problems: &report.problems,
        repaired: &report.repaired,
    })?;
    for problem in &report.problems {
        output.text(&sentence(problem))?;
    }
    if report.problems.is_empty() {
        output.text(&match report.checked {
            0 => "nothing is installed: 0 checked".to_owned(),
            checked => format!("{checked} checked, all as signed"),
        })?;
        return Ok(());
    }
    let is_altered = |problem: &Problem| problem.code == Some("lock_altered");
    if report.problems.iter().any(is_altered) {
        output.talk(&format!("hint: {RESTORE_HINT}"));
    }
    // An archive that lies somewhere as a file is not ours to mend.
    // Nor does anything mend a signature that holds no more.
    let in_store = |problem: &Problem| {
        problem.directory.is_none()
            && !is_altered(problem)
            && !matches!(
                problem.kind,
                ProblemKind::Signature | ProblemKind::Policy | ProblemKind::Proof
            )
            && problem.name.parse::<QualifiedName>().is_ok()
            && !Path::new(&problem.name).is_file()
    };
    if report.problems.iter().any(in_store) {
        output.talk("hint: `skillpkg verify --repair` mends what is in the store");
    }
    let placed = || report.problems.iter().filter(|problem| problem.directory.is_some());
    // Whoever refuses a bundle's log says what to do about it.
    let lacks_proof = |problem: &Problem| {
        problem.kind == ProblemKind::Proof
            && problem.code.is_none()
            && problem.name.parse::<QualifiedName>().is_ok()
    };
    if report.problems.iter().any(lacks_proof) {
        output.talk(
            "hint: `skillpkg sync` fetches missing proofs where the registry can be asked; \
             `skillpkg update NAME` takes a version that it has",
        );
    }
    if placed().any(is_gone) {
        output.talk("hint: `skillpkg sync` places what is missing");
    }
    if placed().any(is_replaced) {
        output.talk("hint: move what stands in a link's place away, then run `skillpkg sync`");
    }
    if placed().any(|problem| !is_gone(problem) && !is_replaced(problem)) {
        output.talk("hint: `skillpkg sync --discard-edits` makes copies again what was signed");
    }
    Ok(())
}

/// Whether all that was placed is gone.
fn is_gone(problem: &Problem) -> bool {
    problem.path.is_empty() && problem.kind == ProblemKind::Missing
}

/// Whether something else stands where a skill was placed.
fn is_replaced(problem: &Problem) -> bool {
    problem.path.is_empty() && problem.kind != ProblemKind::Missing
}

fn sentence(problem: &Problem) -> String {
    let kind = problem.kind.as_str();
    let mut sentence = format!("{}: {kind}", escape(&problem.name));
    if !problem.path.is_empty() {
        let _ = write!(sentence, " `{}`", escape(&problem.path));
    }
    if let Some(directory) = &problem.directory {
        let _ = write!(sentence, " in `{}`", escape(&directory.to_string_lossy()));
    }
    if let Some(detail) = &problem.detail {
        let _ = write!(sentence, " ({detail})");
    }
    sentence
}
