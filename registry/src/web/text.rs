//! Text from outside, in a page.
//!
//! Whatever place of a page it stands in, it is inert, and what no reader sees is shown.

use std::fmt::{self, Write as _};

use askama::filters::HtmlSafe;
use skillpkg_schema::diagnostic::{escape_whole, is_unprintable};

/// Text from outside.
///
/// In a template it is written with what is invisible spelled out as `\u{…}`, and is escaped there
/// like any other text: so it may stand in an attribute too. [`Text::marked`] is for the body of a
/// page, where what is invisible is set apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text(String);

impl Text {
    /// The text as it came, with what is invisible set apart.
    pub(super) fn marked(&self) -> Marked<'_> {
        Marked(&self.0)
    }

    /// Whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Into<String>> From<T> for Text {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape_whole(&self.0))
    }
}

/// Text in the body of a page: escaped, its lines as they are, and what is invisible set apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marked<'t>(pub(super) &'t str);

impl HtmlSafe for Marked<'_> {}

impl fmt::Display for Marked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = ' ';
        for character in self.0.chars() {
            write_marked(f, before, character)?;
            before = character;
        }
        Ok(())
    }
}

/// HTML that this program has written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Markup(pub(super) String);

impl HtmlSafe for Markup {}

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Appends text to HTML as [`Marked`] writes it.
pub(super) fn push(html: &mut String, text: &str) {
    let _ = write!(html, "{}", Marked(text));
}

/// Appends one character of a text, behind the one `before` it.
pub(super) fn write_marked(
    html: &mut impl fmt::Write,
    before: char,
    character: char,
) -> fmt::Result {
    match character {
        '<' => html.write_str("&lt;"),
        '>' => html.write_str("&gt;"),
        '&' => html.write_str("&amp;"),
        '"' => html.write_str("&quot;"),
        '\'' => html.write_str("&#39;"),
        '\n' | '\t' => html.write_char(character),
        // The form of a picture, and the glue between the parts of one.
        '\u{fe0f}' | '\u{200d}' if is_picture(before) => html.write_char(character),
        _ if is_unprintable(character) => {
            write!(html, "<span class=\"unseen\">U+{:04X}</span>", u32::from(character))
        }
        _ => html.write_char(character),
    }
}

fn is_picture(character: char) -> bool {
    matches!(character,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{20e3}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}' | '#' | '*' | '0'..='9')
}

/// A number with its thousands apart, such as `12 345`.
pub(super) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut told = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            told.push('\u{a0}');
        }
        told.push(digit);
    }
    told
}

/// A length in bytes, such as `12.3 kB`.
pub(super) fn size(bytes: u64) -> String {
    let tenths = |unit: u64| {
        let tenths = bytes.saturating_mul(10) / unit;
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    match bytes {
        0..1_000 => format!("{bytes}\u{a0}B"),
        1_000..1_000_000 => format!("{}\u{a0}kB", tenths(1_000)),
        _ => format!("{}\u{a0}MB", tenths(1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use askama::Template;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_invisible_is_set_apart_and_pictures_stay() {
        for (text, expected) in [
            ("a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"),
            ("a\u{202e}b", "a<span class=\"unseen\">U+202E</span>b"),
            ("a\u{1b}[31m", "a<span class=\"unseen\">U+001B</span>[31m"),
            ("\u{e0041}", "<span class=\"unseen\">U+E0041</span>"),
            ("a\u{fe0f}", "a<span class=\"unseen\">U+FE0F</span>"),
            ("\u{2705}\u{fe0f}", "\u{2705}\u{fe0f}"),
            ("a\n\tb", "a\n\tb"),
            ("a\r\n", "a<span class=\"unseen\">U+000D</span>\n"),
        ] {
            assert_eq!(Marked(text).to_string(), expected, "{text:?}");
        }
    }

    #[derive(Template)]
    #[template(source = "<a title=\"{{ text }}\">{{ text.marked() }}</a>", ext = "html")]
    struct Both {
        text: Text,
    }

    proptest! {
        #[test]
        fn no_text_is_more_than_text_in_an_attribute_or_in_a_body(text in any::<String>()) {
            let html = Both { text: text.into() }.render().unwrap();
            prop_assert_eq!(html.matches("<a ").count(), 1);
            prop_assert_eq!(html.matches("</a>").count(), 1);
            prop_assert_eq!(html.matches('<').count(), 2 + 2 * html.matches("<span class=\"unseen\">").count());
            let (attribute, _) = html[10..].split_once('"').unwrap();
            prop_assert!(!attribute.chars().any(is_unprintable));
        }
    }

    #[test]
    fn numbers_and_lengths_are_read_at_a_glance() {
        assert_eq!(number(0), "0");
        assert_eq!(number(1_234_567), "1\u{a0}234\u{a0}567");
        assert_eq!(size(999), "999\u{a0}B");
        assert_eq!(size(12_345), "12.3\u{a0}kB");
        assert_eq!(size(1_999_999), "1.9\u{a0}MB");
    }
}
