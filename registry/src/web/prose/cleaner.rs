//! A sanitiser over what was rendered: it lets through what the renderer writes, and nothing else.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::Builder;

/// The elements that the renderer writes.
const TAGS: [&str; 23] = [
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "em",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "span",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
];

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut cleaner = Builder::empty();
    cleaner
        .tags(TAGS.into_iter().chain(["ul"]).collect())
        .tag_attributes(HashMap::from([
            ("a", HashSet::from(["href"])),
            ("ol", HashSet::from(["start"])),
        ]))
        .allowed_classes(HashMap::from([
            ("span", HashSet::from(["unseen", "markup", "leads", "picture", "note", "task"])),
            ("pre", HashSet::from(["markup"])),
        ]))
        .generic_attributes(HashSet::new())
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .link_rel(Some("nofollow noopener noreferrer ugc"));
    cleaner
});

/// What is left of HTML once all that the renderer does not write is gone. A quote stands as it is
/// around the value of an attribute, and nowhere else: whoever looks for attributes finds no text.
pub(super) fn clean(html: &str) -> String {
    with_quotes_named(&CLEANER.clean(html).to_string())
}

/// Writes the quotes of texts by their name, which the sanitiser reads and does not write.
fn with_quotes_named(html: &str) -> String {
    let mut named = String::with_capacity(html.len() + html.len() / 16);
    let (mut is_tag, mut is_value) = (false, false);
    for character in html.chars() {
        match character {
            '"' if is_tag => is_value = !is_value,
            '<' if !is_tag => is_tag = true,
            '>' if is_tag && !is_value => is_tag = false,
            '"' => {
                named.push_str("&quot;");
                continue;
            }
            _ => {}
        }
        named.push(character);
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_values_of_attributes_stand_in_quotes() {
        let html = "<p>a \"b\" <a href=\"https://a/?x&gt;\">\"c\"</a></p>";
        assert_eq!(
            clean(html),
            "<p>a &quot;b&quot; <a href=\"https://a/?x&gt;\" rel=\"nofollow noopener noreferrer ugc\">\
             &quot;c&quot;</a></p>"
        );
    }
}
