//! What is wrong, where, and what to do about it.

use std::fmt;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// Whether a diagnostic stops the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Severity {
    /// Worth telling; nothing is refused for it.
    Warning,
    /// The skill is refused.
    Error,
}

/// One thing that is wrong: a stable code, a message, its place, and a hint that can be acted on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Diagnostic {
    /// Whether this refuses the skill.
    pub severity: Severity,
    /// Stable, in `snake_case`: what scripts match on.
    pub code: String,
    /// One sentence. Names from outside stand in backticks with control characters escaped.
    pub message: String,
    /// The file, relative to the skill's directory, `/`-separated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line of the file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column of that line in characters, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// What to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Diagnostic {
    /// An error without a place.
    pub fn error(code: &str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message.into())
    }

    /// A warning without a place.
    pub fn warning(code: &str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message.into())
    }

    fn new(severity: Severity, code: &str, message: String) -> Self {
        let code = code.to_owned();
        Self { severity, code, message, file: None, line: None, column: None, hint: None }
    }

    /// In this file.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// On this line, from 1.
    #[must_use]
    pub fn at_line(mut self, line: usize) -> Self {
        self.line = Some(u32::try_from(line).unwrap_or(u32::MAX));
        self
    }

    /// At this column, in characters from 1.
    #[must_use]
    pub fn at_column(mut self, column: usize) -> Self {
        self.column = Some(u32::try_from(column).unwrap_or(u32::MAX));
        self
    }

    /// With this advice.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    /// `file:line:column: message` and, on a line of its own, the hint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            f.write_str(&escape(file))?;
            for place in [self.line, self.column].into_iter().map_while(|place| place) {
                write!(f, ":{place}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

/// The errors found in one piece of work, all of them, with the warnings met on the way.
///
/// Holds at least one diagnostic of [`Severity::Error`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(Vec<Diagnostic>);

/// Sorts diagnostics by file, line and column, as a reader goes through them; those of one place stay
/// as they were found. What is of no file comes first, and what is of no line last in its file.
pub fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by(|one, other| {
        let place = |one: &Diagnostic| (one.line.unwrap_or(u32::MAX), one.column);
        one.file.cmp(&other.file).then_with(|| place(one).cmp(&place(other)))
    });
}

impl Faults {
    /// Every diagnostic, by its place.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0
    }

    /// The first error: what a command that shows one shows.
    pub fn first(&self) -> &Diagnostic {
        self.0.iter().find(|one| one.severity == Severity::Error).unwrap_or(&self.0[0])
    }

    /// Takes the diagnostics out.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.0
    }

    /// `value` when `diagnostics` hold no error, else all of them; each time by their places.
    pub fn check<T>(
        value: T,
        mut diagnostics: Vec<Diagnostic>,
    ) -> Result<(T, Vec<Diagnostic>), Self> {
        sort(&mut diagnostics);
        if diagnostics.iter().any(|one| one.severity == Severity::Error) {
            Err(Self(diagnostics))
        } else {
            Ok((value, diagnostics))
        }
    }
}

