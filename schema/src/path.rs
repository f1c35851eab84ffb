//! Paths of a skill's files.

use std::fmt;
use std::str::FromStr;

use unicode_normalization::is_nfc;

use crate::address::text_serde;
use crate::diagnostic::{escape, is_unprintable};
use crate::limits::{MAX_PATH_BYTES, MAX_PATH_DEPTH, MAX_PATH_PART_BYTES};

/// Most bytes of a path before the `/` at which a ustar header divides it.
const MAX_PREFIX_BYTES: usize = 155;

/// The first part of every path of ours.
pub const OUR_DIRECTORY: &str = ".skillpkg";

/// The lockfile of a project: a snapshot that carried one could pass for a project.
pub const OUR_LOCKFILE: &str = "skillpkg.lock";

/// A text that is no path of a skill's file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` cannot be a file of a skill: {reason}", escape(.path))]
pub struct PathError {
    /// The text as given.
    pub path: String,
    /// Which rule it breaks.
    pub reason: &'static str,
}

/// A relative path that means one file on every operating system.
///
/// `/`-separated and in NFC; no empty, `.` or `..` part; no control or invisible character,
/// backslash or colon; no part that ends in a dot or a space, starts with a space, or is a Windows
/// device; parts of at most 100 bytes, 255 in all, 16 deep; not beneath `.skillpkg`, and not `skillpkg.lock`.
/// A ustar header holds it. Nothing is packed with a name that has one of `?*<>|"`, which Windows
/// cannot hold; what was packed so elsewhere is read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillPath(String);

impl SkillPath {
    /// The path of the skill's own file.
    pub fn skill_file() -> Self {
        Self("SKILL.md".to_owned())
    }

    /// The path of the file that declares resources and scripts.
    pub fn capability_file() -> Self {
        Self("skill.json".to_owned())
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last part.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Every directory above the file, outermost first.
    pub fn parents(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').map(|(end, _)| &self.0[..end])
    }

    /// The text under which two paths are one file on a file system that folds case.
    pub fn folded(&self) -> String {
        use unicode_normalization::UnicodeNormalization as _;
        if self.0.is_ascii() {
            return self.0.to_ascii_lowercase();
        }
        // Folding is of decomposed text (Unicode 3.13, canonical caseless matching): composed, an
        // iota subscript would hide from it.
        let decomposed: String = self.0.nfd().collect();
        caseless::default_case_fold_str(&decomposed).nfc().collect()
    }

    /// Where a ustar header divides the path into prefix and name: the first `/` that leaves a name
    /// of at most 100 bytes; 0 where the whole path is the name.
    pub fn ustar_split(&self) -> usize {
        ustar_split(&self.0).unwrap_or(0)
    }
}

fn ustar_split(path: &str) -> Option<usize> {
    if path.len() <= MAX_PATH_PART_BYTES {
        return Some(0);
    }
    let (end, _) =
        path.match_indices('/').find(|(end, _)| path.len() - end - 1 <= MAX_PATH_PART_BYTES)?;
    (end <= MAX_PREFIX_BYTES).then_some(end)
}

fn broken_rule(path: &str) -> Option<&'static str> {
    let parts = || path.split('/');
    if path.is_empty() {
        Some("it is empty")
    } else if path.len() > MAX_PATH_BYTES {
        Some("it is longer than 255 bytes")
    } else if path.starts_with('/') {
        Some("it is absolute")
    } else if path.contains('\\') {
        Some("it has a backslash")
    } else if path.contains(':') {
        Some("it has a colon")
    } else if path.chars().any(is_unprintable) {
        Some("it has a control or invisible character")
    } else if !is_nfc(path) {
        Some("it is not in Unicode normalization form NFC")
    } else if parts().any(|part| part == "..") {
        Some("it climbs out with `..`")
    } else if parts().any(|part| part.is_empty() || part == ".") {
        Some("it has an empty or `.` part")
    } else if parts().any(|part| part.ends_with(['.', ' ']) || part.starts_with(' ')) {
        Some("a part of it starts with a space or ends in a dot or a space")
    } else if parts().any(|part| part.len() > MAX_PATH_PART_BYTES) {
        Some("a part of it is longer than 100 bytes")
    } else if parts().count() > MAX_PATH_DEPTH {
        Some("it is more than 16 deep")
    } else if parts().any(is_windows_device) {
        Some("a part of it is a device on Windows")
    } else if parts().next().is_some_and(|part| part.eq_ignore_ascii_case(OUR_DIRECTORY)) {
        Some("`.skillpkg` is ours")
    } else if path.eq_ignore_ascii_case(OUR_LOCKFILE) {
        Some("`skillpkg.lock` is ours")
    } else if ustar_split(path).is_none() {
        Some("an archive's header cannot hold it")
    } else {
        None
    }
}

