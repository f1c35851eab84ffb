//! Values that go on in lines no deeper than their key: `metadata: {` with its `}` at the margin.
//!
//! YAML 1.1 read them, and several programs still do; YAML 1.2 wants every line of a value deeper
//! than its key. What the lines say is plain either way, so they are read as if they were indented.

use super::repair::{indentation, is_block_header, key_and_value};

/// Most values that open and never close before the rest is left as it is.
const MAX_UNCLOSED: usize = 16;
/// Deepest nesting of brackets.
const MAX_BRACKETS: usize = 64;

/// A value that was read as if its lines were indented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Continued {
    /// The key, where it has one.
    pub(super) key: Option<String>,
    /// The lines that were moved, from 1, and by how many spaces.
    pub(super) moved: Vec<(usize, usize)>,
}

/// `text` with the lines of quoted values and of flow collections deeper than their keys, and which
/// were not.
///
/// Every line keeps its number.
pub(super) fn indent(text: &str) -> (String, Vec<Continued>) {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let mut continued = Vec::new();
    let mut unclosed = 0;
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let start = at;
        at += 1;
        let Start { key, margin, offset } = value_of(line);
        let value = line.get(offset..).unwrap_or_default();
        if is_block_header(value.trim_end()) {
            let is_inside = |line: &&String| line.trim().is_empty() || indentation(line) > margin;
            at += lines.iter().skip(at).take_while(is_inside).count();
            continue;
        }
        if !value.starts_with(['"', '\'', '[', '{']) {
            continue;
        }
        let Some(end) = closing_line(&lines, start, offset) else {
            unclosed += 1;
            if unclosed >= MAX_UNCLOSED {
                break;
            }
            continue;
        };
        let key = key.map(str::to_owned);
        let moved = move_lines(&mut lines, start + 1, end, margin + 1);
        if !moved.is_empty() {
            continued.push(Continued { key, moved });
        }
        at = end + 1;
    }
    (lines.join("\n"), continued)
}

/// Moves the lines after the first of a value to the right until they stand at `wanted`.
fn move_lines(lines: &mut [String], from: usize, to: usize, wanted: usize) -> Vec<(usize, usize)> {
    let mut moved = Vec::new();
    for (number, line) in lines.iter_mut().enumerate().take(to + 1).skip(from) {
        let depth = indentation(line);
        if depth < wanted && !line.trim().is_empty() {
            line.insert_str(0, &" ".repeat(wanted - depth));
            moved.push((number + 1, wanted - depth));
        }
    }
    moved
}

/// Where a line has its value.
struct Start<'a> {
    key: Option<&'a str>,
    /// How deep its key stands, or the dash of its item.
    margin: usize,
    offset: usize,
}

/// The value of a line, behind the dashes of items.
fn value_of(line: &str) -> Start<'_> {
    let mut margin = indentation(line);
    let mut start = margin;
    while let Some(rest) = line.get(start..).and_then(|rest| rest.strip_prefix("- ")) {
        margin = start;
        start += 2 + indentation(rest);
    }
    match line.get(start..).and_then(key_and_value) {
        Some((key, offset)) => Start { key: Some(key), margin: start, offset: start + offset },
        None => Start { key: None, margin, offset: start },
    }
}

/// The line on which the value closes that starts at `offset` of line `start`.
fn closing_line(lines: &[String], start: usize, offset: usize) -> Option<usize> {
    let mut reader = Reader::default();
    for (number, line) in lines.iter().enumerate().skip(start) {
        let from = if number == start { offset } else { 0 };
        match reader.line(line.get(from..)?) {
            Step::Open => {}
            Step::Closed(rest) => {
                let rest = rest.trim_start();
                return (rest.is_empty() || rest.starts_with('#')).then_some(number);
            }
            Step::Wrong => return None,
        }
    }
    None
}

enum Step<'a> {
    Open,
    /// With what stands behind it.
    Closed(&'a str),
    Wrong,
}

/// What is open in a value.
#[derive(Default)]
struct Reader {
    brackets: Vec<char>,
    quote: Option<char>,
}

impl Reader {
    fn line<'a>(&mut self, line: &'a str) -> Step<'a> {
        let mut before = ' ';
        let mut characters = line.char_indices();
        while let Some((at, character)) = characters.next() {
            let rest = &line[at + character.len_utf8()..];
            let mut closes = false;
            if let Some(quote) = self.quote {
                if (quote == '"' && character == '\\')
                    || (quote == '\'' && character == '\'' && rest.starts_with('\''))
                {
                    characters.next();
                } else if quote == character {
                    self.quote = None;
                    closes = true;
                }
            } else {
                match character {
                    '"' | '\'' if before.is_whitespace() || "[{,:".contains(before) => {
                        self.quote = Some(character);
                    }
                    '#' if before.is_whitespace() => break,
                    '[' | '{' if self.brackets.len() >= MAX_BRACKETS => return Step::Wrong,
                    '[' => self.brackets.push(']'),
                    '{' => self.brackets.push('}'),
                    ']' | '}' if self.brackets.pop() == Some(character) => closes = true,
                    ']' | '}' => return Step::Wrong,
                    _ => {}
                }
            }
            if closes && self.brackets.is_empty() {
                return Step::Closed(rest);
            }
            before = character;
        }
        Step::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lines_of_a_value_that_closes_are_moved() {
        for (text, expected) in [
            ("a: {\n  b: [c]\n}\nd: e", "a: {\n  b: [c]\n }\nd: e"),
            ("a: [\nb,\n  'c]',\n]", "a: [\n b,\n  'c]',\n ]"),
            ("a: \"b\nc\n\nd\"", "a: \"b\n c\n\n d\""),
            ("x:\n  a: {\n  }", "x:\n  a: {\n   }"),
            ("- a: {\n}", "- a: {\n   }"),
            ("- - [\n  b]", "- - [\n   b]"),
            ("x:\n  - a: \"b\n  c\"", "x:\n  - a: \"b\n     c\""),
            ("a: [b, # ]\nc]", "a: [b, # ]\n c]"),
            ("a: 'it''s\nb'", "a: 'it''s\n b'"),
            ("a: \"\\\"\nb\"", "a: \"\\\"\n b\""),
        ] {
            assert_eq!(indent(text).0, expected, "{text}");
        }
        for text in [
            "a: {b}\nc: d",
            "a: [b]\n]",
            "a: [b\nc: d",
            "a: \"b\" c\n\"",
            "a: [b\nc] d",
            "a: {\n]\n}",
            "a: |\n  b: {\n  }",
            "a: [don't,\n  b]",
            "",
        ] {
            assert_eq!(indent(text), (text.to_owned(), Vec::new()), "{text}");
        }
    }

    #[test]
    fn what_was_moved_is_told_with_its_key() {
        let (_, continued) = indent("x:\n  a: {\n    b: c\n}\n- [\n]");
        let of = |key: Option<&str>, moved: &[(usize, usize)]| Continued {
            key: key.map(str::to_owned),
            moved: moved.to_vec(),
        };
        assert_eq!(continued, [of(Some("a"), &[(4, 3)]), of(None, &[(6, 1)])]);
    }

    #[test]
    fn values_that_never_close_take_no_long_time() {
        let text = "a: [\n".repeat(25_000);
        assert_eq!(indent(&text).0, text);
    }
}
