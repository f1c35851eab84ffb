//! What a skill runs, in full, for the person who approves it.

use skillpkg_schema::Manifest;
use skillpkg_schema::diagnostic::{escape_quoted, escape_whole};
use skillpkg_schema::finding::{Finding, Findings};
use skillpkg_schema::manifest::Mode;

use super::Checked;
use super::asked::{allowed_tools, host_settings};
use crate::eligibility::listed;

/// Most findings that are told one by one to whoever approves.
const MOST_FOUND: usize = 40;
/// Most executable files that are named to whoever approves.
const MOST_EXECUTABLES: usize = 8;

/// What a skill runs, in full, as lines of text for a person: each tool with its whole run line,
/// each script with its runner and permission, each program with the path found, what the host
/// that reads it is asked for, and what is worth an eye in its files. Text from the skill is escaped.
pub fn describe(checked: &Checked) -> Vec<String> {
    let manifest = &checked.manifest;
    let mut lines = vec![format!(
        "`{}` {} ({})",
        escape_quoted(&manifest.name.to_string()),
        escape_quoted(&manifest.version.to_string()),
        checked.address
    )];
    for tool in &manifest.tools {
        lines.push(format!("  tool `{}` runs: {}", escape_quoted(&tool.id), run_line(&tool.run)));
    }
    for script in &manifest.scripts {
        let runner = checked
            .runners
            .iter()
            .find(|found| found.script == script.name)
            .map_or("no runner", |found| found.runner.as_str());
        lines.push(format!(
            "  script `{}` runs: `{}` ({}) with {runner}; {}, for at most {} s and {} bytes of output",
            escape_quoted(&script.name),
            escape_quoted(script.path.as_str()),
            escape_quoted(&script.runtime),
            if script.requires_permission { "asks before each call" } else { "never asks again" },
            script.timeout_seconds,
            script.maximum_output_bytes
        ));
    }
    for program in &checked.programs {
        lines.push(match &program.path {
            Some(path) => format!(
                "  program `{}`: {}",
                escape_quoted(&program.name),
                escape_quoted(&path.display().to_string())
            ),
            None => format!("  program `{}`: whichever a call names", escape_quoted(&program.name)),
        });
    }
    if !checked.runs_anything() {
        lines.push(match executables(manifest).as_slice() {
            [] => "  runs nothing: it has neither tools nor scripts".to_owned(),
            files => format!(
                "  no call runs anything of it: it has neither tools nor scripts. An agent may run \
                 {}",
                files.join(", ")
            ),
        });
    }
    if let Some(requires) = requires(checked) {
        lines.push(requires);
    }
    let asked: Vec<String> = allowed_tools(manifest).into_iter().collect();
    if !asked.is_empty() {
        lines.push(format!("  asks its host for the tools {}", listed(&asked)));
    }
    let settings = host_settings(manifest);
    lines.extend(settings.iter().map(|setting| format!("  tells its host {setting}")));
    let commands = checked.prose_commands.iter();
    lines.extend(
        commands.map(|command| format!("  the prose has its host run: {}", escape_whole(command))),
    );
    lines.extend(found(&checked.findings));
    lines.extend(checked.warnings.iter().map(|warning| format!("  warning: {warning}")));
    lines
}

/// The executable files, escaped; the rest by number.
fn executables(manifest: &Manifest) -> Vec<String> {
    let files = manifest.files.iter().filter(|file| file.mode == Mode::Executable);
    let mut files: Vec<String> =
        files.map(|file| format!("`{}`", escape_whole(file.path.as_str()))).collect();
    let more = files.len().saturating_sub(MOST_EXECUTABLES);
    if more > 0 {
        files.truncate(MOST_EXECUTABLES);
        files.push(format!("{more} more"));
    }
    files
}

/// What is worth an eye in the files, each with its place; the rest by number.
pub fn found(findings: &Findings) -> Vec<String> {
    let mut told: Vec<&Finding> = findings.told().iter().collect();
    // The gravest first: what stands further down is read less.
    told.sort_by_key(|one| one.kind);
    let mut lines: Vec<String> =
        told.iter().take(MOST_FOUND).map(|one| format!("  found {one}")).collect();
    let more = findings.total().saturating_sub(u32::try_from(lines.len()).unwrap_or(u32::MAX));
    if more > 0 {
        let counts: Vec<String> =
            findings.counts().iter().map(|one| format!("{} {}", one.count, one.kind)).collect();
        lines.push(format!("  found {more} more; in all: {}", counts.join(", ")));
    }
    if findings.unread() > 0 {
        let files = if findings.unread() == 1 { "file is" } else { "files are" };
        let unread = findings.unread();
        lines.push(format!("  {unread} text {files} too long to be looked into whole"));
    }
    lines
}

fn requires(checked: &Checked) -> Option<String> {
    let requires = &checked.manifest.requires;
    let parts: Vec<String> = [
        ("programs", &requires.all),
        ("one program of", &requires.any),
        ("environment", &requires.env),
        ("system", &requires.os),
    ]
    .into_iter()
    .filter(|(_, names)| !names.is_empty())
    .map(|(what, names)| format!("{what} {}", listed(names)))
    .collect();
    (!parts.is_empty()).then(|| format!("  requires {}", parts.join("; ")))
}

/// Words as one line in which each is told from the next, and no two lists of words look alike: a
/// word with spaces, quotes or backslashes, or without anything in it, stands in quotes.
pub fn run_line(words: &[String]) -> String {
    let shown: Vec<String> = words
        .iter()
        .map(|word| {
            let plain = !word.is_empty()
                && !word.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\'));
            if plain {
                return escape_whole(word);
            }
            let word = word.replace('\\', "\\\\").replace('"', "\\\"");
            format!("\"{}\"", escape_whole(&word))
        })
        .collect();
    shown.join(" ")
}