impl From<Diagnostic> for Faults {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for one in self.0.iter().filter(|one| one.severity == Severity::Error) {
            if !first {
                f.write_char('\n')?;
            }
            first = false;
            write!(f, "{one}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

/// Text from outside, made safe to print: control characters, bidirectional and invisible
/// characters become `\u{…}`, and at most 200 characters are kept.
///
/// Stops terminal escapes and reordered text in messages (CVE-2021-42574).
pub fn escape(text: &str) -> String {
    const LONGEST: usize = 200;
    let mut escaped = String::with_capacity(text.len().min(LONGEST));
    for (position, character) in text.chars().enumerate() {
        if position == LONGEST {
            escaped.push('…');
            break;
        }
        push_escaped(&mut escaped, character);
    }
    escaped
}

/// As [`escape`], but nothing is cut: for what must be shown in full, such as a run line.
pub fn escape_whole(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    text.chars().for_each(|character| push_escaped(&mut escaped, character));
    escaped
}

/// As [`escape_whole`], with backquotes escaped too: for what stands in backquotes where somebody
/// decides by what is shown, so that no name ends its own quotation.
pub fn escape_quoted(text: &str) -> String {
    escape_whole(text).replace('`', "\\u{60}")
}

/// As [`escape_whole`], but lines stay lines: for prose of several. `\r\n` is read as one line end.
pub fn escape_prose(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(escape_whole).collect();
    lines.join("\n")
}

fn push_escaped(escaped: &mut String, character: char) {
    match character {
        '\n' => escaped.push_str("\\n"),
        '\t' => escaped.push_str("\\t"),
        '\r' => escaped.push_str("\\r"),
        _ if is_unprintable(character) => {
            let _ = write!(escaped, "\\u{{{:x}}}", u32::from(character));
        }
        _ => escaped.push(character),
    }
}

/// Control characters, line separators, and every character that Unicode lets a display leave out
/// (`Default_Ignorable_Code_Point`): bidirectional, zero-width, filler, tag, variation selector.
pub fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The candidate nearest to `wanted`, when it is near enough to offer.
///
/// Near is an edit distance (insert, delete, replace, swap of neighbours) of at most a third of the
/// longer text, and at least one.
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if wanted.chars().count() > 100 {
        return None;
    }
    candidates
        .into_iter()
        .filter(|candidate| candidate.chars().count() <= 100)
        .map(|candidate| (distance(wanted, candidate), candidate))
        .filter(|(distance, candidate)| {
            let longest = wanted.chars().count().max(candidate.chars().count());
            *distance <= (longest / 3).max(1)
        })
        .min()
        .map(|(_, candidate)| candidate)
}

fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut rows = vec![vec![0; right.len() + 1]; left.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=left.len() {
        for j in 1..=right.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_escaped_holds_nothing_to_escape_and_is_short(text in any::<String>()) {
            let escaped = escape(&text);
            prop_assert!(!escaped.chars().any(is_unprintable));
            let longest = 200 * "\\u{10ffff}".len() + 1;
            prop_assert!(escaped.chars().count() <= longest);
            prop_assert_eq!(escape(&escape_whole(&text)), escape(&escape_whole(&escape_whole(&text))));
        }

        #[test]
        fn a_text_is_nearest_to_itself(text in ".{1,40}", others in prop::collection::vec(".{0,40}", 0..5)) {
            let candidates = others.iter().chain([&text]).map(String::as_str);
            prop_assert_eq!(nearest(&text, candidates), Some(text.as_str()));
        }
    }

    #[test]
    fn a_diagnostic_shows_place_message_and_hint() {
        let one = Diagnostic::error("x", "`$usr` is not declared")
            .in_file("SKILL.md")
            .at_line(9)
            .at_column(3)
            .with_hint("did you mean `$user`?");
        let shown = "SKILL.md:9:3: `$usr` is not declared\n  hint: did you mean `$user`?";
        assert_eq!(one.to_string(), shown);
    }

    #[test]
    fn diagnostics_are_in_the_order_of_their_places() {
        let at = |code: &str, line, column| {
            Diagnostic::error(code, "x").in_file("SKILL.md").at_line(line).at_column(column)
        };
        let found = vec![
            at("d", 6, 1),
            Diagnostic::error("g", "x").in_file("a/b.md"),
            Diagnostic::error("f", "of no line").in_file("SKILL.md"),
            at("c", 1, 10),
            at("b", 1, 2),
            Diagnostic::error("a", "x"),
            Diagnostic { severity: Severity::Warning, ..at("e", 6, 1) },
        ];
        let faults = Faults::check((), found).unwrap_err();
        let codes: Vec<&str> = faults.diagnostics().iter().map(|one| one.code.as_str()).collect();
        assert_eq!(codes, ["a", "b", "c", "d", "e", "f", "g"]);
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(escape("a\u{1b}[31m\u{202e}b\n"), "a\\u{1b}[31m\\u{202e}b\\n");
        assert_eq!(escape("déjà"), "déjà");
    }

    #[test]
    fn prose_keeps_its_lines_and_what_is_shown_whole_is_not_cut() {
        assert_eq!(
            escape_prose("a\r\nb\u{1b}]8;;x\u{7}\n\nc\rd"),
            "a\nb\\u{1b}]8;;x\\u{7}\n\nc\\rd"
        );
        assert_eq!(escape_whole(&"x\n".repeat(300)), "x\\n".repeat(300));
        assert_eq!(escape(&"x".repeat(300)).chars().count(), 201);
    }

    #[test]
    fn a_name_does_not_end_its_own_quotation() {
        assert_eq!(escape_quoted("a` (python); `b\n"), "a\\u{60} (python); \\u{60}b\\n");
    }

    #[test]
    fn a_near_name_is_offered_and_a_far_one_is_not() {
        assert_eq!(nearest("usr", ["user", "path"]), Some("user"));
        assert_eq!(nearest("oprt", ["zzzz"]), None);
    }
}
