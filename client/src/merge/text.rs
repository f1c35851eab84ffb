//! Three versions of one text made one, line by line.

use std::time::Duration;

use similar::{DiffTag, TextDiff};

/// How long the shortest difference of two texts is looked for; after that, a longer one will do.
const PATIENCE: Duration = Duration::from_millis(500);
/// What marks of a place that both changed are made of, in the order in which they stand.
const MARKS: [char; 4] = ['<', '|', '=', '>'];
/// The fewest signs of a mark, as other tools know it.
const NARROWEST: usize = 7;

/// What became of two changes of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The text. Where both changed the same lines otherwise, it holds all three versions of them
    /// between marks, which are longer than any line of theirs that looks like one.
    pub text: String,
    /// How many such places there are.
    pub conflicts: usize,
}

/// What the versions are called in marks.
#[derive(Debug, Clone, Copy)]
pub struct Names<'n> {
    /// The user's.
    pub mine: &'n str,
    /// The one that both come from.
    pub base: &'n str,
    /// The published one.
    pub theirs: &'n str,
}

/// Makes one text of `mine` and `theirs`, which both come from `base`.
///
/// Lines that one of them changed alone become as that one has them; lines that both changed in the
/// same way too. Everything that either added is in the text. Where all lines of a text end in one
/// way, that is taken for one change: other line ends make no conflict of every line.
pub fn merge(base: &str, mine: &str, theirs: &str, names: Names<'_>) -> Merged {
    let ends = (Ends::of(base), Ends::of(mine), Ends::of(theirs));
    let (Some(of_base), Some(of_mine), Some(of_theirs)) = ends else {
        return merge_plain(base, mine, theirs, names);
    };
    let wanted = if of_mine == of_base { of_theirs } else { of_mine };
    let plain = |text: &str| text.replace("\r\n", "\n");
    let merged = merge_plain(&plain(base), &plain(mine), &plain(theirs), names);
    match wanted {
        Ends::Plain => merged,
        Ends::Windows => Merged { text: merged.text.replace('\n', "\r\n"), ..merged },
    }
}

/// How all lines of a text end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Plain,
    Windows,
}

impl Ends {
    /// [`None`] where some lines of a text end so and some otherwise.
    fn of(text: &str) -> Option<Self> {
        let (all, windows) = (text.matches('\n').count(), text.matches("\r\n").count());
        match windows {
            0 => Some(Self::Plain),
            some if some == all => Some(Self::Windows),
            _ => None,
        }
    }
}

fn merge_plain(base: &str, mine: &str, theirs: &str, names: Names<'_>) -> Merged {
    if mine == theirs || base == theirs {
        return Merged { text: mine.to_owned(), conflicts: 0 };
    }
    if base == mine {
        return Merged { text: theirs.to_owned(), conflicts: 0 };
    }
    let (bases, mines, theirses) = (lines(base), lines(mine), lines(theirs));
    let in_mine = matches(&bases, &mines);
    let in_theirs = matches(&bases, &theirses);
    let width = [&bases, &mines, &theirses].into_iter().map(|lines| widest(lines)).max();
    let mut making = Making { text: String::new(), conflicts: 0, names, width: width.unwrap_or(0) };
    let (mut base_at, mut mine_at, mut theirs_at) = (0, 0, 0);
    for (line, (my, their)) in in_mine.iter().zip(&in_theirs).enumerate() {
        // A line that all three have ends whatever changed before it.
        let (Some(my), Some(their)) = (*my, *their) else { continue };
        making.settle(
            bases.get(base_at..line).unwrap_or_default(),
            mines.get(mine_at..my).unwrap_or_default(),
            theirses.get(theirs_at..their).unwrap_or_default(),
        );
        making.text.push_str(bases.get(line).copied().unwrap_or_default());
        (base_at, mine_at, theirs_at) = (line + 1, my + 1, their + 1);
    }
    making.settle(
        bases.get(base_at..).unwrap_or_default(),
        mines.get(mine_at..).unwrap_or_default(),
        theirses.get(theirs_at..).unwrap_or_default(),
    );
    Merged { text: making.text, conflicts: making.conflicts }
}

