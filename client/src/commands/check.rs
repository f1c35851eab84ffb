//! `skillpkg check`.

use std::path::{Path, PathBuf};

use serde::Serialize;
use skillpkg::{Error, Kind};
use skillpkg_schema::diagnostic::{self, escape};
use skillpkg_schema::finding::{self, Findings};
use skillpkg_schema::skill::{self, Dialect, Rules, Skill, SkillFile};
use skillpkg_schema::{Diagnostic, Faults, QualifiedName, Severity, SkillName, SkillPath, Version};
use skillpkg_store::pack::{PackOptions, Packing, chosen_files, version_missing};

use crate::commands::packing::is_answered;
use crate::commands::{agent_rules, subject};
use crate::context::Context;

/// Tell every error and warning of skills.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: skillpkg check examples/waitlist")]
pub(crate) struct Arguments {
    /// The skills' directories; the working directory where absent
    directories: Vec<PathBuf>,
    /// Fill in missing descriptions, and take every file under `references/` as a resource
    #[arg(long)]
    compat: bool,
    /// The name, in place of the one in the file
    #[arg(long, value_name = "[SCOPE/]NAME")]
    name: Option<String>,
}

/// What was found in one directory.
#[derive(Debug, Serialize)]
struct Checked {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    ok: bool,
    diagnostics: Vec<Diagnostic>,
    /// What is worth an eye in what would be packed; absent where nothing could be.
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<Findings>,
}

/// The answer; a failure has the shape of every failure beside its own.
#[derive(Debug, Serialize)]
struct Report<'a> {
    ok: bool,
    skills: &'a [Checked],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<serde_json::Value>,
}

/// Runs it; answers with the exit code.
pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<u8, Error> {
    let directories = match arguments.directories.as_slice() {
        [] => vec![PathBuf::from(".")],
        some => some.to_vec(),
    };
    let name = arguments.name.as_deref().map(str::parse::<QualifiedName>).transpose();
    let name = name.map_err(|error| Error::new(Kind::Usage, "invalid_name", error.to_string()))?;
    if name.is_some() && directories.len() > 1 {
        let message = "`--name` names one skill, and several are to be checked";
        return Err(Error::new(Kind::Usage, "usage", message));
    }
    let rules = if arguments.compat { Rules::Compatible } else { Rules::Strict };
    let mut skills = Vec::with_capacity(directories.len());
    for directory in &directories {
        let checked = check(subject::directory_of(directory), rules, name.as_ref());
        tell(context, &checked)?;
        skills.push(checked);
    }
    let ok = skills.iter().all(|skill| skill.ok);
    let error = skills.iter().find_map(first_error);
    context.output.json(&Report { ok, skills: &skills, error })?;
    Ok(u8::from(!ok))
}

fn check(directory: &Path, rules: Rules, name: Option<&QualifiedName>) -> Checked {
    let path = directory.to_string_lossy().into_owned();
    let skill = match subject::open_directory(directory) {
        Ok(tree) => Skill::read_unnamed(&tree, rules),
        Err(Error { code, message, hint, .. }) => {
            Err(Diagnostic { hint, ..Diagnostic::error(&code, message) }.into())
        }
    };
    let mut findings = None;
    let (name, mut diagnostics) = match skill {
        Err(faults) => (None, faults.into_diagnostics()),
        Ok(skill) => {
            findings = found(directory, &skill.file);
            let mut told = match rules {
                Rules::Compatible => with_missing(skill.warnings, unfound(directory, &skill.file)),
                // What is packed is checked as it is packed.
                Rules::Strict => packed(directory, &skill.file).unwrap_or_else(|faults| {
                    let told = with_missing(faults.into_diagnostics(), skill.warnings);
                    with_missing(told, unfound(directory, &skill.file))
                }),
            };
            told.extend(identity(&skill.file));
            if skill.file.dialect == Dialect::Agent {
                told.extend(agent_rules::check(&skill.file, directory));
            }
            if let Some(name) = name {
                let options = PackOptions { name: Some(name.clone()), ..PackOptions::default() };
                told.retain(|one| !is_answered(one, &options));
            }
            for one in told.iter_mut().filter(|one| one.code == "name_missing") {
                one.severity = Severity::Error;
            }
            if rules == Rules::Strict {
                // What packing refuses is an error, though a name and a version can be given then.
                for one in &mut told {
                    let refused = ["name_not_published", "version_not_published"];
                    let missing =
                        one.code == "version_missing" && skill.file.dialect == Dialect::Hard;
                    if missing || refused.contains(&one.code.as_str()) {
                        one.severity = Severity::Error;
                    }
                }
            }
            let said = Some(skill.file.name).filter(|said| !said.is_empty());
            (name.map(ToString::to_string).or(said), told)
        }
    };
    diagnostic::sort(&mut diagnostics);
    let ok = diagnostics.iter().all(|one| one.severity != Severity::Error);
    Checked { path, name, ok, diagnostics, findings }
}

