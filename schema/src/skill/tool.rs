//! The body of a `tool` fence: lines of `key: value`, nested by indentation.
//!
//! It is not YAML: a value is the rest of its line, with no quotes, escapes, comments or types.

use std::collections::HashSet;

use super::fence::{Fence, Line};
use super::report::{Place, Report, did_you_mean};
use super::{Param, Run, Tool, param, run};
use crate::diagnostic::{Diagnostic, escape};

/// The keys of a fence.
const KEYS: [&str; 4] = ["id", "description", "params", "run"];
/// Most characters of an id.
const MAX_ID: usize = 64;

/// A line that is not blank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    /// What stands behind the indentation, to the end of the line.
    pub(super) content: &'a str,
    pub(super) indent: usize,
    is_indented_with_spaces: bool,
    /// Where the content starts.
    pub(super) place: Place,
}

impl<'a> Entry<'a> {
    fn new(line: &'a Line) -> Self {
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

/// Reads a fence; [`None`] where an error was added.
pub(super) fn read(fence: &Fence, report: &mut Report<'_>) -> Option<Tool> {
    if !fence.is_closed {
        report.at(
            fence.place,
            Diagnostic::error("fence_unclosed", "this `tool` fence never closes")
                .with_hint("end it with a line of at least as many backticks as it opens with"),
        );
        return None;
    }
    let entries: Vec<Entry<'_>> =
        fence.lines.iter().filter(|line| !line.text.trim().is_empty()).map(Entry::new).collect();
    let whose = whose(&entries);
    for entry in entries.iter().filter(|entry| !entry.is_indented_with_spaces) {
        let shown = escape(entry.content.trim_end());
        report.at(
            entry.place,
            Diagnostic::error(
                "fence_tab",
                format!("{whose}: `{shown}` is not indented with spaces"),
            )
            .with_hint("a tab is as wide as each reader makes it; indent with spaces"),
        );
    }
    if report.is_full() {
        return None;
    }
    let keys = keys(&entries, &whose, report);
    let known = known(&keys, &KEYS, &whose, report);
    let find = |key: &str| known.iter().find(|keyed| keyed.key == key).copied();

    let id = required(find("id"), "id", &whose, fence, report);
    let id = id.filter(|id| check_id(id, find("id"), &whose, report));
    let description = required(find("description"), "description", &whose, fence, report);
    let declared = find("params").map(|keyed| param::read(keyed, &whose, report));
    let declared = declared.unwrap_or_default();
    let template = template(find("run"), &whose, fence, report);
    if let Some(template) = &template {
        check_use(&declared, template, &whose, report);
    }
    let params: Option<Vec<Param>> = declared.into_iter().map(|one| one.param).collect();
    Some(Tool {
        id: id?.to_owned(),
        description: description?.to_owned(),
        params: params?,
        run: Run::new(template?.words.into_iter().map(|(word, _)| word).collect()),
        line: fence.place.line,
    })
}

/// How messages call the tool: by its id, wherever that stands.
fn whose(entries: &[Entry<'_>]) -> String {
    let id = entries
        .iter()
        .filter_map(Entry::key_value)
        .find(|(key, value, _)| *key == "id" && !value.is_empty());
    match id {
        Some((_, id, _)) => format!("tool `{}`", escape(id)),
        None => "tool fence".to_owned(),
    }
}

fn required<'a>(
    keyed: Option<&Keyed<'_, 'a>>,
    key: &str,
    whose: &str,
    fence: &Fence,
    report: &mut Report<'_>,
) -> Option<&'a str> {
    let value = keyed.map(|keyed| line_value(keyed, whose, report));
    if value.is_some_and(|value| !value.is_empty()) {
        return value;
    }
    let (code, fault) =
        if keyed.is_some() { ("fence_empty", "is empty") } else { ("fence_missing", "is missing") };
    let place = keyed.map_or(fence.place, |keyed| keyed.value_place);
    report.at(
        place,
        Diagnostic::error(code, format!("{whose}: `{key}` {fault}"))
            .with_hint(format!("add a line `{key}: …`")),
    );
    None
}

fn check_id(id: &str, keyed: Option<&Keyed<'_, '_>>, whose: &str, report: &mut Report<'_>) -> bool {
    let is_legal =
        id.len() <= MAX_ID && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if let (false, Some(keyed)) = (is_legal, keyed) {
        report.at(
            keyed.value_place,
            Diagnostic::error(
                "fence_id",
                format!("{whose}: this `id` is not one a model can call"),
            )
            .with_hint(format!("use 1 to {MAX_ID} of `A-Z a-z 0-9 _ -`")),
        );
    }
    is_legal
}

/// The words of `run`, each with its place.
#[derive(Debug)]
struct Template {
    words: Vec<(String, Place)>,
}

fn template(
    keyed: Option<&Keyed<'_, '_>>,
    whose: &str,
    fence: &Fence,
    report: &mut Report<'_>,
) -> Option<Template> {
    let Some(keyed) = keyed else {
        report.at(
            fence.place,
            Diagnostic::error("fence_missing", format!("{whose}: `run` is missing"))
                .with_hint("add a line `run: …`: the program and its arguments"),
        );
        return None;
    };
    let words = if keyed.value.is_empty() {
        items(keyed, whose, report)?
    } else {
        let line = line_value(keyed, whose, report);
        words(line, keyed.value_place)
    };
    match words.first() {
        Some((word, _)) if !word.trim().is_empty() => Some(Template { words }),
        first => {
            let place = first.map_or(keyed.value_place, |(_, place)| *place);
            report.at(
                place,
                Diagnostic::error("run_empty", format!("{whose}: `run` names no program"))
                    .with_hint("write the program and its arguments behind `run:`"),
            );
            None
        }
    }
}

/// The words of a line, each with its place.
fn words(line: &str, start: Place) -> Vec<(String, Place)> {
    let mut words = Vec::new();
    let mut column = start.column;
    for piece in line.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        if !word.is_empty() {
            words.push((word.to_owned(), Place { column, ..start }));
        }
        column += piece.chars().count();
    }
    words
}

