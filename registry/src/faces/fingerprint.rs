//! What the client of `ClawHub` knows a directory by, made from a manifest alone.
//!
//! Per file `path:SHA-256`, sorted as a person would, joined by line ends; the SHA-256 of that text.
//! Hidden files and `node_modules` do not count. The client sorts by the root collation of Unicode:
//! for paths in ASCII that is known here, for others no fingerprint is made, since a wrong one would
//! name another version.

use std::cmp::Ordering;

use skillpkg_schema::{Manifest, Sha256Digest};

/// Files at the root whose lines change what counts.
const IGNORES: [&str; 3] = [".gitignore", ".clawhubignore", ".clawdhubignore"];
/// Every printable character of ASCII but letters, in the order of the root collation.
const ORDER: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789";

/// The fingerprint of a snapshot; [`None`] where it cannot be known.
pub fn of(manifest: &Manifest) -> Option<Sha256Digest> {
    let counts =
        |path: &str| path.split('/').all(|part| !part.starts_with('.') && part != "node_modules");
    let paths = || manifest.files.iter().map(|file| file.path.as_str());
    if paths().any(|path| IGNORES.contains(&path) || !path.is_ascii()) {
        return None;
    }
    let mut files: Vec<_> =
        manifest.files.iter().filter(|file| counts(file.path.as_str())).collect();
    files.sort_by(|one, other| collate(one.path.as_str(), other.path.as_str()));
    let lines: Vec<String> =
        files.iter().map(|file| format!("{}:{}", file.path, file.sha256)).collect();
    Some(Sha256Digest::of(lines.join("\n").as_bytes()))
}

/// Compares two texts in ASCII by the root collation: letters without case, and only where all are
/// equal a small letter before its capital.
fn collate(one: &str, other: &str) -> Ordering {
    let weight = |character: char| {
        let lower = character.to_ascii_lowercase();
        ORDER.find(lower).unwrap_or_else(|| ORDER.len() + lower as usize)
    };
    let without_case = one.chars().map(weight).cmp(other.chars().map(weight));
    let case = |text: &str| -> Vec<bool> {
        text.chars().map(|character| character.is_ascii_uppercase()).collect()
    };
    without_case.then_with(|| case(one).cmp(&case(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_sorted_as_the_client_sorts_them() {
        // As `localeCompare` of Node 22 sorts them.
        let sorted = [
            "_a",
            "-a",
            "a",
            "A",
            "a b",
            "a_b",
            "a-b",
            "a.b",
            "a/b",
            "a1",
            "ab",
            "aB",
            "Ab",
            "AB",
            "b",
            "Big_File.txt",
            "references/api_a.md",
            "references/api-b.md",
            "references/Guide.md",
            "SKILL.md",
        ];
        let mut found = sorted;
        found.reverse();
        found.sort_by(|one, other| collate(one, other));
        assert_eq!(found, sorted);
    }
}
