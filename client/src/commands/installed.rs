//! How what became of a project is told.

use serde::Serialize;
use skillpkg::Error;
use skillpkg::install::{Kept, Outcome, Report};
use skillpkg::merge::{Conflict, MergedCopy};
use skillpkg::project::Source;
use skillpkg::settings::registry_text;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::finding::Findings;
use skillpkg_schema::{ContentAddress, QualifiedName, Version};

use crate::output::Output;

/// One skill of a report.
#[derive(Debug, Serialize)]
struct Installed<'a> {
    name: &'a QualifiedName,
    version: &'a Version,
    address: &'a ContentAddress,
    path: String,
    paths: Vec<String>,
    active: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'a Version>,
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<&'a Findings>,
}

/// One skill that is gone.
#[derive(Debug, Serialize)]
struct Removed<'a> {
    name: &'a QualifiedName,
    version: Option<&'a Version>,
}

/// What became of a project.
#[derive(Debug, Serialize)]
struct Shape<'a> {
    installed: Vec<Installed<'a>>,
    unchanged: Vec<Installed<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    removed: Vec<Removed<'a>>,
}

fn shape(outcome: &Outcome) -> Installed<'_> {
    let locked = &outcome.locked;
    Installed {
        name: &locked.name,
        version: &locked.version,
        address: &locked.address,
        path: outcome.path.to_string_lossy().into_owned(),
        paths: outcome.paths.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        active: outcome.active,
        before: outcome.before.as_ref(),
        findings: outcome.findings.as_ref(),
    }
}

/// Tells what `install`, `sync` and `remove` did.
pub(crate) fn tell(report: &Report, output: Output) -> Result<(), Error> {
    tell_as("installed", report, output)
}

/// Tells what `activate` did.
pub(crate) fn tell_activated(report: &Report, output: Output) -> Result<(), Error> {
    tell_as("activated", report, output)
}

/// What was done is done, also where nobody hears of it.
fn all_the_same(report: &Report, error: Error) -> Error {
    if report.has_changes() {
        let message = format!("{}; what was asked for is done all the same", error.message);
        return Error { message, ..error };
    }
    error
}

/// Tells what was done, in this word.
pub(crate) fn tell_as(done: &str, report: &Report, output: Output) -> Result<(), Error> {
    told_as(done, report, output).map_err(|error| all_the_same(report, error))
}

fn told_as(done: &str, report: &Report, output: Output) -> Result<(), Error> {
    let (changed, unchanged): (Vec<&Outcome>, Vec<&Outcome>) =
        report.skills.iter().partition(|skill| skill.changed);
    if output.json {
        let removed = report
            .removed
            .iter()
            .map(|(name, version)| Removed { name, version: version.as_ref() })
            .collect();
        return output.json(&Shape {
            installed: changed.iter().map(|skill| shape(skill)).collect(),
            unchanged: unchanged.iter().map(|skill| shape(skill)).collect(),
            removed,
        });
    }
    for skill in changed {
        output.text(&line(done, skill))?;
    }
    for (name, version) in &report.removed {
        let version = version.as_ref().map_or_else(String::new, |version| format!("@{version}"));
        output.text(&format!("removed {name}{version}"))?;
    }
    if !report.has_changes() {
        output.talk(match unchanged.len() {
            _ if report.rewrote_project => {
                "`skillpkg.toml` says what was asked for; the skills stay as they are"
            }
            0 => "nothing to do: no skill is asked for",
            _ if report.has_edits => "nothing to do: all is there, with your edits",
            _ => "nothing to do: all is there and as it was published",
        });
    }
    Ok(())
}

fn line(done: &str, skill: &Outcome) -> String {
    let locked = &skill.locked;
    let name = format!("{}@{}", locked.name, locked.version);
    match &skill.before {
        _ if !skill.active => {
            format!("{done} {name}, which no agent sees until it is activated")
        }
        Some(before) if *before > locked.version => {
            format!("{done} {name} in place of {before}, which was newer: {}", shown(skill))
        }
        Some(before) if *before != locked.version => {
            format!("{done} {name} in place of {before}: {}", shown(skill))
        }
        _ => format!("{done} {name}: {}", shown(skill)),
    }
}

