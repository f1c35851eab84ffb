//! What differs in two texts, in hunks: line by line for code, word by word for prose.

use std::time::{Duration, Instant};

use serde::Serialize;
use similar::{DiffTag, TextDiff};

/// Lines around a change that are told too.
const CONTEXT: usize = 3;
/// Most words on one side of a change that are compared one by one; more are told as lines.
const MOST_WORDS: usize = 20_000;
/// How long the shortest difference of two texts is looked for; after that, a longer one will do.
const PATIENCE: Duration = Duration::from_millis(500);

/// Until when the shortest differences are looked for, of all texts together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Until(Instant);

impl Until {
    /// So long from now.
    pub(super) fn after(patience: Duration) -> Self {
        Self(Instant::now() + patience)
    }

    /// Until when that of one text is looked for that begins now.
    fn of_one(self) -> Instant {
        self.0.min(Instant::now() + PATIENCE)
    }
}

/// In which of the two texts a piece stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// In both.
    Same,
    /// In the one before alone.
    Removed,
    /// In the one after alone.
    Added,
}

/// A piece of text, as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// In which of the texts.
    #[serde(rename = "is")]
    pub standing: Standing,
    /// A line with its end, or a run of words.
    pub text: String,
}

/// Changes that stand close together, with the lines around them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hunk {
    /// Its first line in the text before, from 1.
    pub before: usize,
    /// Its first line in the text after, from 1.
    pub after: usize,
    /// Its pieces: those that are not added are the text before, those that are not removed the
    /// text after.
    pub pieces: Vec<Piece>,
}

/// How finely texts are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grain {
    /// A piece is a line.
    Lines,
    /// Lines that differ are compared word by word.
    Words,
}

/// How `after` differs from `before`; empty where they are the same.
pub(super) fn hunks(before: &str, after: &str, grain: Grain, until: Until) -> Vec<Hunk> {
    hunks_within(before, after, grain, CONTEXT, until)
}

fn hunks_within(
    before: &str,
    after: &str,
    grain: Grain,
    context: usize,
    until: Until,
) -> Vec<Hunk> {
    let diff = TextDiff::configure().deadline(until.of_one()).diff_lines(before, after);
    let old = |at: usize| diff.old_slice(at).unwrap_or_default();
    let new = |at: usize| diff.new_slice(at).unwrap_or_default();
    let mut hunks = Vec::new();
    for group in diff.grouped_ops(context) {
        let Some(first) = group.first() else { continue };
        let mut hunk = Hunk {
            before: first.old_range().start + 1,
            after: first.new_range().start + 1,
            pieces: Vec::new(),
        };
        for op in &group {
            let (tag, olds, news) = op.as_tag_tuple();
            if tag == DiffTag::Replace && grain == Grain::Words {
                let (removed, added): (String, String) =
                    (olds.clone().map(old).collect(), news.clone().map(new).collect());
                if let Some(pieces) = words(&removed, &added, until) {
                    hunk.pieces.extend(pieces);
                    continue;
                }
            }
            if tag == DiffTag::Equal {
                hunk.pieces.extend(olds.map(|at| piece(Standing::Same, old(at))));
            } else {
                hunk.pieces.extend(olds.map(|at| piece(Standing::Removed, old(at))));
                hunk.pieces.extend(news.map(|at| piece(Standing::Added, new(at))));
            }
        }
        hunks.push(hunk);
    }
    hunks
}

fn piece(standing: Standing, text: &str) -> Piece {
    Piece { standing, text: text.to_owned() }
}

/// Two texts word by word; [`None`] where they are too long for that.
fn words(before: &str, after: &str, until: Until) -> Option<Vec<Piece>> {
    let (olds, news) = (split(before), split(after));
    if olds.len().max(news.len()) > MOST_WORDS {
        return None;
    }
    let diff = TextDiff::configure().deadline(until.of_one()).diff_slices(&olds, &news);
    let mut pieces: Vec<Piece> = Vec::new();
    for op in diff.ops() {
        let (tag, old, new) = op.as_tag_tuple();
        let text = |words: &[&str]| words.concat();
        let removed = olds.get(old).map(text).unwrap_or_default();
        let added = news.get(new).map(text).unwrap_or_default();
        if tag == DiffTag::Equal {
            pieces.push(piece(Standing::Same, &removed));
            continue;
        }
        pieces.push(piece(Standing::Removed, &removed));
        pieces.push(piece(Standing::Added, &added));
    }
    pieces.retain(|piece| !piece.text.is_empty());
    Some(pieces)
}

