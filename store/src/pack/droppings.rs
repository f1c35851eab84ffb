//! What tools leave behind in a directory, and nobody means to publish.

/// How a dropping is told by the last part of its path, whatever the case of its letters.
#[derive(Debug, Clone, Copy)]
enum Pattern {
    /// The whole part.
    Name(&'static str),
    /// Its start.
    Prefix(&'static str),
    /// Its end.
    Suffix(&'static str),
}

/// Histories and states of tools: never packed, whatever `.skillignore` says.
const NEVER_PACKED: [Pattern; 6] = [
    Pattern::Name(".git"),
    Pattern::Name(".hg"),
    Pattern::Name(".jj"),
    Pattern::Name(".svn"),
    Pattern::Name("skillpkg.lock"),
    // An archive of an earlier run would make each run's differ.
    Pattern::Suffix(".skill.tar.zst"),
];

/// Caches and the like: not packed unless `.skillignore` takes them back with `!`.
const DROPPINGS: [Pattern; 23] = [
    Pattern::Name(".ds_store"),
    Pattern::Name(".idea"),
    Pattern::Name(".ipynb_checkpoints"),
    Pattern::Name(".mypy_cache"),
    Pattern::Name(".nox"),
    Pattern::Name(".pytest_cache"),
    Pattern::Name(".ruff_cache"),
    Pattern::Name(".tox"),
    Pattern::Name(".venv"),
    Pattern::Name(".vscode"),
    Pattern::Name("__macosx"),
    Pattern::Name("__pycache__"),
    Pattern::Name("desktop.ini"),
    Pattern::Name("node_modules"),
    Pattern::Name("thumbs.db"),
    // What macOS keeps of a file beside it, where a file system has no place for it.
    Pattern::Prefix("._"),
    Pattern::Suffix(".bak"),
    Pattern::Suffix(".orig"),
    Pattern::Suffix(".pyc"),
    Pattern::Suffix(".pyo"),
    Pattern::Suffix(".swo"),
    Pattern::Suffix(".swp"),
    Pattern::Suffix("~"),
];

fn matches(patterns: &[Pattern], name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    patterns.iter().any(|pattern| match pattern {
        Pattern::Name(wanted) => name == *wanted,
        Pattern::Prefix(start) => name.len() > start.len() && name.starts_with(start),
        Pattern::Suffix(end) => name.len() > end.len() && name.ends_with(end),
    })
}

/// Whether a file or directory of this name is never packed.
pub(super) fn is_never_packed(name: &str) -> bool {
    matches(&NEVER_PACKED, name)
}

/// Whether a file or directory of this name is left out unless it is asked for.
pub(super) fn is_dropping(name: &str) -> bool {
    matches(&DROPPINGS, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn droppings_are_told_by_name_and_by_end() {
        for name in [
            "__pycache__",
            ".DS_Store",
            "node_modules",
            "Node_Modules",
            "a.pyc",
            "a.md~",
            ".idea",
            ".vscode",
            "a.bak",
            "a.md.orig",
            "._SKILL.md",
        ] {
            assert!(is_dropping(name), "{name}");
        }
        for name in
            [".pyc", "._", "~", "pycache", "modules", ".github", ".env", "a.py", ".gitignore"]
        {
            assert!(!is_dropping(name) && !is_never_packed(name), "{name}");
        }
        for name in [".git", ".GIT", "skillpkg.lock", "waitlist-1.0.0.skill.tar.zst"] {
            assert!(is_never_packed(name), "{name}");
        }
    }
}