/// Tells what `update` did.
pub(crate) fn tell_update(report: &Report, merges: bool, output: Output) -> Result<(), Error> {
    told_update(report, merges, output).map_err(|error| all_the_same(report, error))
}

fn told_update(report: &Report, merges: bool, output: Output) -> Result<(), Error> {
    #[derive(Serialize)]
    struct Shape<'a> {
        updated: Vec<Installed<'a>>,
        unchanged: Vec<Installed<'a>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        kept: Vec<KeptShape<'a>>,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        merged: &'a [MergedCopy],
    }
    let (changed, unchanged): (Vec<&Outcome>, Vec<&Outcome>) =
        report.skills.iter().partition(|skill| skill.changed);
    if output.json {
        return output.json(&Shape {
            updated: changed.iter().map(|skill| self::shape(skill)).collect(),
            unchanged: unchanged.iter().map(|skill| self::shape(skill)).collect(),
            kept: report.kept.iter().map(KeptShape::of).collect(),
            merged: &report.merged,
        });
    }
    if changed.is_empty() && report.kept.is_empty() {
        output.talk("nothing to do: no skill has a newer version that is asked for");
    }
    for skill in changed {
        let name = &skill.locked.name;
        let version = &skill.locked.version;
        match &skill.before {
            Some(before) if before > version => {
                output.text(&format!(
                    "updated {name} from {before} back to {version}, which is older"
                ))?;
            }
            Some(before) if before != version => {
                output.text(&format!("updated {name} from {before} to {version}"))?;
            }
            _ => output.text(&line("installed", skill))?,
        }
    }
    for copy in &report.merged {
        tell_merged(copy, output)?;
    }
    for kept in &report.kept {
        let version = kept.version.as_ref().map_or_else(String::new, |one| format!(" at {one}"));
        output.text(&format!("kept {}{version}: {}", kept.name, kept.reason))?;
    }
    if let Some(Kept { name, .. }) = report.kept.iter().find(|kept| kept.offered.is_some()) {
        let discards = format!("`skillpkg update {name} --discard-edits` lets them go");
        output.talk(&if merges {
            format!("hint: move the edits elsewhere first; {discards}")
        } else {
            format!(
                "hint: `skillpkg update {name} --merge` merges the edits with what is new; \
                 {discards}"
            )
        });
    }
    Ok(())
}

/// Tells what became of the edits of a copy.
fn tell_merged(copy: &MergedCopy, output: Output) -> Result<(), Error> {
    let path = escape(&copy.path.to_string_lossy());
    let kept = escape(&copy.kept.to_string_lossy());
    output.text(&format!(
        "your edits of `{path}` are in it still; the copy as you had it lies in `{kept}`"
    ))?;
    for file in &copy.merged {
        output.text(&format!("  merged {file}"))?;
    }
    for Conflict { file, beside } in &copy.conflicts {
        output.text(&match beside {
            Some(beside) => format!(
                "  conflict in {file}: it is as you had it, and {} beside it has what is new; make \
                 one of them, then remove {}",
                escape(beside),
                escape(beside)
            ),
            None => format!(
                "  conflict in {file}: one of you took it out and the other changed it; it is there"
            ),
        })?;
    }
    for file in &copy.missed {
        output.text(&format!(
            "  {file} was edited once more while the copy was replaced: that edit is in `{kept}` alone"
        ))?;
    }
    Ok(())
}

/// A skill that was not updated, and why.
#[derive(Debug, Serialize)]
struct KeptShape<'a> {
    name: &'a QualifiedName,
    version: Option<&'a Version>,
    offered: Option<&'a Version>,
    reason: &'a str,
}

impl<'a> KeptShape<'a> {
    fn of(kept: &'a Kept) -> Self {
        let Kept { name, version, offered, reason } = kept;
        Self { name, version: version.as_ref(), offered: offered.as_ref(), reason }
    }
}

fn shown(skill: &Outcome) -> String {
    let paths: Vec<String> = skill
        .paths
        .iter()
        .map(|path| skillpkg_schema::diagnostic::escape(&path.to_string_lossy()))
        .collect();
    paths.join(", ")
}

/// Where a skill comes from, as text.
pub(crate) fn source_text(source: &Source) -> String {
    match source {
        Source::Registry(url) => registry_text(url).to_owned(),
        Source::File(path) => path.clone(),
    }
}
