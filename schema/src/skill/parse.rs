//! From the bytes of a `SKILL.md` to what it declares.

use std::borrow::Cow;
use std::collections::HashMap;

use super::content::Reference;
use super::frontmatter::{self, Frontmatter, NAME_MISSING};
use super::includes::Include;
use super::report::{Place, Report};
use super::{SkillFile, Tool, bounds, content, fence, tool};
use crate::diagnostic::{Diagnostic, Faults, Severity, escape};
use crate::limits::MAX_SKILL_FILE_BYTES;

/// A parsed file, and where its includes and the files it refers to stand.
pub(super) struct Located {
    pub(super) file: SkillFile,
    pub(super) includes: Option<Vec<Include>>,
    pub(super) references: Vec<Reference>,
}

/// A file that is refused, and the includes in it that are in order.
pub(super) struct Refused {
    pub(super) faults: Faults,
    pub(super) includes: Vec<Include>,
}

/// Parses the bytes of a `SKILL.md`; `file` is what messages call it.
///
/// A byte-order mark and CRLF line ends are read over. Tells every fault it finds, up to a hundred.
pub fn parse(source: &[u8], file: &str) -> Result<SkillFile, Faults> {
    let parsed = parse_unnamed(source, file).map_err(with_name_required)?;
    name_required(&parsed.warnings)?;
    Ok(parsed)
}

/// As [`parse`], and takes a file that names no skill, with a warning `name_missing`: for a skill that
/// has its name from elsewhere, its manifest or whoever packs it.
pub fn parse_unnamed(source: &[u8], file: &str) -> Result<SkillFile, Faults> {
    parse_located(source, file).map(|located| located.file).map_err(|refused| refused.faults)
}

/// Refuses what was read without a name.
pub(super) fn name_required(warnings: &[Diagnostic]) -> Result<(), Faults> {
    if warnings.iter().any(|one| one.code == NAME_MISSING) {
        Faults::check((), required(warnings.to_vec()))?;
    }
    Ok(())
}

/// Faults, that of a missing name among them.
pub(super) fn with_name_required(faults: Faults) -> Faults {
    match Faults::check((), required(faults.clone().into_diagnostics())) {
        Err(required) => required,
        Ok(_) => faults,
    }
}

fn required(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    for one in diagnostics.iter_mut().filter(|one| one.code == NAME_MISSING) {
        one.severity = Severity::Error;
    }
    diagnostics
}

pub(super) fn parse_located(source: &[u8], file: &str) -> Result<Located, Refused> {
    let mut report = Report::new(file);
    let mut includes = Vec::new();
    let read = text(source).and_then(|text| read(&text, &mut includes, &mut report));
    let located = match read {
        Ok(located) => located,
        Err(diagnostic) => {
            report.add(diagnostic);
            None
        }
    };
    let checked = match located {
        Some(mut located) => report.check(()).map(|((), warnings)| {
            located.file.warnings = warnings;
            located
        }),
        None => Err(report.into_faults()),
    };
    checked.map_err(|faults| Refused { faults, includes })
}

