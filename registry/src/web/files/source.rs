//! A window on the lines of a file.

use std::fmt::Write as _;

use crate::web::text::{Markup, write_marked};

/// About how many bytes of HTML a window takes.
const MOST_HTML: usize = 36 * 1024;
/// Most lines of a window.
const MOST_LINES: usize = 600;
/// Most characters of a line.
const MOST_OF_LINE: usize = 4_000;
/// About how many bytes of HTML a line takes.
const MOST_OF_LINE_HTML: usize = 8 * 1024;
/// Bytes of a file without text that are shown.
const MOST_BYTES: usize = 256;

/// What is shown of a file.
#[derive(Debug)]
pub(super) struct Shown {
    /// The lines, or the first bytes.
    pub(super) lines: Markup,
    /// Whether the file is text.
    pub(super) is_text: bool,
    /// The number of the first line.
    pub(super) first: usize,
    /// Lines in all that was read.
    pub(super) in_all: usize,
    /// Where the window before this one begins.
    pub(super) before: usize,
    /// Where the next one begins.
    pub(super) after: Option<usize>,
}

/// The lines of a file from the line `from` on; `found` are lines that something is found in.
pub(super) fn window(bytes: &[u8], from: usize, found: &[u32]) -> Shown {
    let Some(text) = text_of(bytes) else {
        let (lines, first, before) = (Markup(dump(bytes)), 1, 1);
        return Shown { lines, is_text: false, first, in_all: 0, before, after: None };
    };
    let lines: Vec<&str> = text.split('\n').collect();
    // What ends with a line end has no line behind it.
    let in_all = lines.len() - usize::from(lines.last() == Some(&"") && lines.len() > 1);
    let first = from.min(in_all).max(1);
    let mut html = String::new();
    let mut next = first;
    for (line, number) in lines.iter().take(in_all).zip(1..).skip(first - 1) {
        if html.len() >= MOST_HTML || number >= first + MOST_LINES {
            break;
        }
        let is_found = u32::try_from(number).is_ok_and(|number| found.contains(&number));
        let class = if is_found { " class=\"found\"" } else { "" };
        let _ = write!(html, "<li id=\"L{number}\"{class}><code>");
        push_line(&mut html, line);
        html.push_str("\n</code></li>");
        next = number + 1;
    }
    let after = (next <= in_all).then_some(next);
    let before = first.saturating_sub(MOST_LINES).max(1);
    Shown { lines: Markup(html), is_text: true, first, in_all, before, after }
}

/// The text of a file: of one that was cut in the middle of a character what is before it.
fn text_of(bytes: &[u8]) -> Option<&str> {
    if bytes.contains(&0) {
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()
        }
        Err(_) => None,
    }
}

fn push_line(html: &mut String, line: &str) {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let room = html.len() + MOST_OF_LINE_HTML;
    let mut before = ' ';
    for (at, character) in line.chars().enumerate() {
        if at >= MOST_OF_LINE || html.len() >= room {
            let more = line.chars().count() - at;
            let _ = write!(html, "<span class=\"note\">{more} more characters</span>");
            return;
        }
        let _ = write_marked(html, before, character);
        before = character;
    }
}

/// The first bytes in hexadecimal digits and as characters.
fn dump(bytes: &[u8]) -> String {
    let mut html = String::new();
    for (row, chunk) in bytes.chunks(16).take(MOST_BYTES / 16).enumerate() {
        let _ = write!(html, "<li><code>{:04x}  ", row * 16);
        for byte in chunk {
            let _ = write!(html, "{byte:02x} ");
        }
        html.push_str(&"   ".repeat(16 - chunk.len()));
        html.push(' ');
        for byte in chunk {
            let character = if byte.is_ascii_graphic() { char::from(*byte) } else { '.' };
            let _ = write_marked(&mut html, ' ', character);
        }
        html.push_str("\n</code></li>");
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_go_on_where_they_were_cut() {
        let text = "one\r\n<two>\n\nfour\u{202e}\n";
        let shown = window(text.as_bytes(), 2, &[2]);
        assert_eq!(
            shown.lines.0,
            "<li id=\"L2\" class=\"found\"><code>&lt;two&gt;\n</code></li><li id=\"L3\"><code>\n</code></li>\
             <li id=\"L4\"><code>four<span class=\"unseen\">U+202E</span>\n</code></li>"
        );
        assert_eq!((shown.first, shown.in_all, shown.after), (2, 4, None));
        assert_eq!(window(b"", 1, &[]).in_all, 1);
        assert_eq!(window(b"a", usize::MAX, &[]).first, 1);
    }

    #[test]
    fn no_file_makes_a_long_page_and_every_line_is_reached() {
        for text in [
            "x\n".repeat(100_000),
            "x".repeat(1_000_000),
            "\u{200b}".repeat(300_000),
            format!("{}\n", "<".repeat(9_000)).repeat(50),
        ] {
            let (mut from, mut lines) = (1, 0);
            for _ in 0..2_000 {
                let shown = window(text.as_bytes(), from, &[]);
                assert!(shown.lines.0.len() < 45 * 1024, "{}", shown.lines.0.len());
                lines += shown.lines.0.matches("<li ").count();
                match shown.after {
                    Some(after) => from = after,
                    None => break,
                }
            }
            assert_eq!(lines, text.lines().count());
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_bytes() {
        let shown = window(b"\x7fELF\0<b>", 1, &[]);
        assert!(!shown.is_text);
        assert!(shown.lines.0.contains("7f 45 4c 46 00 3c 62 3e"), "{}", shown.lines.0);
        assert!(shown.lines.0.contains(".ELF.&lt;b&gt;"), "{}", shown.lines.0);
        assert!(window(&vec![0xff; 100_000], 1, &[]).lines.0.len() < 4_096);
        // Cut in the middle of a character.
        assert!(window("a\u{e9}".as_bytes().get(..2).unwrap(), 1, &[]).is_text);
    }
}
