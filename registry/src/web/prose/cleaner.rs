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

/// What is left of HTML once all that the renderer does not write is gone.
pub(super) fn clean(html: &str) -> String {
    CLEANER.clean(html).to_string()
}
