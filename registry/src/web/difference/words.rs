//! How two texts differ: by lines, and in prose by words.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::Instant;

use similar::{Algorithm, DiffTag, capture_diff_slices_deadline, group_diff_ops};

use crate::web::text::write_marked;

/// Lines that are shown around what differs.
const AROUND: usize = 2;
/// Most words of a place that are compared one by one.
const MOST_WORDS: usize = 6_000;

/// How a text is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Line by line.
    Lines,
    /// Word by word within the lines that differ.
    Words,
}

/// The places at which two texts differ.
#[derive(Debug)]
pub(super) struct Hunks {
    pub(super) html: String,
    pub(super) is_cut: bool,
}

/// Writes within a bound.
struct Writer {
    html: String,
    most: usize,
    is_cut: bool,
}

/// The places at which two texts differ, in about `most` bytes of HTML.
pub(super) fn hunks(old: &str, new: &str, style: Style, most: usize, deadline: Instant) -> Hunks {
    let (was, is): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &was, &is, Some(deadline));
    let mut writer = Writer { html: String::new(), most, is_cut: false };
    for group in group_diff_ops(ops, AROUND) {
        if writer.html.len() >= most {
            writer.is_cut = true;
            break;
        }
        let at = group.first().map_or(0, |op| op.new_range().start) + 1;
        let _ = write!(writer.html, "<p class=\"at\">Line {at}</p><pre class=\"change\">");
        for op in &group {
            let (tag, old, new) = op.as_tag_tuple();
            let (old, new) = (lines(&was, old), lines(&is, new));
            match (tag, style) {
                (DiffTag::Equal, _) => writer.lines("", &new, ""),
                (DiffTag::Delete, _) => writer.lines("<del class=\"line\">", &old, "</del>"),
                (DiffTag::Insert, _) => writer.lines("<ins class=\"line\">", &new, "</ins>"),
                (DiffTag::Replace, Style::Lines) => {
                    writer.lines("<del class=\"line\">", &old, "</del>");
                    writer.lines("<ins class=\"line\">", &new, "</ins>");
                }
                (DiffTag::Replace, Style::Words) => {
                    writer.words(&old.concat(), &new.concat(), deadline);
                }
            }
        }
        writer.html.push_str("</pre>");
    }
    Hunks { html: writer.html, is_cut: writer.is_cut }
}

fn lines<'t>(all: &[&'t str], range: Range<usize>) -> Vec<&'t str> {
    all.get(range).unwrap_or_default().to_vec()
}

impl Writer {
    fn lines(&mut self, open: &str, lines: &[&str], close: &str) {
        for line in lines {
            if self.html.len() >= self.most {
                self.is_cut = true;
                return;
            }
            self.html.push_str(open);
            self.text(line);
            if !line.ends_with('\n') {
                self.html.push('\n');
            }
            self.html.push_str(close);
        }
    }

    fn words(&mut self, old: &str, new: &str, deadline: Instant) {
        let (was, is) = (words(old), words(new));
        if was.len() > MOST_WORDS || is.len() > MOST_WORDS {
            self.marked("del", &was);
            self.marked("ins", &is);
            return;
        }
        let ops = capture_diff_slices_deadline(Algorithm::Myers, &was, &is, Some(deadline));
        for op in ops {
            if self.html.len() >= self.most {
                self.is_cut = true;
                return;
            }
            let (tag, old, new) = op.as_tag_tuple();
            let (old, new) = (lines(&was, old), lines(&is, new));
            match tag {
                DiffTag::Equal => self.text(&new.concat()),
                DiffTag::Delete => self.marked("del", &old),
                DiffTag::Insert => self.marked("ins", &new),
                DiffTag::Replace => {
                    self.marked("del", &old);
                    self.marked("ins", &new);
                }
            }
        }
    }

    fn marked(&mut self, element: &str, words: &[&str]) {
        let _ = write!(self.html, "<{element}>");
        self.text(&words.concat());
        let _ = write!(self.html, "</{element}>");
    }