/// Whether Windows opens a device under this name, with or without an extension.
pub fn is_windows_device(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part).trim_end().to_ascii_uppercase();
    let numbered = |device: &str| {
        stem.strip_prefix(device).is_some_and(|number| {
            matches!(number, "¹" | "²" | "³")
                || (number.len() == 1 && number.bytes().all(|digit| digit.is_ascii_digit()))
        })
    };
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$" | "CLOCK$")
        || numbered("COM")
        || numbered("LPT")
}

/// The first character of a path that Windows takes in no name of a file.
///
/// What was published with one stays readable: no path is refused for it here, and nothing new is
/// packed with one.
pub fn windows_refuses(path: &SkillPath) -> Option<char> {
    path.as_str().chars().find(|character| matches!(character, '?' | '*' | '<' | '>' | '|' | '"'))
}

impl FromStr for SkillPath {
    type Err = PathError;

    fn from_str(path: &str) -> Result<Self, PathError> {
        match broken_rule(path) {
            Some(reason) => Err(PathError { path: path.to_owned(), reason }),
            None => Ok(Self(path.to_owned())),
        }
    }
}

impl fmt::Display for SkillPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

text_serde!(SkillPath);

/// Two paths of one snapshot that some file system cannot hold side by side.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathSetError {
    /// The same text twice, or one after folding case.
    #[error("`{0}` and `{1}` are one file where case does not count")]
    Collision(SkillPath, SkillPath),
    /// Two directories that differ in case alone, which would become one.
    #[error("the directories `{0}` and `{1}` are one where case does not count")]
    Directories(String, String),
    /// One is the other's directory.
    #[error("`{0}` is a file and the directory of `{1}`")]
    FileIsDirectory(SkillPath, SkillPath),
}