/// The text without its byte-order mark, its lines ended by `\n`.
fn text(source: &[u8]) -> Result<Cow<'_, str>, Diagnostic> {
    if source.len() as u64 > MAX_SKILL_FILE_BYTES {
        let message = format!("the file is longer than {MAX_SKILL_FILE_BYTES} bytes");
        return Err(Diagnostic::error("file_too_long", message)
            .with_hint("move what is not needed at first into files that the text refers to"));
    }
    let text = std::str::from_utf8(source).map_err(|error| {
        let valid = source.get(..error.valid_up_to()).unwrap_or_default();
        let place = end_place(&String::from_utf8_lossy(valid));
        Diagnostic::error("file_not_utf8", "the file is not UTF-8")
            .at_line(place.line)
            .at_column(place.column)
            .with_hint("save it as UTF-8")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // YAML takes the text to end there, so that a reader would see more than a program.
    if let Some((before, _)) = text.split_once('\0') {
        let place = end_place(before);
        return Err(Diagnostic::error("file_nul", "the file holds a NUL character")
            .at_line(place.line)
            .at_column(place.column)
            .with_hint("take it out"));
    }
    if text.contains('\r') {
        Ok(text.replace("\r\n", "\n").replace('\r', "\n").into())
    } else {
        Ok(text.into())
    }
}

/// The place just behind `text`.
fn end_place(text: &str) -> Place {
    let line = text.rsplit('\n').next().unwrap_or_default();
    Place { line: text.matches('\n').count() + 1, column: line.chars().count() + 1 }
}

fn read(
    text: &str,
    named: &mut Vec<Include>,
    report: &mut Report<'_>,
) -> Result<Option<Located>, Diagnostic> {
    let parts = frontmatter::divide(text)?;
    let frontmatter = frontmatter::read(parts.frontmatter, named, report);
    if parts.body.trim().is_empty() {
        report.add(
            Diagnostic::error("body_empty", "there is nothing after the frontmatter")
                .at_line(parts.body_line)
                .with_hint("write what a model should read"),
        );
    }
    bounds::check(parts.body, parts.body_line)?;
    let (rendered, tools) = body(parts.body, parts.body_line, report);
    content::warn_of_hidden_characters(text, report);
    let references = content::examine(parts.body, parts.body_line, report);
    let Some(frontmatter) = frontmatter.filter(|_| !report.has_errors()) else { return Ok(None) };
    let Frontmatter { dialect, name, description, version, license, includes, metadata } =
        frontmatter;
    let paths = includes
        .as_ref()
        .map(|includes| includes.iter().map(|include| include.path.clone()).collect());
    let file = SkillFile {
        dialect,
        name,
        description,
        version,
        license,
        includes: paths,
        metadata,
        rendered,
        tools,
        warnings: Vec::new(),
    };
    Ok(Some(Located { file, includes, references }))
}

/// The prose with each fence collapsed, and the tools.
fn body(body: &str, first_line: usize, report: &mut Report<'_>) -> (String, Vec<Tool>) {
    let mut rendered = String::with_capacity(body.len());
    let mut tools: Vec<Tool> = Vec::new();
    let mut lines = Ids::default();
    let mut last = 0;
    let mut parts = 0;
    // One more than there may be, to tell that there is.
    let most = fence::Most { fences: bounds::MAX_TOOLS + 1, lines: bounds::MAX_FENCE_LINES };
    for (position, mut fence) in fence::fences(body, &["tool"], most).into_iter().enumerate() {
        if report.is_full() {
            break;
        }
        fence.place.line += first_line - 1;
        if position == bounds::MAX_TOOLS {
            let message = format!("the skill has more than {} tools", bounds::MAX_TOOLS);
            let diagnostic = Diagnostic::error("tools_too_many", message);
            report.at(fence.place, diagnostic.with_hint("divide it into several skills"));
            break;
        }
        for line in &mut fence.lines {
            line.place.line += first_line - 1;
        }
        let read = tool::read(&fence, report);
        let first = read.id.map(|id| lines.insert_once(id, fence.place, report));
        let Some(tool) = read.tool else { continue };
        parts += tool.parts();
        if parts > bounds::MAX_PARTS {
            let message = format!(
                "up to here the tools have more than {} words, params and values",
                bounds::MAX_PARTS
            );
            let diagnostic = Diagnostic::error("tools_too_large", message);
            report.at(fence.place, diagnostic.with_hint("divide it into several skills"));
            break;
        }
        rendered.push_str(body.get(last..fence.range.start).unwrap_or_default());
        rendered.push_str("[tool: ");
        rendered.push_str(&tool.id);
        rendered.push(']');
        last = fence.range.end;
        if first == Some(true) {
            tools.push(tool);
        }
    }
    rendered.push_str(body.get(last..).unwrap_or_default());
    (trimmed(&rendered).to_owned(), tools)
}

/// The ids of tools, each with the line of its fence.
#[derive(Default)]
struct Ids(HashMap<String, usize>);

impl Ids {
    /// Remembers an id; one that is there is told, and answered with `false`.
    fn insert_once(&mut self, id: String, place: Place, report: &mut Report<'_>) -> bool {
        if let Some(first) = self.0.get(&id) {
            let id = escape(&id);
            let message = format!("tool `{id}`: the id stands twice, first on line {first}");
            let diagnostic = Diagnostic::error("tool_twice", message);
            report.at(place, diagnostic.with_hint("give each tool an id of its own"));
            return false;
        }
        self.0.insert(id, place.line);
        true
    }
}

/// Without blank lines before and white space behind; the first line keeps its indentation.
fn trimmed(text: &str) -> &str {
    let text = text.trim_end();
    let blank = text.len() - text.trim_start().len();
    let first = text.get(..blank).and_then(|blank| blank.rfind('\n')).map_or(0, |end| end + 1);
    text.get(first..).unwrap_or(text)
}