/// How long marks have to be to be longer than any line that looks like one.
fn widest(lines: &[&str]) -> usize {
    let run = |line: &&str| {
        let mark = line.chars().next().filter(|first| MARKS.contains(first))?;
        Some(line.chars().take_while(|one| *one == mark).count() + 1)
    };
    lines.iter().filter_map(run).max().unwrap_or(0).max(NARROWEST)
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Of each line of `base` where it stands in `other`; [`None`] for one that is not there.
fn matches(base: &[&str], other: &[&str]) -> Vec<Option<usize>> {
    let mut places = vec![None; base.len()];
    let diff = TextDiff::configure().timeout(PATIENCE).diff_slices(base, other);
    for op in diff.ops() {
        let (tag, old, new) = op.as_tag_tuple();
        if tag == DiffTag::Equal {
            for (line, place) in old.zip(new) {
                if let Some(entry) = places.get_mut(line) {
                    *entry = Some(place);
                }
            }
        }
    }
    places
}

/// A text that is being made of three.
struct Making<'n> {
    text: String,
    conflicts: usize,
    names: Names<'n>,
    /// How many signs a mark has.
    width: usize,
}

impl Making<'_> {
    /// Adds a stretch that is not the same in all three.
    fn settle(&mut self, base: &[&str], mine: &[&str], theirs: &[&str]) {
        if mine == theirs || base == theirs {
            return self.text.extend(mine.iter().copied());
        }
        if base == mine {
            return self.text.extend(theirs.iter().copied());
        }
        self.conflicts += 1;
        let Names { mine: mine_name, base: base_name, theirs: theirs_name } = self.names;
        let [before, between, middle, after] = MARKS;
        for (mark, name, lines) in
            [(before, mine_name, mine), (between, base_name, base), (middle, "", theirs)]
        {
            self.mark(mark, name);
            self.text.extend(lines.iter().copied());
        }
        self.mark(after, theirs_name);
    }

    fn mark(&mut self, mark: char, name: &str) {
        end_line(&mut self.text);
        self.text.extend(std::iter::repeat_n(mark, self.width));
        if !name.is_empty() {
            self.text.push(' ');
            self.text.push_str(name);
        }
        self.text.push('\n');
    }
}