/// Words, runs of blanks, line ends and single signs, in order: together they are the text.
fn split(text: &str) -> Vec<&str> {
    #[derive(PartialEq, Clone, Copy)]
    enum Sort {
        Word,
        Blank,
        Alone,
    }
    let sort = |character: char| match character {
        '\n' => Sort::Alone,
        _ if character.is_whitespace() => Sort::Blank,
        _ if character.is_alphanumeric() || character == '_' => Sort::Word,
        _ => Sort::Alone,
    };
    let mut words = Vec::new();
    let (mut start, mut last) = (0, None);
    for (at, character) in text.char_indices() {
        let now = sort(character);
        if last.is_some_and(|last| last != now || now == Sort::Alone) {
            words.extend(text.get(start..at));
            start = at;
        }
        last = Some(now);
    }
    words.extend(text.get(start..).filter(|rest| !rest.is_empty()));
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn soon() -> Until {
        Until::after(Duration::from_secs(10))
    }

    #[test]
    fn texts_that_have_nothing_in_common_take_no_longer_than_they_may() {
        let text = |first: u32| -> String {
            let lines = (0..120_000).map(|line| format!("{}\n", line * 2 + first));
            lines.collect::<Vec<_>>().concat()
        };
        let started = Instant::now();
        let hunks = hunks(&text(0), &text(1), Grain::Words, Until::after(Duration::ZERO));
        assert!(!hunks.is_empty());
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }

    fn told(hunks: &[Hunk]) -> String {
        let marks = |piece: &Piece| match piece.standing {
            Standing::Same => piece.text.clone(),
            Standing::Removed => format!("[-{}-]", piece.text),
            Standing::Added => format!("{{+{}+}}", piece.text),
        };
        hunks.iter().flat_map(|hunk| &hunk.pieces).map(marks).collect()
    }

    #[test]
    fn prose_differs_by_words_and_code_by_lines() {
        let (before, after) = ("One.\nAsk the user twice.\n", "One.\nAsk the owner twice.\n");
        let words = hunks(before, after, Grain::Words, soon());
        assert_eq!(told(&words), "One.\nAsk the [-user-]{+owner+} twice.\n");
        assert_eq!((words[0].before, words[0].after), (1, 1));
        let lines = hunks(before, after, Grain::Lines, soon());
        assert_eq!(told(&lines), "One.\n[-Ask the user twice.\n-]{+Ask the owner twice.\n+}");
    }

    #[test]
    fn changes_that_are_far_apart_are_told_apart_with_their_lines() {
        let before = (1..=40).map(|line| format!("{line}\n")).collect::<Vec<_>>().concat();
        let after = before.replace("\n5\n", "\nfive\n").replace("\n30\n", "\n30\nmore\n");
        let hunks = hunks(&before, &after, Grain::Lines, soon());
        let starts: Vec<(usize, usize)> =
            hunks.iter().map(|hunk| (hunk.before, hunk.after)).collect();
        assert_eq!(starts, [(2, 2), (28, 28)]);
    }

    #[test]
    fn texts_that_are_the_same_do_not_differ() {
        for text in ["", "a", "a\nb\n"] {
            assert!(hunks(text, text, Grain::Words, soon()).is_empty());
        }
    }

    /// The text of one side, out of the pieces.
    fn side(hunks: &[Hunk], without: Standing) -> String {
        let pieces = hunks.iter().flat_map(|hunk| &hunk.pieces);
        pieces.filter(|piece| piece.standing != without).map(|piece| piece.text.as_str()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn both_texts_are_in_their_difference(
            before in "([a-c é_.\r\t]{0,6}\n?){0,8}", after in "([a-c é_.\r\t]{0,6}\n?){0,8}",
        ) {
            for grain in [Grain::Lines, Grain::Words] {
                let hunks = hunks_within(&before, &after, grain, 10_000, soon());
                if before == after {
                    prop_assert!(hunks.is_empty());
                } else {
                    prop_assert_eq!(side(&hunks, Standing::Added), before.as_str());
                    prop_assert_eq!(side(&hunks, Standing::Removed), after.as_str());
                }
            }
        }

        #[test]
        fn words_together_are_the_text(text in "\\PC{0,40}(\n|\t| )\\PC{0,40}") {
            prop_assert_eq!(split(&text).concat(), text);
        }
    }
}
