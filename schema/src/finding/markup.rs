//! What Markdown keeps from whoever sees the page: comments, and elements that are not shown.

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::comment::is_ordinary;
use super::kind::FindingKind;
use super::style;
use crate::skill;

/// Most bytes between the brackets of one tag.
const MAX_TAG_BYTES: usize = 4 * 1024;
/// Most pieces that are told of: whoever hides more hides nothing.
const MAX_HIDDEN: usize = 1_000;
/// Elements that hold nothing.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
/// Elements whose text no page shows.
const UNSHOWN: [&str; 5] = ["template", "script", "noembed", "noframes", "noscript"];

/// One piece of text that is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hidden {
    /// Where it starts, in bytes.
    pub(crate) offset: usize,
    /// As a comment or by an element.
    pub(crate) kind: FindingKind,
    /// What is said of it.
    pub(crate) message: &'static str,
}

const COMMENT: &str = "a comment, which a model reads and whoever sees the page does not";
const UNCLOSED: &str = "a comment that never ends, which hides all that follows";
const DEFINITION: &str = "the definition of a link that serves as a comment";

/// Where Markdown hides text, in order.
///
/// Code that shows HTML hides nothing, and neither does a comment of an ordinary form: a licence, or
/// an instruction for a formatter. Markdown that would cost far more to read than its length is
/// looked through for comments alone.
pub(crate) fn hidden_in_markdown(text: &str) -> Vec<Hidden> {
    let mut hidden = Vec::new();
    if !text.contains('<') && !text.contains("]:") {
        return hidden;
    }
    if skill::is_too_marked(text) {
        in_html(text, 0, &mut hidden);
        return hidden;
    }
    let parser = Parser::new_ext(text, Options::empty());
    for (label, definition) in parser.reference_definitions().iter() {
        let title = definition.title.as_deref().unwrap_or_default();
        let leads_nowhere = matches!(definition.dest.as_ref(), "" | "#" | "/" | "<>");
        // A title is shown where the link is used; one that leads nowhere is for its text alone.
        let said = if title.is_empty() { label } else { title };
        if leads_nowhere && !is_ordinary(said) {
            let (offset, kind) = (definition.span.start, FindingKind::HtmlComment);
            hidden.push(Hidden { offset, kind, message: DEFINITION });
        }
    }
    for (event, range) in parser.into_offset_iter() {
        if hidden.len() >= MAX_HIDDEN {
            break;
        }
        // A block is one piece, though it is told line by line.
        if let Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_) = event {
            let html = text.get(range.clone()).unwrap_or_default();
            let behind = text.get(range.end..).unwrap_or_default();
            in_piece(html, behind, range.start, &mut hidden);
        }
    }
    hidden.sort_by_key(|one| one.offset);
    hidden
}

fn in_html(html: &str, start: usize, hidden: &mut Vec<Hidden>) {
    in_piece(html, "", start, hidden);
}

/// Adds what a piece of HTML hides; `behind` is what follows it.
fn in_piece(html: &str, behind: &str, start: usize, hidden: &mut Vec<Hidden>) {
    let mut at = 0;
    while let Some(opening) = html.get(at..).and_then(|rest| rest.find('<')) {
        if hidden.len() >= MAX_HIDDEN {
            return;
        }
        let position = at + opening;
        let rest = html.get(position..).unwrap_or_default();
        if let Some(comment) = rest.strip_prefix("<!--") {
            let mut add = |message| {
                let (offset, kind) = (start + position, FindingKind::HtmlComment);
                hidden.push(Hidden { offset, kind, message });
            };
            let Some((inside, _)) = comment.split_once("-->") else {
                add(UNCLOSED);
                return;
            };
            if !is_ordinary(inside) {
                add(COMMENT);
            }
            at = position + "<!--".len() + inside.len() + "-->".len();
            continue;
        }
        let Some(tag) = tag(rest) else {
            at = position + 1;
            continue;
        };
        at = position + tag.len();
        let follows = html.get(at..).filter(|rest| !rest.trim().is_empty()).unwrap_or(behind);
        let is_empty = follows.trim_start().is_empty() || follows.trim_start().starts_with("</");
        if let Some(message) = hides(tag).filter(|_| !is_empty) {
            let (offset, kind) = (start + position, FindingKind::HiddenMarkup);
            hidden.push(Hidden { offset, kind, message });
        }
    }
}

/// The tag that a text starts with, brackets included; [`None`] where it starts with none.
fn tag(text: &str) -> Option<&str> {
    let mut quote = None;
    let is_start = |byte: &u8| byte.is_ascii_alphabetic();
    text.as_bytes().get(1).filter(|byte| is_start(byte))?;
    for (at, byte) in text.bytes().enumerate().take(MAX_TAG_BYTES) {
        match (quote, byte) {
            (None, b'>') => return text.get(..=at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// What an opening tag hides its content with.
fn hides(tag: &str) -> Option<&'static str> {
    let inside = tag.trim_start_matches('<').trim_end_matches('>').trim_end_matches('/');
    let end = inside.find(|one: char| one.is_whitespace() || one == '/').unwrap_or(inside.len());
    let name = inside.get(..end).unwrap_or_default().to_ascii_lowercase();
    if VOID.contains(&name.as_str()) {
        return None;
    }
    if UNSHOWN.contains(&name.as_str()) {
        return Some("an element whose text no page shows");
    }
    let attributes = attributes(inside.get(end..).unwrap_or_default());
    let value = |wanted: &str| {
        attributes
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| *value)
    };
    if value("hidden").is_some_and(|value| !value.eq_ignore_ascii_case("false")) {
        return Some("an element that is hidden from whoever sees the page");
    }
    if value("style").is_some_and(style::hides) {
        return Some("an element with a style that shows nothing of it");
    }
    let has_background = value("bgcolor").is_some();
    let is_unseen = value("color").is_some_and(style::is_unseen_colour) && !has_background;
    is_unseen.then_some("text in the colour of the page")
}

/// The attributes of a tag, each with its value; empty where it has none.
fn attributes(mut text: &str) -> Vec<(&str, &str)> {
    let mut attributes = Vec::new();
    loop {
        text = text.trim_start_matches(|one: char| one.is_whitespace() || one == '/');
        if text.is_empty() {
            return attributes;
        }
        let end = text
            .char_indices()
            .find(|(at, one)| *at > 0 && (one.is_whitespace() || matches!(one, '=' | '/')))
            .map_or(text.len(), |(at, _)| at);
        let (name, rest) = text.split_at(end);
        let Some(value) = rest.trim_start().strip_prefix('=') else {
            attributes.push((name, ""));
            text = rest;
            continue;
        };
        let value = value.trim_start();
        let quote = value.chars().next().filter(|one| matches!(one, '"' | '\''));
        let (value, rest) = match quote {
            Some(quote) => {
                let value = value.get(1..).unwrap_or_default();
                value.split_once(quote).unwrap_or((value, ""))
            }
            None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
        };
        attributes.push((name, value));
        text = rest;
    }
}
