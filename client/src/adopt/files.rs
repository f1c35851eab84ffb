//! The files in which other tools keep what they installed, looked for and read.

use std::io;
use std::path::{Path, PathBuf};

use skillpkg_schema::diagnostic::escape;

use super::apm_lock;
use super::entry::{Entry, Listing, MAX_FILE_BYTES, Refused, Tool, Unread};
use crate::agents::Reach;
use crate::regular_file;

/// A file of another tool, and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFile {
    /// The tool.
    pub tool: Tool,
    /// Where it lies.
    pub path: PathBuf,
    /// Its entries.
    pub entries: Vec<Entry>,
    /// What in it is not taken for an entry.
    pub refused: Vec<Refused>,
    /// Why it is not read, with its line and column where they are known; safe to print.
    pub fault: Option<String>,
}

/// Where the files lie that there may be: in a project, or of a user.
pub(super) fn places(reach: Reach, base: &Path, state_home: Option<&Path>) -> Vec<(Tool, PathBuf)> {
    match reach {
        Reach::Project => [Tool::Skills, Tool::Apm, Tool::ClawHub]
            .into_iter()
            .map(|tool| (tool, base.join(tool.file())))
            .chain([(Tool::ClawHub, base.join(".clawdhub/lock.json"))])
            .collect(),
        Reach::Global => {
            let path = match state_home.filter(|home| home.is_absolute()) {
                Some(home) => home.join("skills/.skill-lock.json"),
                None => base.join(Tool::GlobalSkills.file()),
            };
            vec![(Tool::GlobalSkills, path)]
        }
    }
}

/// Reads those that are there.
pub(super) fn read(places: Vec<(Tool, PathBuf)>) -> Vec<ToolFile> {
    let read = |(tool, path): (Tool, PathBuf)| {
        let (listing, fault) = match text_of(&path) {
            Ok(None) => return None,
            Ok(Some(text)) => match tool.parse(&text) {
                Ok(listing) => (listing, None),
                Err(unread) => (Listing::default(), Some(unread.to_string())),
            },
            Err(fault) => (Listing::default(), Some(fault)),
        };
        let Listing { mut entries, refused } = listing;
        if tool == Tool::Apm {
            add_ranges(&path, &mut entries);
        }
        Some(ToolFile { tool, path, entries, refused, fault })
    };
    places.into_iter().filter_map(read).collect()
}

/// The ranges that `apm.yml` asks for, which the lockfile does not repeat.
fn add_ranges(lockfile: &Path, entries: &mut [Entry]) {
    let Ok(Some(text)) = text_of(&lockfile.with_file_name("apm.yml")) else { return };
    let mut ranges = apm_lock::requirements(&text);
    for entry in entries {
        let range = ranges.remove(&entry.key.to_ascii_lowercase());
        // One that does not take what is here is not what it came by.
        entry.requirement = range.filter(|range| {
            entry.version.as_ref().is_some_and(|version| range.matches(version.semver()))
        });
    }
}

/// The text of a file; [`None`] where there is none.
fn text_of(path: &Path) -> Result<Option<String>, String> {
    let file = match regular_file::open(path) {
        Ok(file) => file,
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(escape(&error.to_string())),
    };
    let bytes = regular_file::read(file, MAX_FILE_BYTES as u64)
        .map_err(|error| escape(&error.to_string()))?
        .ok_or_else(|| Unread::TooLong.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    // Editors put a byte order mark there, and no tool means anything by it.
    Ok(Some(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned)))
}
