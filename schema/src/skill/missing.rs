//! A directory without a `SKILL.md`, and where it may be instead.

use crate::diagnostic::{Diagnostic, escape};
use crate::tree::{Entry, Tree};

/// What the skill's own file is called.
const SKILL_FILE: &str = "SKILL.md";
/// Most directories that are looked into, and most that are named.
const MOST_LOOKED_INTO: usize = 200;
const MOST_NAMED: usize = 3;

/// What is told of a directory without a `SKILL.md`: what is near it, as a hint.
///
/// A file that is spelled otherwise is named, and so are directories beneath that are skills.
pub fn missing_skill_file(tree: &dyn Tree) -> Diagnostic {
    let message = format!("there is no `{SKILL_FILE}` in the directory");
    let hint = spelled_otherwise(tree)
        .or_else(|| skills_beneath(tree))
        .unwrap_or_else(|| "`skillpkg init` makes one".to_owned());
    Diagnostic::error("skill_file_missing", message).in_file(SKILL_FILE).with_hint(hint)
}

fn spelled_otherwise(tree: &dyn Tree) -> Option<String> {
    let entries = tree.list("").ok()?;
    let (name, _) = entries.iter().find(|(name, _)| name.eq_ignore_ascii_case(SKILL_FILE))?;
    Some(format!("rename `{}` to `{SKILL_FILE}`: agents look for that spelling", escape(name)))
}

fn skills_beneath(tree: &dyn Tree) -> Option<String> {
    let entries = tree.list("").ok()?;
    let directories = entries.iter().filter(|(_, entry)| *entry == Entry::Directory);
    let has_skill = |name: &str| {
        matches!(tree.entry(&format!("{name}/{SKILL_FILE}")), Ok(Some(Entry::File { .. })))
    };
    let named: Vec<String> = directories
        .take(MOST_LOOKED_INTO)
        .filter(|(name, _)| has_skill(name))
        .take(MOST_NAMED)
        .map(|(name, _)| format!("`{}`", escape(name)))
        .collect();
    let one_each = "a skill is a directory of its own";
    (!named.is_empty())
        .then(|| format!("{one_each}: name one beneath, such as {}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;

    #[test]
    fn the_hint_names_what_is_there_instead() {
        for (paths, hint) in [
            (&["a.md"][..], "`skillpkg init` makes one"),
            (&["skill.md", "a/SKILL.md"], "rename `skill.md` to `SKILL.md`"),
            (&["Skill.MD"], "rename `Skill.MD` to `SKILL.md`"),
            (&["a/SKILL.md", "b/x", "c/SKILL.md"], "name one beneath, such as `a`, `c`"),
            (&["a/b/SKILL.md"], "`skillpkg init` makes one"),
        ] {
            let mut tree = MemoryTree::default();
            for path in paths {
                tree.insert(*path, false, b"x");
            }
            let told = missing_skill_file(&tree);
            assert_eq!(told.file.as_deref(), Some("SKILL.md"));
            assert!(told.hint.unwrap().contains(hint), "{paths:?}");
        }
    }
}
