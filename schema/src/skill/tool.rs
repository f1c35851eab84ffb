//! A `tool` fence, read whole.

use super::bounds::MAX_FENCE_LINES;
use super::fence::Fence;
use super::lines::{Entry, Keyed, keys, known, line_value};
use super::report::Report;
use super::template::Template;
use super::{Param, Run, Tool, param, template};
use crate::diagnostic::{Diagnostic, escape};

/// The keys of a fence.
const KEYS: [&str; 4] = ["id", "description", "params", "run"];
/// Most characters of an id.
const MAX_ID: usize = 64;

/// A fence that was read.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// Its id, where that is a legal one.
    pub(super) id: Option<String>,
    /// The tool; [`None`] where an error was added.
    pub(super) tool: Option<Tool>,
}

/// Reads a fence.
pub(super) fn read(fence: &Fence, report: &mut Report<'_>) -> Read {
    let mut id = None;
    let tool = read_tool(fence, &mut id, report);
    Read { id, tool }
}

fn read_tool(fence: &Fence, named: &mut Option<String>, report: &mut Report<'_>) -> Option<Tool> {
    if !fence.is_closed {
        report.at(
            fence.place,
            Diagnostic::error("fence_unclosed", "this `tool` fence never closes")
                .with_hint("end it with a line of at least as many backticks as it opens with"),
        );
        return None;
    }
    if fence.is_cut {
        let message = format!("this `tool` fence has more than {MAX_FENCE_LINES} lines");
        report.at(
            fence.place,
            Diagnostic::error("fence_too_long", message)
                .with_hint("a fence declares one call; keep data in files of the skill"),
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
    *named = id.map(str::to_owned);
    let description = required(find("description"), "description", &whose, fence, report);
    let declared = match find("params") {
        Some(keyed) => param::read(keyed, &whose, report)?,
        None => Vec::new(),
    };
    let template = template::read(find("run"), &whose, fence, report);
    if let Some(template) = &template {
        template::check_use(&declared, template, &whose, report);
    }
    let params: Option<Vec<Param>> = declared.into_iter().map(|one| one.param).collect();
    Some(Tool {
        id: id?.to_owned(),
        description: description?.to_owned(),
        params: params?,
        run: Run::new(template.map(Template::into_words)?),
        line: fence.place.line,
    })
}

impl Tool {
    /// How many words, params and values of `enum` it holds.
    pub(super) fn parts(&self) -> usize {
        let of_param = |param: &Param| 1 + param.choices.as_ref().map_or(0, Vec::len);
        self.run.words().count() + self.params.iter().map(of_param).sum::<usize>()
    }
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