/// What packing would say. The name and the version may be given when it is packed, and stand in
/// for themselves here.
fn packed(directory: &Path, file: &SkillFile) -> Result<Vec<Diagnostic>, Faults> {
    let options = stand_in(file);
    Packing::plan(directory, &options).map(|packing| packing.warnings().to_vec())
}

/// The words of run lines that a call will not find, whatever else is wrong.
fn unfound(directory: &Path, file: &SkillFile) -> Vec<Diagnostic> {
    let Ok(tree) = subject::open_directory(directory) else { return Vec::new() };
    let Ok(chosen) = chosen_files(&tree, file) else { return Vec::new() };
    let is_packed = |path: &SkillPath| chosen.iter().any(|(chosen, _)| chosen == path);
    skill::run_files(file, &tree, &is_packed)
}

/// What is worth an eye in the files that would be packed, whatever else is wrong.
fn found(directory: &Path, file: &SkillFile) -> Option<Findings> {
    let tree = subject::open_directory(directory).ok()?;
    let chosen = chosen_files(&tree, file).ok()?;
    finding::find(&tree, chosen.iter().map(|(path, _)| path)).ok()
}

/// Options under which a skill is packed whatever its frontmatter says of name and version.
pub(crate) fn stand_in(file: &SkillFile) -> PackOptions {
    let name = file.name.parse::<SkillName>().or_else(|_| "unnamed".parse()).ok();
    let version = file.version.as_deref().and_then(|text| Version::parse_lenient(text).ok());
    let version = version.or_else(|| "0.0.0".parse().ok());
    PackOptions { name: name.map(QualifiedName::from), version, allow_secrets: false }
}

/// Warns of a missing version. A name or a version that cannot be published is told where it is
/// read.
fn identity(file: &SkillFile) -> Option<Diagnostic> {
    let missing = version_missing(file.dialect).in_file(SkillPath::skill_file().as_str());
    file.version.is_none().then_some(Diagnostic { severity: Severity::Warning, ..missing })
}

/// `told`, and of `warnings` those that it lacks.
fn with_missing(mut told: Vec<Diagnostic>, warnings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    for warning in warnings {
        if !told.contains(&warning) {
            told.push(warning);
        }
    }
    told
}

fn tell(context: &Context, checked: &Checked) -> Result<(), Error> {
    let directory = checked.path.trim_end_matches('/');
    for one in &checked.diagnostics {
        let file = one.file.as_deref().map_or_else(
            || directory.to_owned(),
            |file| if directory == "." { file.to_owned() } else { format!("{directory}/{file}") },
        );
        context.output.tell(&Diagnostic { file: Some(file), ..one.clone() });
    }
    let count =
        |severity| checked.diagnostics.iter().filter(|one| one.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let counted = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        _ => Some(format!("{count} {what}s")),
    };
    let found: Vec<String> =
        [counted(errors, "error"), counted(warnings, "warning")].into_iter().flatten().collect();
    let found = if found.is_empty() { "ok".to_owned() } else { found.join(", ") };
    context.output.text(&format!("{}: {found}", escape(&checked.path)))
}

/// The `error` of the first directory that has one.
fn first_error(checked: &Checked) -> Option<serde_json::Value> {
    let error = checked.diagnostics.iter().find(|one| one.severity == Severity::Error)?;
    let mut error = Error::from(Faults::from(error.clone()));
    error.faults.clear();
    error.to_json().get("error").cloned()
}