/// A mark stands on a line of its own.
fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAMES: Names<'_> = Names { mine: "yours", base: "1.0.0", theirs: "1.1.0" };

    #[test]
    fn changes_of_different_lines_are_both_taken() {
        let base = "one\ntwo\nthree\nfour\nfive\n";
        let mine = base.replace("two", "my two");
        let theirs = base.replace("four", "their four").replace("five\n", "five\nsix\n");
        let merged = merge(base, &mine, &theirs, NAMES);
        assert_eq!(merged.text, "one\nmy two\nthree\ntheir four\nfive\nsix\n");
        assert_eq!(merged.conflicts, 0);
    }

    #[test]
    fn changes_of_the_same_lines_stand_beside_each_other_between_marks() {
        let merged = merge("one\ntwo\n", "one\nmine", "one\ntheirs\n", NAMES);
        assert_eq!(
            merged.text,
            "one\n<<<<<<< yours\nmine\n||||||| 1.0.0\ntwo\n=======\ntheirs\n>>>>>>> 1.1.0\n"
        );
        assert_eq!(merged.conflicts, 1);
    }

    #[test]
    fn other_line_ends_are_one_change() {
        let windows = |text: &str| text.replace('\n', "\r\n");
        let (base, mine, theirs) = ("one\ntwo\nthree\n", "my one\ntwo\nthree\n", "one\ntwo\n3\n");
        let both = "my one\ntwo\n3\n";
        for (mine, theirs, both) in [
            (windows(mine), theirs.to_owned(), windows(both)),
            (mine.to_owned(), windows(theirs), windows(both)),
            (windows(mine), windows(theirs), windows(both)),
        ] {
            let merged = merge(base, &mine, &theirs, NAMES);
            assert_eq!(merged, Merged { text: both, conflicts: 0 });
        }
        let mixed = merge(base, "one\r\ntwo\nthree\n", theirs, NAMES);
        assert_eq!(mixed, Merged { text: "one\r\ntwo\n3\n".to_owned(), conflicts: 0 });
    }

    #[test]
    fn marks_are_longer_than_what_looks_like_one() {
        let merged = merge("=\n", "========\n", "=======\n", NAMES);
        assert_eq!(
            merged.text,
            "<<<<<<<<< yours\n========\n||||||||| 1.0.0\n=\n=========\n=======\n>>>>>>>>> 1.1.0\n"
        );
    }

    /// The text with each conflict solved by one side, 0 for mine, 1 for the base, 2 for theirs; and
    /// how many there were. What is no conflict by its marks fails.
    fn solved(merged: &Merged, by: usize) -> (String, usize) {
        let mut width = 0;
        let Merged { text: merged, conflicts } = merged;
        if *conflicts == 0 {
            return (merged.clone(), 0);
        }
        for run in merged.lines().filter_map(|line| line.strip_suffix(" yours")) {
            if run.chars().all(|sign| sign == '<') {
                width = width.max(run.len());
            }
        }
        let mark = |sign: &str, name: &str| format!("{}{name}", sign.repeat(width));
        let marks = [mark("<", " yours"), mark("|", " 1.0.0"), mark("=", ""), mark(">", " 1.1.0")];
        let (mut text, mut conflicts, mut at) = (String::new(), 0, 0);
        for line in merged.split_inclusive('\n') {
            let found =
                marks.iter().position(|mark| width > 0 && line.trim_end_matches('\n') == mark);
            match found {
                Some(3) => {
                    assert_eq!(at, 3);
                    (at, conflicts) = (0, conflicts + 1);
                }
                Some(found) => {
                    assert_eq!(at, found);
                    at = found + 1;
                }
                None if at == 0 || at == by + 1 => text.push_str(line),
                None => {}
            }
        }
        assert_eq!(at, 0, "{merged}");
        (text, conflicts)
    }

    fn text() -> impl Strategy<Value = String> {
        proptest::collection::vec("[a-d]{1,2}", 0..8)
            .prop_map(|lines| lines.into_iter().flat_map(|line| [line, "\n".to_owned()]).collect())
    }

    /// Lines some of which look like marks.
    fn marked() -> impl Strategy<Value = String> {
        proptest::collection::vec("[ab]|[<=|>]{1,9}( yours)?", 0..6)
            .prop_map(|lines| lines.into_iter().flat_map(|line| [line, "\n".to_owned()]).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn where_one_changed_alone_its_text_is_taken(base in text(), other in text()) {
            for merged in [
                merge(&base, &base, &other, NAMES),
                merge(&base, &other, &base, NAMES),
                merge(&base, &other, &other, NAMES),
            ] {
                prop_assert_eq!(merged, Merged { text: other.clone(), conflicts: 0 });
            }
        }

        #[test]
        fn no_line_that_was_added_is_lost(base in text(), mine in text(), theirs in text()) {
            let merged = merge(&base, &mine, &theirs, NAMES);
            for line in mine.lines().chain(theirs.lines()) {
                let is_new = !base.lines().any(|one| one == line);
                prop_assert!(!is_new || merged.text.lines().any(|one| one == line), "{line}");
            }
        }

        #[test]
        fn each_conflict_can_be_solved_by_its_marks(
            base in marked(), mine in marked(), theirs in marked(),
        ) {
            let merged = merge(&base, &mine, &theirs, NAMES);
            for by in 0..3 {
                prop_assert_eq!(solved(&merged, by).1, merged.conflicts);
            }
            // Solved by one side, nothing of that side is lost.
            for (by, own) in [(0, &mine), (2, &theirs)] {
                let (text, _) = solved(&merged, by);
                for line in own.lines().filter(|line| !base.lines().any(|one| one == *line)) {
                    prop_assert!(text.lines().any(|one| one == line), "{}", line);
                }
            }
        }

        #[test]
        fn whatever_the_line_ends_no_line_is_lost(
            base in "([a-c]{0,2}\r?\n){0,6}[a-c]{0,2}", mine in "([a-c]{0,2}\r?\n){0,6}[a-c]{0,2}",
            theirs in "([a-c]{0,2}\r?\n){0,6}[a-c]{0,2}",
        ) {
            let merged = merge(&base, &mine, &theirs, NAMES);
            for line in mine.lines().chain(theirs.lines()) {
                let is_new = !base.lines().any(|one| one == line);
                prop_assert!(!is_new || merged.text.lines().any(|one| one == line), "{}", line);
            }
        }

        #[test]
        fn either_may_be_called_mine(base in text(), mine in text(), theirs in text()) {
            let one = merge(&base, &mine, &theirs, NAMES);
            let other = merge(&base, &theirs, &mine, NAMES);
            prop_assert_eq!(one.conflicts, other.conflicts);
            if one.conflicts == 0 {
                prop_assert_eq!(one.text, other.text);
            }
        }
    }
}
