//! The prose of a skill, as a page shows it.
//!
//! A model reads the source, so nothing in it is kept from a reader: HTML is shown as the text that it
//! is, comments too, and so are titles of links, where links lead, definitions that Markdown takes
//! out of sight, and every invisible character. Nothing is loaded: a picture is its words and its
//! address. What is written here is a closed set of elements; what came from outside is in it as
//! escaped text alone, and a sanitiser goes over the whole once more.

mod cleaner;
mod destination;
mod renderer;

use skillpkg_schema::Manifest;

use super::text::{Marked, Markup};

/// Most bytes of Markdown that are read for a page.
const MOST_SOURCE: usize = 96 * 1024;

/// The prose of a `SKILL.md`.
#[derive(Debug, Default)]
pub(super) struct Prose {
    /// The frontmatter, as it stands there.
    pub(super) frontmatter: String,
    /// The rest.
    pub(super) body: Markup,
    /// Whether there is more of it than is shown.
    pub(super) is_cut: bool,
    /// What stands in the source and in no reader's sight.
    pub(super) out_of_sight: Vec<String>,
}

impl Prose {
    /// Renders a `SKILL.md` of the snapshot that this manifest lists, in about `most` bytes of HTML.
    pub(super) fn of(source: &str, manifest: &Manifest, most: usize) -> Self {
        let source = source.strip_prefix('\u{feff}').unwrap_or(source);
        let (frontmatter, body) = parted(source);
        let (start, is_long) = bounded(body, MOST_SOURCE);
        let (front, is_front_long) = bounded(frontmatter, most / 8);
        let rendered = renderer::render(start, manifest, most - most / 4, most / 8);
        Self {
            frontmatter: front.to_owned(),
            body: Markup(cleaner::clean(&rendered.html)),
            is_cut: rendered.is_cut || is_long || is_front_long,
            out_of_sight: rendered.out_of_sight,
        }
    }

    /// The frontmatter, with what is invisible set apart.
    pub(super) fn frontmatter(&self) -> Marked<'_> {
        Marked(&self.frontmatter)
    }
}

/// The frontmatter without its fences, and the body.
fn parted(source: &str) -> (&str, &str) {
    let mut lines = source.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != "---" {
        return ("", source);
    }
    let mut at = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            let front = source.get(first.len()..at).unwrap_or_default();
            return (front, source.get(at + line.len()..).unwrap_or_default());
        }
        at += line.len();
    }
    ("", source)
}

/// At most so many bytes of a text, and whether there are more.
fn bounded(text: &str, most: usize) -> (&str, bool) {
    if text.len() <= most {
        return (text, false);
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    (text.get(..end).unwrap_or_default(), true)
}

#[cfg(test)]
mod tests;
