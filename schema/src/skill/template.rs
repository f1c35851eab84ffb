//! What stands under `run`.

use std::collections::HashSet;

use super::bounds::MAX_WORDS;
use super::fence::Fence;
use super::lines::{Keyed, line_value};
use super::param::Declared;
use super::report::{Place, Report};
use super::{run, shell};
use crate::diagnostic::{Diagnostic, escape};

/// The words of `run`, each with its place.
#[derive(Debug)]
pub(super) struct Template {
    words: Vec<(String, Place)>,
}

impl Template {
    pub(super) fn into_words(self) -> Vec<String> {
        self.words.into_iter().map(|(word, _)| word).collect()
    }
}

/// Reads what stands under `run`; [`None`] where an error was added.
pub(super) fn read(
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
        let words = words(line, keyed.value_place);
        if words.len() <= MAX_WORDS {
            shell::warn(&words, whose, report);
        }
        words
    };
    if let Some((_, place)) = words.get(MAX_WORDS) {
        let message = format!("{whose}: `run` has more than {MAX_WORDS} words");
        let diagnostic = Diagnostic::error("run_too_long", message);
        report.at(*place, diagnostic.with_hint("start a script of the skill that holds the rest"));
        return None;
    }
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

/// The words of a line, each with its place; one more than allowed at most.
fn words(line: &str, start: Place) -> Vec<(String, Place)> {
    let mut words = Vec::new();
    let mut column = start.column;
    for piece in line.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        if words.len() > MAX_WORDS {
            break;
        }
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
pub(super) fn check_use(
    declared: &[Declared<'_>],
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

fn undeclared(name: &str, declared: &[Declared<'_>], whose: &str) -> Diagnostic {
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