    fn text(&mut self, text: &str) {
        let mut before = ' ';
        for character in text.chars() {
            if self.html.len() >= self.most {
                self.is_cut = true;
                return;
            }
            let _ = write_marked(&mut self.html, before, character);
            before = character;
        }
    }
}

/// The words of a text, and what stands between them.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut kind) = (0, None);
    for (at, character) in text.char_indices() {
        let now = match character {
            _ if character.is_alphanumeric() || character == '_' => 0,
            _ if character.is_whitespace() => 1,
            _ => 2,
        };
        // A mark is a word of its own.
        if kind.is_some_and(|kind| kind != now || now == 2) {
            words.extend(text.get(start..at));
            start = at;
        }
        kind = Some(now);
    }
    words.extend(text.get(start..).filter(|rest| !rest.is_empty()));
    words
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn compare(old: &str, new: &str, style: Style) -> String {
        hunks(old, new, style, 48 * 1024, Instant::now() + Duration::from_secs(5)).html
    }

    #[test]
    fn prose_differs_by_words_and_all_else_by_lines() {
        let (old, new) = ("a\nRun the tool once.\nz\n", "a\nRun the <b> tool twice.\nz\n");
        assert_eq!(
            compare(old, new, Style::Words),
            "<p class=\"at\">Line 1</p><pre class=\"change\">a\nRun the <ins>&lt;b&gt; </ins>tool \
             <del>once</del><ins>twice</ins>.\nz\n</pre>"
        );
        assert_eq!(
            compare(old, new, Style::Lines),
            "<p class=\"at\">Line 1</p><pre class=\"change\">a\n<del class=\"line\">Run the tool once.\n</del>\
             <ins class=\"line\">Run the &lt;b&gt; tool twice.\n</ins>z\n</pre>"
        );
        assert_eq!(compare("a", "a", Style::Words), "");
    }

    #[test]
    fn no_two_texts_take_long_or_much() {
        let started = Instant::now();
        let noise = |seed: u64| -> String {
            let mut state = seed;
            (0..100_000)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    if (state >> 40).is_multiple_of(3) { "x\n" } else { "y " }
                })
                .collect()
        };
        for (old, new) in [
            (noise(1), noise(2)),
            ("a\n".repeat(100_000), "b\n".repeat(100_000)),
            ("\u{200b} ".repeat(60_000), "\u{200c} ".repeat(60_000)),
            ("a.b\n".repeat(2_500), "b.a\n".repeat(2_500)),
        ] {
            for style in [Style::Words, Style::Lines] {
                let deadline = Instant::now() + Duration::from_millis(200);
                let hunks = hunks(&old, &new, style, 48 * 1024, deadline);
                assert!(hunks.html.len() < 60 * 1024, "{}", hunks.html.len());
            }
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }

    proptest! {
        #[test]
        fn what_stays_and_what_was_added_is_the_new_text(
            old in "[ab .\n]{0,60}",
            new in "[ab .\n]{0,60}",
        ) {
            // Everything is around something that differs.
            let html = compare(&format!("{old}\n"), &format!("{new}\n"), Style::Words);
            let mut rest = html.as_str();
            let mut text = String::new();
            while let Some((before, after)) = rest.split_once("<del") {
                text.push_str(before);
                rest = after.split_once("</del>").unwrap().1;
            }
            text.push_str(rest);
            for tag in ["<ins>", "<ins class=\"line\">", "</ins>", "</pre>", "<pre class=\"change\">"] {
                text = text.replace(tag, "");
            }
            let parts: Vec<&str> = text.split("<p class=\"at\">Line ").skip(1).collect();
            let mut at = 0;
            let whole = format!("{new}\n");
            for part in parts {
                let (_, part) = part.split_once("</p>").unwrap();
                let found = whole[at..].find(part);
                prop_assert!(found.is_some(), "{:?} in {:?}", part, whole);
                at += found.unwrap() + part.len();
            }
        }
    }
}
