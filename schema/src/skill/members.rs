//! The keys and values of frontmatter, as YAML or, where that fails, as prose has them.

use super::continuation::{self, Continued};
use super::repair::{Repair, quote, repair};
use super::report::{Place, Report};
use super::yaml::{self, Cut, Member, Node, Value, YamlError};
use crate::diagnostic::{Diagnostic, escape};

/// Every key that one of the dialects knows.
pub(super) const KNOWN: [&str; 9] = [
    "skill",
    "name",
    "description",
    "includes",
    "version",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
];

/// The keys and values, those lines taken verbatim that are not YAML as they stand.
pub(super) fn read(text: &str, report: &mut Report<'_>) -> Option<Vec<Member>> {
    let Attempt { read, repairs, continued } = attempt(text);
    let (mut members, cuts) = match read {
        Ok(read) => read,
        Err(error) => {
            let mut diagnostic =
                Diagnostic::error("frontmatter_not_read", error.reason.to_string());
            if let Some(key) = key_without_space(text, error.place.line) {
                diagnostic = diagnostic.with_hint(format!("put a space behind `{}:`", escape(key)));
            } else if let Some(hint) = error.reason.hint() {
                diagnostic = diagnostic.with_hint(hint);
            }
            report.at(in_file(error.place), diagnostic);
            return None;
        }
    };
    for Continued { key, moved } in continued {
        let key = key.map_or_else(String::new, |key| format!(" of `{}`", escape(&key)));
        let line = moved.first().map_or(1, |(line, _)| *line);
        report.at(
            in_file(Place { line, column: 1 }),
            Diagnostic::warning(
                "frontmatter_indentation",
                format!("the value{key} goes on at the margin; it was read as if it were indented"),
            )
            .with_hint("indent every line of it deeper than its key, the last one too"),
        );
    }
    for repair in repairs {
        let key = repair.key.map_or_else(String::new, |key| format!(" of `{}`", escape(&key)));
        report.at(
            in_file(repair.place),
            Diagnostic::warning(
                "frontmatter_verbatim",
                format!("the value{key} is not YAML as it stands; it was taken verbatim"),
            )
            .with_hint(format!("put it in quotes: {}", escape(&repair.quoted))),
        );
    }
    for Cut { place, whole } in cuts {
        report.at(
            in_file(place),
            Diagnostic::warning(
                "frontmatter_comment",
                "to YAML the value ends at ` #`; it was taken verbatim, to the end of the line",
            )
            .with_hint(format!(
                "put it in quotes: {}; or move the remark to a line of its own",
                escape(&quote(&whole))
            )),
        );
    }
    for member in &mut members {
        shift(member);
    }
    Some(members)
}

/// What reading made of frontmatter, and what was read otherwise than YAML has it.
struct Attempt {
    read: Result<(Vec<Member>, Vec<Cut>), YamlError>,
    repairs: Vec<Repair>,
    continued: Vec<Continued>,
}

/// Reads `text` as YAML; where it is none, with the values indented that go on at the margin; else
/// with values taken verbatim as well.
fn attempt(text: &str) -> Attempt {
    let (repairs, continued) = (Vec::new(), Vec::new());
    let read = yaml::read(text);
    if !may_be_prose(&read) {
        return Attempt { read, repairs, continued };
    }
    let (indented, continued) = continuation::indent(text);
    if !continued.is_empty() {
        let read = yaml::read(&indented);
        if !may_be_prose(&read) {
            return Attempt {
                read: read.map_err(|error| moved_back(error, &continued)),
                repairs,
                continued,
            };
        }
    }
    let (repaired, repairs) = repair(&indented);
    let read = yaml::read(&repaired).map_err(|error| moved_back(error, &continued));
    Attempt { read, repairs, continued }
}

fn may_be_prose<T>(read: &Result<T, YamlError>) -> bool {
    read.as_ref().is_err_and(|error| error.reason.may_be_prose())
}

/// The error with its column as it is in the file.
fn moved_back(mut error: YamlError, continued: &[Continued]) -> YamlError {
    let moved = continued.iter().flat_map(|one| &one.moved);
    let by = moved.into_iter().find(|(line, _)| *line == error.place.line).map_or(0, |(_, by)| *by);
    error.place.column = error.place.column.saturating_sub(by).max(1);
    error
}

/// The key of a line like `name:demo`, on line `last` of the frontmatter or above it.
fn key_without_space(text: &str, last: usize) -> Option<&str> {
    text.lines().take(last).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        let is_key = KNOWN.contains(&key) && !value.is_empty();
        (is_key && !value.starts_with([' ', '\t'])).then_some(key)
    })
}

/// The place in the file of a place in the frontmatter: one line, `---`, stands above it.
fn in_file(place: Place) -> Place {
    Place { line: place.line + 1, ..place }
}

fn shift(member: &mut Member) {
    member.place = in_file(member.place);
    shift_node(&mut member.value);
}

fn shift_node(node: &mut Node) {
    node.place = in_file(node.place);
    match &mut node.value {
        Value::Text(_) => {}
        Value::List(items) => items.iter_mut().for_each(shift_node),
        Value::Map(members) => members.iter_mut().for_each(shift),
    }
}
