//! Three versions of one text made one, line by line.

use std::time::Duration;

use similar::{DiffTag, TextDiff};

/// How long the shortest difference of two texts is looked for; after that, a longer one will do.
const PATIENCE: Duration = Duration::from_millis(500);

/// What became of two changes of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The text. Where both changed the same lines otherwise, it holds all three versions of them
    /// between marks.
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
/// same way too. Everything that either added is in the text.
pub fn merge(base: &str, mine: &str, theirs: &str, names: Names<'_>) -> Merged {
    if mine == theirs || base == theirs {
        return Merged { text: mine.to_owned(), conflicts: 0 };
    }
    if base == mine {
        return Merged { text: theirs.to_owned(), conflicts: 0 };
    }
    let (bases, mines, theirses) = (lines(base), lines(mine), lines(theirs));
    let in_mine = matches(&bases, &mines);
    let in_theirs = matches(&bases, &theirses);
    let mut merged = Merged { text: String::new(), conflicts: 0 };
    let (mut base_at, mut mine_at, mut theirs_at) = (0, 0, 0);
    for (line, (my, their)) in in_mine.iter().zip(&in_theirs).enumerate() {
        // A line that all three have ends whatever changed before it.
        let (Some(my), Some(their)) = (*my, *their) else { continue };
        settle(
            &mut merged,
            bases.get(base_at..line).unwrap_or_default(),
            mines.get(mine_at..my).unwrap_or_default(),
            theirses.get(theirs_at..their).unwrap_or_default(),
            names,
        );
        merged.text.push_str(bases.get(line).copied().unwrap_or_default());
        (base_at, mine_at, theirs_at) = (line + 1, my + 1, their + 1);
    }
    settle(
        &mut merged,
        bases.get(base_at..).unwrap_or_default(),
        mines.get(mine_at..).unwrap_or_default(),
        theirses.get(theirs_at..).unwrap_or_default(),
        names,
    );
    merged
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

/// Adds a stretch that is not the same in all three.
fn settle(merged: &mut Merged, base: &[&str], mine: &[&str], theirs: &[&str], names: Names<'_>) {
    let text = &mut merged.text;
    if mine == theirs || base == theirs {
        return text.extend(mine.iter().copied());
    }
    if base == mine {
        return text.extend(theirs.iter().copied());
    }
    merged.conflicts += 1;
    end_line(text);
    for (mark, name, lines) in
        [("<<<<<<<", names.mine, mine), ("|||||||", names.base, base), ("=======", "", theirs)]
    {
        text.push_str(mark);
        if !name.is_empty() {
            text.push(' ');
            text.push_str(name);
        }
        text.push('\n');
        text.extend(lines.iter().copied());
        end_line(text);
    }
    text.push_str(">>>>>>> ");
    text.push_str(names.theirs);
    text.push('\n');
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

    fn text() -> impl Strategy<Value = String> {
        proptest::collection::vec("[a-d]{1,2}", 0..8)
            .prop_map(|lines| lines.into_iter().map(|line| format!("{line}\n")).collect())
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
