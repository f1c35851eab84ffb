//! The run template of a tool.

use super::Run;

/// A part of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// Itself.
    Literal(&'a str),
    /// The value of a param.
    Param(&'a str),
}

/// The parts of a word.
///
/// `$` and the longest run of `A-Z a-z 0-9 _` behind it are a param, `$$` is a dollar, any other
/// `$` is itself.
pub(super) fn parts(word: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = word;
    while let Some(dollar) = rest.find('$') {
        let (before, from) = rest.split_at(dollar);
        if !before.is_empty() {
            parts.push(Part::Literal(before));
        }
        let behind = &from[1..];
        let name = behind.len() - behind.trim_start_matches(is_name_character).len();
        rest = if let Some(behind) = behind.strip_prefix('$') {
            parts.push(Part::Literal("$"));
            behind
        } else if name > 0 {
            parts.push(Part::Param(&behind[..name]));
            &behind[name..]
        } else {
            parts.push(Part::Literal("$"));
            behind
        };
    }
    if !rest.is_empty() {
        parts.push(Part::Literal(rest));
    }
    parts
}

/// The params that a word names, in order.
pub(crate) fn names(word: &str) -> impl Iterator<Item = &str> {
    parts(word).into_iter().filter_map(|part| match part {
        Part::Param(name) => Some(name),
        Part::Literal(_) => None,
    })
}

/// Whether `character` may stand in the name of a param.
pub(super) fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

impl Run {
    /// A template of these words.
    pub(super) fn new(words: Vec<String>) -> Self {
        Self { words }
    }

    /// Each word's parts.
    pub(super) fn parts(&self) -> impl Iterator<Item = Vec<Part<'_>>> {
        self.words.iter().map(|word| parts(word))
    }
}
