//! How much one `SKILL.md` may hold, looked at before anything is built of it.
//!
//! A reader of a line of a million marks would need a hundred bytes and more for each.

use crate::diagnostic::Diagnostic;

/// Most tools of a skill.
pub(super) const MAX_TOOLS: usize = 1_024;
/// Most lines of a `tool` fence.
pub(super) const MAX_FENCE_LINES: usize = 4_096;
/// Most params of a tool.
pub(super) const MAX_PARAMS: usize = 256;
/// Most values of one `enum`.
pub(super) const MAX_CHOICES: usize = 1_024;
/// Most words of one `run`.
pub(super) const MAX_WORDS: usize = 1_024;
/// Most words, params and values of `enum` of all tools together.
pub(super) const MAX_PARTS: usize = 32_768;
/// Most quotes and lists that one line opens, one in the other.
const MAX_NESTING: usize = 64;
/// Most characters that Markdown reads as more than text, line ends and marks of lists among them.
const MAX_MARKS: usize = 131_072;
/// What a line end, a quote, emphasis, a link, code, HTML, an entity or an escape is written with.
const MARKS: &[u8] = b"\n>*_[]!`~<&\\|^";

/// Refuses a body that would cost far more to read than its length.
pub(super) fn check(body: &str, first_line: usize) -> Result<(), Diagnostic> {
    let mut marks = 0;
    for (at, line) in body.split_inclusive('\n').enumerate() {
        let nesting = nesting(line);
        if nesting > MAX_NESTING {
            let message = format!("the line opens more than {MAX_NESTING} quotes and lists");
            return Err(Diagnostic::error("nested_too_deep", message)
                .at_line(at + first_line)
                .with_hint("nest them less deep, or put the text into a file of its own"));
        }
        // A list and its item, where the mark itself is not among the marks.
        marks += 2 * nesting + line.bytes().filter(|byte| MARKS.contains(byte)).count();
        if marks > MAX_MARKS {
            let message = format!("up to here stand more than {MAX_MARKS} marks of Markdown");
            return Err(Diagnostic::error("markup_too_long", message)
                .at_line(at + first_line)
                .with_hint("move what is not needed at first into files that the text refers to"));
        }
    }
    Ok(())
}

/// Whether a text of Markdown is one that [`check`] refuses.
pub(crate) fn is_too_marked(text: &str) -> bool {
    check(text, 1).is_err()
}

/// How many quotes and items of lists the line starts with, one more than allowed at most.
fn nesting(line: &str) -> usize {
    let mut rest = line.trim_start_matches([' ', '\t']);
    let mut nesting = 0;
    while let Some(behind) = behind_mark(rest) {
        nesting += 1;
        if nesting > MAX_NESTING {
            break;
        }
        rest = behind.trim_start_matches([' ', '\t']);
    }
    nesting
}

/// What stands behind the mark of a quote or of an item.
fn behind_mark(text: &str) -> Option<&str> {
    if let Some(behind) = text.strip_prefix('>') {
        return Some(behind);
    }
    let behind = text.strip_prefix(['-', '*', '+']).or_else(|| {
        let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_numbered = behind.len() < text.len() && text.len() - behind.len() <= 9;
        behind.strip_prefix(['.', ')']).filter(|_| is_numbered)
    })?;
    behind.starts_with([' ', '\t']).then_some(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_items_at_the_start_of_a_line_are_counted() {
        for (line, count) in [
            ("text > - x", 0),
            ("> - 1. text", 3),
            (">>> text", 3),
            ("  * 12) + -\ttext", 4),
            ("-text", 0),
            ("1.5 text", 0),
            ("1234567890. text", 0),
            ("---", 0),
        ] {
            assert_eq!(nesting(line), count, "{line}");
        }
        assert_eq!(nesting(&">".repeat(1_000)), MAX_NESTING + 1);
    }
}
