//! Where the `tool` fences of a body stand, by CommonMark's rules.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::report::Place;

/// A fenced code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fence {
    /// The first word of its info string.
    pub(super) language: String,
    /// From the first backtick to the last, without the line end behind it.
    pub(super) range: Range<usize>,
    /// Where it opens, counted from the text's first line.
    pub(super) place: Place,
    /// What stands inside, marks of quotes and lists around it taken away.
    pub(super) lines: Vec<Line>,
    /// Whether it ends with a fence, rather than with what holds it.
    pub(super) is_closed: bool,
    /// Whether lines past the bound were left out.
    pub(super) is_cut: bool,
}

/// How much is collected of a text's fences.
#[derive(Debug, Clone, Copy)]
pub(super) struct Most {
    /// Fences of the languages asked for.
    pub(super) fences: usize,
    /// Lines of one fence.
    pub(super) lines: usize,
}

impl Most {
    /// All there is: the text itself is short.
    pub(super) const ALL: Self = Self { fences: usize::MAX, lines: usize::MAX };
}

/// One line inside a fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) place: Place,
}

/// Finds a text's lines by their offsets.
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let ends = text.match_indices('\n').map(|(end, _)| end + 1);
        Self { text, starts: std::iter::once(0).chain(ends).collect() }
    }

    pub(super) fn place(&self, offset: usize) -> Place {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let before = self.text.get(start..offset).unwrap_or_default();
        Place { line, column: before.chars().count() + 1 }
    }
}

/// The first fenced code blocks of `text` whose language is one of `languages`, in order.
pub(super) fn fences(text: &str, languages: &[&str], most: Most) -> Vec<Fence> {
    let lines = Lines::new(text);
    let mut fences = Vec::new();
    let mut inside: Option<Reading> = None;
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        if fences.len() >= most.fences {
            break;
        }
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let language = info.split_whitespace().next().unwrap_or_default();
                if languages.contains(&language) {
                    inside = Some(Reading::new(language.to_owned(), text, range, most.lines));
                }
            }
            Event::Text(content) => {
                if let Some(reading) = &mut inside {
                    reading.take(&content, range, &lines);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                fences.extend(inside.take().map(|reading| reading.finish(&lines)));
            }
            _ => {}
        }
    }
    fences
}

/// A fence whose end has not been met.
struct Reading {
    language: String,
    range: Range<usize>,
    /// Where its content ends.
    content_end: usize,
    lines: Vec<Line>,
    open: Option<Line>,
    most_lines: usize,
    is_cut: bool,
}

impl Reading {
    fn new(language: String, text: &str, range: Range<usize>, most_lines: usize) -> Self {
        let opening = text.get(range.clone()).unwrap_or_default();
        let content_end = range.start + opening.find('\n').unwrap_or(opening.len());
        Self {
            language,
            range,
            content_end,
            lines: Vec::new(),
            open: None,
            most_lines,
            is_cut: false,
        }
    }

    fn take(&mut self, content: &str, range: Range<usize>, lines: &Lines<'_>) {
        self.content_end = self.content_end.max(range.end);
        let is_exact = lines.text.get(range.clone()) == Some(content);
        let mut offset = 0;
        for piece in content.split_inclusive('\n') {
            let at = if is_exact { range.start + offset } else { range.start };
            offset += piece.len();
            if self.lines.len() >= self.most_lines {
                self.is_cut = true;
                return;
            }
            let line = self
                .open
                .get_or_insert_with(|| Line { text: String::new(), place: lines.place(at) });
            line.text.push_str(piece.strip_suffix('\n').unwrap_or(piece));
            if piece.ends_with('\n') {
                self.lines.extend(self.open.take());
            }
        }
    }

    fn finish(mut self, lines: &Lines<'_>) -> Fence {
        self.lines.extend(self.open.take());
        let tail = lines.text.get(self.content_end..self.range.end).unwrap_or_default();
        let is_closed = tail.trim_start_matches([' ', '\t', '>', '\n']).starts_with(['`', '~']);
        let mut range = self.range;
        if lines.text.get(range.clone()).is_some_and(|whole| whole.ends_with('\n')) {
            range.end -= 1;
        }
        let place = lines.place(range.start);
        Fence {
            language: self.language,
            range,
            place,
            lines: self.lines,
            is_closed,
            is_cut: self.is_cut,
        }
    }
}