/// Checks that every file system can hold all of `paths` at once.
pub fn check_path_set<'a>(
    paths: impl IntoIterator<Item = &'a SkillPath>,
) -> Result<(), PathSetError> {
    use std::collections::HashMap;
    let mut files: HashMap<String, &SkillPath> = HashMap::new();
    for path in paths {
        if let Some(other) = files.insert(path.folded(), path) {
            return Err(PathSetError::Collision(other.clone(), path.clone()));
        }
    }
    for path in files.values() {
        let folded = path.folded();
        for (end, _) in folded.match_indices('/') {
            if let Some(file) = files.get(&folded[..end]) {
                return Err(PathSetError::FileIsDirectory((*file).clone(), (*path).clone()));
            }
        }
    }
    // Directories that differ in case alone would merge as well.
    let mut directories: HashMap<String, &str> = HashMap::new();
    for path in files.values() {
        for directory in path.parents() {
            let folded = SkillPath(directory.to_owned()).folded();
            let first = *directories.entry(folded).or_insert(directory);
            if first != directory {
                let (one, other) = (first.min(directory), first.max(directory));
                return Err(PathSetError::Directories(one.to_owned(), other.to_owned()));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(text: &str) -> SkillPath {
        text.parse().unwrap()
    }

    proptest! {
        #[test]
        fn a_path_is_read_as_it_is_written_and_nothing_panics(text in any::<String>()) {
            if let Ok(path) = text.parse::<SkillPath>() {
                prop_assert_eq!(path.to_string(), text);
            }
        }

        #[test]
        fn every_path_taken_is_relative_and_means_one_file(
            text in "([a-cA-C.é/\\\\: ~]|[.]{2}|CON|nul){1,12}",
        ) {
            let Ok(path) = text.parse::<SkillPath>() else { return Ok(()) };
            let parts: Vec<&str> = text.split('/').collect();
            prop_assert!(parts.iter().all(|part| !part.is_empty() && *part != "." && *part != ".."));
            prop_assert!(!text.contains(['\\', ':']));
            let folded: SkillPath = path.folded().parse().unwrap();
            prop_assert_eq!(folded.folded(), path.folded());
            let parents: Vec<&str> = path.parents().collect();
            prop_assert_eq!(parents.len() + 1, parts.len());
            let split = path.ustar_split();
            prop_assert!(split <= 155 && text.len() - split <= 101);
            let pair = [path.clone(), path];
            prop_assert!(check_path_set(&pair).is_err());
        }
    }

    #[test]
    fn ordinary_paths_parse() {
        for text in ["SKILL.md", "a/b.c", ".env", ".github/x", "été/ß", "a b", "com10", "console"]
        {
            assert_eq!(path(text).as_str(), text);
        }
    }

    #[test]
    fn what_windows_cannot_hold_is_read_and_is_known() {
        for character in ['?', '*', '<', '>', '|', '"'] {
            let path = path(&format!("sub/a{character}b.md"));
            assert_eq!(windows_refuses(&path), Some(character));
        }
        for text in ["SKILL.md", "a b", "a'b", "x#y%41z", "a+b,(c)[d]{e}=f!@&;~^$.md", "été"] {
            assert_eq!(windows_refuses(&path(text)), None, "{text}");
        }
    }

    #[test]
    fn what_means_something_else_somewhere_is_refused() {
        for text in [
            "",
            "/a",
            "../evil",
            "a/../../evil",
            "a/./b",
            "./a",
            "a//b",
            "a/",
            "a\\b",
            "a:b",
            "a\0b",
            "a\u{1b}b",
            "a\u{202e}b",
            "e\u{301}",
            "x.",
            "x ",
            " x",
            "CON",
            "nul.md",
            "aux/x",
            "COM1",
            "COM¹",
            "LPT9.txt",
            "CONIN$",
            ".skillpkg/manifest.json",
            ".SkillPkg",
            "Skillpkg.lock",
            "C:x",
            "NUL .txt",
        ] {
            assert!(text.parse::<SkillPath>().is_err(), "{text:?} was taken");
        }
        assert!("a/".repeat(16).trim_end_matches('/').parse::<SkillPath>().is_ok());
        assert!(("a/".repeat(16) + "b").parse::<SkillPath>().is_err());
        assert!("x".repeat(101).parse::<SkillPath>().is_err());
    }

    #[test]
    fn a_path_that_no_header_holds_is_refused() {
        let part = "x".repeat(60);
        assert!([&*part; 4].join("/").parse::<SkillPath>().is_err());
        let path = path(&[&*"y".repeat(90), &*"z".repeat(90)].join("/"));
        assert_eq!(path.ustar_split(), 90);
    }

    #[test]
    fn a_set_holds_one_file_a_folded_path() {
        for (left, right) in [
            ("README.md", "readme.MD"),
            ("ß", "ss"),
            ("a", "a/b"),
            ("A/x", "a/y"),
            ("x", "x"),
            ("\u{1fb4}", "\u{386}\u{345}"),
            ("\u{17f}", "S"),
        ] {
            let paths = [path(left), path(right)];
            assert!(check_path_set(&paths).is_err(), "{left} and {right} were taken");
        }
        assert!(check_path_set(&[path("a/b"), path("a/c"), path("b")]).is_ok());
    }
}
