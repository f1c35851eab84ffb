//! `includes`: the paths that a skill declares, before anybody asks a file system.

use super::report::{Place, Report};
use super::yaml::{Member, Node, Value};
use crate::diagnostic::{Diagnostic, escape};

/// One entry of `includes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Include {
    /// Without `./` before and `/` behind; `.` is the whole directory.
    pub(super) path: String,
    pub(super) place: Place,
}

/// Why an entry names nothing inside the skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum IncludeReason {
    #[error("it is empty")]
    Empty,
    #[error("it is absolute")]
    Absolute,
    #[error("it starts with `~`")]
    Home,
    #[error("it climbs out with `..`")]
    Climbs,
    #[error("it holds a backslash")]
    Backslash,
}

/// Reads the value of `includes`: comma-separated text, or a list.
pub(super) fn read(member: &Member, report: &mut Report<'_>) -> Vec<Include> {
    match &member.value.value {
        Value::Text(text) if text.trim().is_empty() => Vec::new(),
        Value::Text(text) => {
            text.split(',').filter_map(|entry| include(entry, member.value.place, report)).collect()
        }
        Value::List(items) => items
            .iter()
            .filter_map(|Node { place, value }| match value {
                Value::Text(text) => include(text, *place, report),
                Value::List(_) | Value::Map(_) => {
                    report.at(*place, not_paths());
                    None
                }
            })
            .collect(),
        Value::Map(_) => {
            report.at(member.value.place, not_paths());
            Vec::new()
        }
    }
}

fn not_paths() -> Diagnostic {
    Diagnostic::error("includes_form", "`includes` holds something else than paths").with_hint(
        "write the paths separated by commas, or as a list: `includes: handle.py, queries`",
    )
}

fn include(entry: &str, place: Place, report: &mut Report<'_>) -> Option<Include> {
    match normalize(entry) {
        Ok(path) => Some(Include { path, place }),
        Err(reason) => {
            report.at(
                place,
                Diagnostic::error(
                    "include_refused",
                    format!("the include `{}` is refused: {reason}", escape(entry.trim())),
                )
                .with_hint("an include is a path inside the skill's own directory, such as `queries/a.sql`"),
            );
            None
        }
    }
}

/// The path as it is kept.
pub(super) fn normalize(entry: &str) -> Result<String, IncludeReason> {
    let entry = entry.trim();
    if entry.is_empty() {
        return Err(IncludeReason::Empty);
    }
    if entry.starts_with('~') {
        return Err(IncludeReason::Home);
    }
    let is_drive =
        entry.as_bytes().get(1) == Some(&b':') && entry.as_bytes()[0].is_ascii_alphabetic();
    if entry.starts_with(['/', '\\']) || is_drive {
        return Err(IncludeReason::Absolute);
    }
    if entry.split(['/', '\\']).any(|part| part == "..") {
        return Err(IncludeReason::Climbs);
    }
    if entry.contains('\\') {
        return Err(IncludeReason::Backslash);
    }
    let parts: Vec<&str> = entry.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    Ok(if parts.is_empty() { ".".to_owned() } else { parts.join("/") })
}
