//! A difference as lines for a person; every text of a skill in them is escaped.

use std::fmt::Write as _;

use skillpkg_schema::diagnostic::{escape, escape_whole};
use skillpkg_schema::manifest::Mode;

use super::change::Change;
use super::files::{Content, FileChange, FileState};
use super::text::{Hunk, Piece, Standing};
use super::{Difference, Which};

/// The whole difference: what the skills may do, then the files with their text.
pub fn lines(difference: &Difference) -> Vec<String> {
    let mut lines = summary(difference);
    for file in &difference.files {
        if !file.hunks.is_empty() || file.cut {
            lines.push(String::new());
            text(file, &mut lines);
        }
    }
    lines
}

/// As [`lines`], with at most so many lines of the text of files; that there are more is said.
pub fn lines_within(difference: &Difference, most: usize) -> Vec<String> {
    let whole = lines(difference);
    let shown = summary(difference).len().saturating_add(most);
    let more = whole.len().saturating_sub(shown);
    let mut lines = whole;
    lines.truncate(shown);
    if more > 0 {
        lines.push(format!("({more} more lines differ)"));
    }
    lines
}

/// What the skills may do, and which files differ, without their text.
pub fn summary(difference: &Difference) -> Vec<String> {
    let Difference { before, after, same, adds, changes, files } = difference;
    let mut lines = vec![format!("{} -> {}", label(before), label(after))];
    if *same {
        lines.push("nothing differs".to_owned());
        return lines;
    }
    if !adds.is_empty() {
        lines.push(String::new());
        lines.push("Adds".to_owned());
        lines.extend(adds.iter().map(|line| format!("  + {line}")));
    }
    lines.extend(change_lines(changes));
    if !files.is_empty() {
        lines.push(String::new());
        lines.push("Files".to_owned());
        lines.extend(files.iter().map(file));
    }
    lines
}

fn label(which: &Which) -> String {
    let name = escape(&which.name);
    match &which.version {
        Some(version) => format!("{name}@{version}"),
        None => format!("{name} (no version)"),
    }
}

/// Changes under the title of what they are about.
fn change_lines(changes: &[Change]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut last = None;
    for change in changes {
        if last != Some(change.subject) {
            lines.push(String::new());
            lines.push(change.subject.title().to_owned());
            last = Some(change.subject);
        }
        let name = &change.name;
        let named = |text: &str| match text {
            "" => name.clone(),
            text => format!("{name}: {text}"),
        };
        match (&change.before, &change.after) {
            (Some(before), Some(after)) => {
                lines.push(format!("  ~ {name}"));
                lines.push(format!("    - {before}"));
                lines.push(format!("    + {after}"));
            }
            (Some(before), None) => lines.push(format!("  - {}", named(before))),
            (None, Some(after)) => lines.push(format!("  + {}", named(after))),
            (None, None) => {}
        }
    }
    lines
}

fn file(file: &FileChange) -> String {
    let path = escape_whole(file.path.as_str());
    let state = |state: &FileState| format!("{} {} bytes", mode(state.mode), state.size);
    let how = match file.content {
        Content::Binary => ", no text",
        Content::TooLong => ", too long to be compared",
        Content::Same | Content::Lines | Content::Words => "",
    };
    match (&file.before, &file.after) {
        (Some(before), Some(after)) if before.mode == after.mode => {
            format!("  ~ {path}  {} -> {} bytes{how}", before.size, after.size)
        }
        (Some(before), Some(after)) => {
            format!("  ~ {path}  {} -> {}{how}", state(before), state(after))
        }
        (Some(before), None) => format!("  - {path}  {}{how}", state(before)),
        (None, Some(after)) => format!("  + {path}  {}{how}", state(after)),
        (None, None) => format!("  {path}"),
    }
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Regular => "644",
        Mode::Executable => "755",
    }
}

fn text(file: &FileChange, lines: &mut Vec<String>) {
    let path = escape_whole(file.path.as_str());
    let old = if file.before.is_some() { path.as_str() } else { "nothing" };
    let new = if file.after.is_some() { path.as_str() } else { "nothing" };
    lines.push(format!("--- {old}"));
    lines.push(format!("+++ {new}"));
    for hunk in &file.hunks {
        lines.push(format!("@@ -{} +{} @@", hunk.before, hunk.after));
        if file.content == Content::Words {
            words(hunk, lines);
        } else {
            lines.extend(hunk.pieces.iter().map(line));
        }
    }
    if file.cut {
        lines.push("(more differs than is told)".to_owned());
    }
}

fn line(piece: &Piece) -> String {
    let mark = match piece.standing {
        Standing::Same => ' ',
        Standing::Removed => '-',
        Standing::Added => '+',
    };
    let (text, end) = match piece.text.strip_suffix('\n') {
        Some(text) => (text, ""),
        None => (piece.text.as_str(), " (no line end)"),
    };
    format!("{mark}{}{end}", shown(text))
}

/// Lines in which what is gone stands in `[-…-]` and what is new in `{+…+}`.
fn words(hunk: &Hunk, lines: &mut Vec<String>) {
    let mut line = String::new();
    for Piece { standing, text } in &hunk.pieces {
        let mut parts = text.split('\n').peekable();
        while let Some(part) = parts.next() {
            let is_last = parts.peek().is_none();
            match standing {
                _ if part.is_empty() => {}
                Standing::Same => line.push_str(&shown(part)),
                Standing::Removed => drop(write!(line, "[-{}-]", shown(part))),
                Standing::Added => drop(write!(line, "{{+{}+}}", shown(part))),
            }
            if !is_last {
                lines.push(std::mem::take(&mut line));
            }
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
}

/// A line safe to print; a tab in it stays one.
fn shown(text: &str) -> String {
    let parts: Vec<String> = text.split('\t').map(escape_whole).collect();
    parts.join("\t")
}