/// The words of a list: each item verbatim, from behind its `- ` to the end of the line.
fn items(
    keyed: &Keyed<'_, '_>,
    whose: &str,
    report: &mut Report<'_>,
) -> Option<Vec<(String, Place)>> {
    let mut words = Vec::new();
    let mut is_whole = true;
    let indent = keyed.beneath.first().map_or(0, |first| first.indent);
    for entry in keyed.beneath {
        if entry.indent != indent || !entry.is_item() {
            let message = format!(
                "{whose}: `{}` is no item of the list under `run`",
                escape(entry.content.trim_end())
            );
            let hint = "each item is one line `- word`, all indented alike, and one argv word";
            report.at(entry.place, Diagnostic::error("run_item", message).with_hint(hint));
            is_whole = false;
            continue;
        }
        let word = entry.content.strip_prefix("- ").unwrap_or_default();
        let place = Place { column: entry.place.column + 2, ..entry.place };
        if word.trim() != word {
            let message =
                format!("{whose}: this word starts or ends with white space, which is kept");
            let hint = "take it away unless the program needs it";
            report.at(place, Diagnostic::warning("run_white_space", message).with_hint(hint));
        }
        words.push((word.to_owned(), place));
    }
    is_whole.then_some(words)
}

/// Every param stands in some word, and every `$name` is declared.
fn check_use(
    declared: &[param::Declared<'_>],
    template: &Template,
    whose: &str,
    report: &mut Report<'_>,
) {
    let names: HashSet<&str> = declared.iter().map(|one| one.name).collect();
    let mut used = HashSet::new();
    for (word, place) in &template.words {
        for name in run::names(word) {
            if names.contains(name) {
                used.insert(name);
            } else if used.insert(name) && !report.is_full() {
                report.at(*place, undeclared(name, declared, whose));
            }
        }
    }
    for one in declared.iter().filter(|one| !used.contains(one.name)) {
        let name = escape(one.name);
        report.at(
            one.place,
            Diagnostic::error(
                "param_unused",
                format!("{whose}, param `{name}`: it is declared but never used in `run`"),
            )
            .with_hint(format!(
                "write `${name}` where its value belongs, or take the param away: `run` is the whole call"
            )),
        );
    }
}

fn undeclared(name: &str, declared: &[param::Declared<'_>], whose: &str) -> Diagnostic {
    let shown = escape(name);
    let near = crate::diagnostic::nearest(name, declared.iter().take(64).map(|one| one.name));
    Diagnostic::error("param_undeclared", format!("{whose}: `${shown}` in `run` is not declared"))
        .with_hint(match near {
            Some(near) => format!("did you mean `${}`?", escape(near)),
            None => format!(
                "declare `{shown}` under `params`, or write `$${shown}` for the text `${shown}`"
            ),
        })
}
