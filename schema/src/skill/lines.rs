//! Lines of `key: value`, nested by indentation: what stands in a `tool` fence.
//!
//! It is not YAML: a value is the rest of its line, with no quotes, escapes, comments or types.

use std::collections::HashSet;

use super::fence::Line;
use super::report::{Place, Report, did_you_mean};
use crate::diagnostic::{Diagnostic, escape};

/// A line that is not blank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    /// What stands behind the indentation, to the end of the line.
    pub(super) content: &'a str,
    pub(super) indent: usize,
    pub(super) is_indented_with_spaces: bool,
    /// Where the content starts.
    pub(super) place: Place,
}

impl<'a> Entry<'a> {
    pub(super) fn new(line: &'a Line) -> Self {
        let content = line.text.trim_start();
        let indent = line.text.chars().count() - content.chars().count();
        let place = Place { column: line.place.column + indent, ..line.place };
        let is_indented_with_spaces = line.text.chars().take(indent).all(|c| c == ' ');
        Self { content, indent, is_indented_with_spaces, place }
    }

    pub(super) fn is_item(&self) -> bool {
        self.content == "-" || self.content.starts_with("- ")
    }

    /// Divides `key: value`, the value trimmed; with it the place where it starts.
    pub(super) fn key_value(&self) -> Option<(&'a str, &'a str, Place)> {
        let (key, rest) = self.content.split_once(':')?;
        let key = key.trim_end();
        if key.is_empty() || !(rest.is_empty() || rest.starts_with(char::is_whitespace)) {
            return None;
        }
        let value = rest.trim_start();
        let before = self.content.len() - value.len();
        let characters = self.content.get(..before).map_or(0, |before| before.chars().count());
        let place = Place { column: self.place.column + characters, ..self.place };
        Some((key, value.trim_end(), place))
    }
}

/// A key, what stands behind it and what stands beneath it.
#[derive(Debug)]
pub(super) struct Keyed<'e, 'a> {
    pub(super) key: &'a str,
    /// Where the key stands.
    pub(super) place: Place,
    pub(super) value: &'a str,
    /// Where the value stands, or would.
    pub(super) value_place: Place,
    pub(super) beneath: &'e [Entry<'a>],
}

/// Divides the lines of one level into keys; whatever is no key is told.
///
/// `whose` says in a message whose keys they are.
pub(super) fn keys<'e, 'a>(
    entries: &'e [Entry<'a>],
    whose: &str,
    report: &mut Report<'_>,
) -> Vec<Keyed<'e, 'a>> {
    let Some(indent) = entries.first().map(|first| first.indent) else { return Vec::new() };
    let mut keys = Vec::new();
    let mut rest = entries;
    while let Some((head, tail)) = rest.split_first() {
        rest = tail;
        if report.is_full() {
            break;
        }
        if head.indent != indent {
            report.at(
                head.place,
                Diagnostic::error(
                    "fence_indentation",
                    format!("{whose}: `{}` stands under nothing", escape(head.content.trim_end())),
                )
                .with_hint(format!("keys of this level are indented by {indent}")),
            );
            continue;
        }
        let Some((key, value, value_place)) = head.key_value() else {
            report.at(head.place, no_key(head, whose));
            continue;
        };
        let takes_items = value.is_empty();
        let end = tail
            .iter()
            .position(|next| {
                next.indent <= indent && !(takes_items && next.indent == indent && next.is_item())
            })
            .unwrap_or(tail.len());
        let (beneath, behind) = tail.split_at(end);
        rest = behind;
        keys.push(Keyed { key, place: head.place, value, value_place, beneath });
    }
    keys
}

fn no_key(entry: &Entry<'_>, whose: &str) -> Diagnostic {
    let shown = escape(entry.content.trim_end());
    let diagnostic =
        Diagnostic::error("fence_line", format!("{whose}: `{shown}` is no `key: value` line"));
    match entry.content.split_once(':') {
        Some((key, _)) if !key.trim().is_empty() => {
            diagnostic.with_hint("put a space behind the colon")
        }
        _ => diagnostic.with_hint("a value is one line; a list stands under `run:` only"),
    }
}

/// Tells of keys that are unknown or stand twice, and answers with the others.
pub(super) fn known<'k, 'e, 'a>(
    keys: &'k [Keyed<'e, 'a>],
    allowed: &[&'static str],
    whose: &str,
    report: &mut Report<'_>,
) -> Vec<&'k Keyed<'e, 'a>> {
    let mut seen = HashSet::new();
    let mut known = Vec::new();
    for keyed in keys {
        if !allowed.contains(&keyed.key) {
            let message = format!(
                "{whose}: `{}` is no key here; there are {}",
                escape(keyed.key),
                list(allowed)
            );
            let mut diagnostic = Diagnostic::error("fence_key", message);
            if let Some(hint) = did_you_mean(keyed.key, allowed.iter().copied()) {
                diagnostic = diagnostic.with_hint(hint);
            }
            report.at(keyed.place, diagnostic);
        } else if seen.insert(keyed.key) {
            known.push(keyed);
        } else {
            let message = format!("{whose}: `{}` stands twice", keyed.key);
            report.at(
                keyed.place,
                Diagnostic::error("fence_key_twice", message).with_hint("keep one of them"),
            );
        }
    }
    known
}

fn list(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// The one-line value of a key; lines beneath it are an error.
pub(super) fn line_value<'a>(
    keyed: &Keyed<'_, 'a>,
    whose: &str,
    report: &mut Report<'_>,
) -> &'a str {
    if let Some(first) = keyed.beneath.first() {
        let message = format!(
            "{whose}: `{}` stands under `{}`, which takes one line",
            escape(first.content.trim_end()),
            escape(keyed.key)
        );
        let hint = format!("write all of it behind `{}:`", escape(keyed.key));
        report.at(first.place, Diagnostic::error("fence_nested", message).with_hint(hint));
    }
    keyed.value
}
