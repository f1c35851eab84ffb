//! A file's text, and where in it things stand.

use crate::diagnostic::escape_whole;

/// Most characters of an excerpt, before they are escaped.
const MOST_EXCERPT: usize = 100;
/// Characters of the line before the place, where the line does not fit.
const BEFORE: usize = 20;

/// A file's text, and where its lines start.
pub(super) struct Text<'t> {
    whole: &'t str,
    starts: Vec<usize>,
}

impl<'t> Text<'t> {
    pub(super) fn new(whole: &'t str) -> Self {
        let ends = whole.match_indices('\n').map(|(end, _)| end + 1);
        Self { whole, starts: std::iter::once(0).chain(ends).collect() }
    }

    pub(super) fn whole(&self) -> &'t str {
        self.whole
    }

    /// Whether a comment of HTML starts at a byte.
    pub(super) fn is_comment_at(&self, offset: usize) -> bool {
        self.whole.get(offset..).is_some_and(|rest| rest.starts_with("<!--"))
    }

    /// Each line with the offset at which it starts, without its end.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &'t str)> + '_ {
        let ends = self.starts.iter().skip(1).copied().chain([self.whole.len() + 1]);
        self.starts.iter().copied().zip(ends).map(|(start, end)| {
            let line = self.whole.get(start..end.saturating_sub(1)).unwrap_or_default();
            (start, line.strip_suffix('\r').unwrap_or(line))
        })
    }

    /// The line and the column, in characters, of a byte; both from 1.
    pub(super) fn place(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let before = self.whole.get(start..offset).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    /// What stands at a byte, to the end of its line, safe to print and of bounded length.
    pub(super) fn excerpt(&self, offset: usize) -> String {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let rest = self.whole.get(start..).unwrap_or_default();
        let whole = rest.split('\n').next().unwrap_or_default().trim_end();
        let trimmed = whole.trim_start();
        let column = offset.saturating_sub(start + whole.len() - trimmed.len());
        let before = trimmed.get(..column).unwrap_or_default();
        // All of the line where it fits; else from a little before the place.
        let fits = trimmed.chars().nth(MOST_EXCERPT).is_none();
        let skipped = if fits { 0 } else { before.chars().count().saturating_sub(BEFORE) };
        let shown: String = trimmed.chars().skip(skipped).take(MOST_EXCERPT).collect();
        let is_cut = trimmed.chars().nth(skipped + MOST_EXCERPT).is_some();
        let (start, end) = (if skipped > 0 { "…" } else { "" }, if is_cut { "…" } else { "" });
        format!("{start}{}{end}", escape_whole(&shown))
    }

    /// What stands from a byte on, lines and spaces drawn together, to `end` where that comes soon;
    /// safe to print and of bounded length.
    pub(super) fn excerpt_until(&self, offset: usize, end: &str) -> String {
        let rest = self.whole.get(offset..).unwrap_or_default();
        let length = rest.find(end).map_or(rest.len(), |at| at + end.len());
        let mut shown = String::new();
        for word in rest.get(..length).unwrap_or_default().split_whitespace() {
            if shown.chars().nth(MOST_EXCERPT).is_some() {
                break;
            }
            if !shown.is_empty() {
                shown.push(' ');
            }
            shown.extend(word.chars().take(MOST_EXCERPT + 1));
        }
        let is_cut = shown.chars().nth(MOST_EXCERPT).is_some();
        let shown: String = shown.chars().take(MOST_EXCERPT).collect();
        format!("{}{}", escape_whole(&shown), if is_cut { "…" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::diagnostic::is_unprintable;

    proptest! {
        #[test]
        fn a_place_is_found_as_by_counting(text in "[a\u{e9}\n\r]{0,40}", at in any::<prop::sample::Index>()) {
            let offset = at.index(text.len() + 1);
            prop_assume!(text.is_char_boundary(offset));
            let before = &text[..offset];
            let expected = (
                before.matches('\n').count() + 1,
                before.rsplit('\n').next().unwrap().chars().count() + 1,
            );
            prop_assert_eq!(Text::new(&text).place(offset), expected);
        }

        #[test]
        fn lines_are_those_of_the_text(text in "[a\u{e9}\n]{0,40}") {
            let lines: Vec<&str> = Text::new(&text).lines().map(|(_, line)| line).collect();
            prop_assert_eq!(lines, text.split('\n').collect::<Vec<_>>());
        }

        #[test]
        fn an_excerpt_is_short_and_safe_to_print(text in "\\PC{0,300}", at in any::<prop::sample::Index>()) {
            let excerpt = Text::new(&text).excerpt(at.index(text.len() + 1));
            prop_assert!(!excerpt.chars().any(is_unprintable));
            let until = Text::new(&text).excerpt_until(at.index(text.len() + 1), "-->");
            prop_assert!(!until.chars().any(is_unprintable));
            let longest = MOST_EXCERPT * "\\u{10ffff}".len() + 2;
            prop_assert!(excerpt.chars().count() <= longest);
        }
    }

    #[test]
    fn an_excerpt_of_a_long_line_starts_a_little_before_its_place() {
        let line = format!("  {}curl x{}", "a".repeat(80), "b".repeat(80));
        let excerpt = Text::new(&line).excerpt(82);
        assert!(excerpt.starts_with(&format!("…{}curl xb", "a".repeat(20))), "{excerpt}");
        assert!(excerpt.ends_with('…'), "{excerpt}");
        assert_eq!(Text::new("x\n  a\tb \n").excerpt(4), "a\\tb");
    }

    #[test]
    fn an_excerpt_over_lines_is_one_line() {
        let text = "a <!--\n  send\n\tit\n--> b";
        assert_eq!(Text::new(text).excerpt_until(2, "-->"), "<!-- send it -->");
        let long = format!("<!-- {}", "word ".repeat(500));
        let excerpt = Text::new(&long).excerpt_until(0, "-->");
        assert_eq!(excerpt.chars().count(), MOST_EXCERPT + 1);
    }
}
