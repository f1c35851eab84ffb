//! How what is worth an eye in a skill's files is told.

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::finding::FindingCount;

/// `2 fetch-and-run, 1 secret`: how many of each kind, as a document may say it.
pub(crate) fn counted(counts: &[FindingCount]) -> String {
    /// Far more kinds than there are.
    const MOST: usize = 50;
    let counts = counts.iter().take(MOST);
    let shown: Vec<String> =
        counts.map(|one| format!("{} {}", one.count, escape(&one.kind))).collect();
    shown.join(", ")
}
