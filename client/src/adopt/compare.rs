//! A directory as it was found against a version that is published.

use serde::Serialize;
use skillpkg_schema::Manifest;
use skillpkg_schema::manifest::Mode;

use super::tree::{FoundTree, SourceText};

/// How a file is not as the version has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// It has other bytes.
    Modified,
    /// It is not there.
    Missing,
    /// The version has no such file.
    Extra,
}

/// A file that is not as the version has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Differing {
    /// Its path, as it is on the disk.
    pub path: String,
    /// How.
    pub kind: How,
}

/// What came of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    /// Files that differ; the directory is exactly the version where there are none.
    pub(super) differing: Vec<Differing>,
    /// Whether other files are executable than the version has it: `skills` and `clawhub` make none.
    pub(super) has_other_modes: bool,
    /// Whether its `SKILL.md` is as a registry serves it to readers of Agent Skills alone.
    pub(super) is_named: bool,
    /// Whether its `SKILL.md` lost the byte order mark that the version starts with.
    pub(super) is_unmarked: bool,
    /// Files that the tool or a program made for itself beside the skill's.
    pub(super) made: Vec<String>,
}

impl Comparison {
    /// Whether every file of the version is there, byte for byte, and no other.
    pub(super) fn is_exact(&self) -> bool {
        self.differing.is_empty()
    }
}

/// Whether a tool or a program made a file for itself: nobody loses anything with it.
fn is_made(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(path, ".clawhub/origin.json" | ".clawdhub/origin.json")
        || name == ".DS_Store"
        || (name.rsplit_once('.').is_some_and(|(_, ending)| ending == "pyc")
            && path.split('/').any(|part| part == "__pycache__"))
}

/// Holds a directory against a version.
pub(super) fn compare(found: &FoundTree, manifest: &Manifest) -> Comparison {
    let mut comparison = Comparison::default();
    let mut differ = |path: &str, kind| {
        comparison.differing.push(Differing { path: path.to_owned(), kind });
    };
    for file in &manifest.files {
        let path = file.path.as_str();
        match found.files.get(path) {
            None => differ(path, How::Missing),
            Some(there) => {
                if there.sha256 != file.sha256 {
                    let is_it = |one: &&SourceText| {
                        path == "SKILL.md" && (one.size, one.sha256) == (file.size, file.sha256)
                    };
                    match found.sources.iter().find(is_it) {
                        Some(source) => {
                            comparison.is_named = source.is_unnamed;
                            comparison.is_unmarked = source.is_marked;
                        }
                        None => differ(path, How::Modified),
                    }
                }
                comparison.has_other_modes |= there.executable != (file.mode == Mode::Executable);
            }
        }
    }
    let is_of_version =
        |path: &str| manifest.files.binary_search_by(|file| file.path.as_str().cmp(path)).is_ok();
    let others = found.files.keys().filter(|path| !is_of_version(path));
    for path in others.chain(&found.odd) {
        if is_made(path) && !found.odd.contains(path) {
            comparison.made.push(path.clone());
        } else if !found.odd.contains(path) || !is_of_version(path) {
            comparison.differing.push(Differing { path: path.clone(), kind: How::Extra });
        }
    }
    comparison
}
