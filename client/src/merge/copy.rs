//! The edits of one copy in an agent's directory, and what is made of them and of another snapshot.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, OpenOptions};
use serde::Serialize;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::limits::MAX_SKILL_FILE_BYTES;
use skillpkg_schema::manifest::{FileEntry, Mode};
use skillpkg_schema::{Manifest, QualifiedName, SkillPath};
use skillpkg_store::content::{Store, StoreError};

use super::picture::{Picture, Thing, mode_of};
use super::text::{Names, merge};
use crate::regular_file;

/// Most bytes of all edited files of one copy.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// Most edited files of one copy.
const MOST_FILES: usize = 5_000;
/// The end of the name of a file with both versions, beside the one that the user edited.
const BOTH: &str = ".merge";
/// The end of the name of a published file that is no text, beside the one that the user edited.
const PUBLISHED: &str = ".published";

/// Why the edits of a copy cannot be merged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MergeError {
    /// The store has lost what the copy was made of.
    #[error("the store no longer has what it was made of")]
    NoBase,
    /// Edits that have no place beside the new version; all of them.
    #[error("{}", told(.0))]
    Obstacles(Vec<Obstacle>),
    /// More than is merged.
    #[error(
        "more than {MOST_FILES} files, or {} MiB, were edited", MOST_BYTES / (1024 * 1024)
    )]
    TooMuch,
    /// A file that cannot be read or written.
    #[error("`{path}`: {error}")]
    File {
        /// Which, escaped.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Most obstacles that are named.
const MOST_TOLD: usize = 10;

/// An edit that has no place beside the new version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Obstacle {
    /// Something that a skill cannot hold; escaped.
    #[error("`{0}` is no file that a skill can hold")]
    Unmergeable(String),
    /// A file of the user's that the new version has as a directory.
    #[error("`{0}` is a file of yours and a directory of the new version")]
    DirectoryOfTheirs(SkillPath),
    /// A directory of the user's that the new version has as a file.
    #[error("`{0}` is a directory of yours and a file of the new version")]
    FileOfTheirs(SkillPath),
    /// Something of the user's beneath what the new version has as a file.
    #[error("`{path}` is yours, and `{above}` is a file of the new version")]
    Beneath {
        /// The user's.
        path: SkillPath,
        /// The new version's.
        above: String,
    },
}

fn told(obstacles: &[Obstacle]) -> String {
    let mut told: Vec<String> = obstacles.iter().take(MOST_TOLD).map(ToString::to_string).collect();
    let more = obstacles.len().saturating_sub(MOST_TOLD);
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    told.join("; ")
}

/// A file that both changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The file, which is as the user has it; relative to the copy.
    pub file: SkillPath,
    /// Beside it, the file with both versions between marks, or the published one where it is no
    /// text; absent where one of them took the file out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
}

/// A copy that holds the edits of the one that it took the place of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MergedCopy {
    /// The skill.
    pub name: QualifiedName,
    /// The copy, absolute.
    pub path: PathBuf,
    /// Where the one lies whole that it took the place of.
    pub kept: PathBuf,
    /// Files that hold both what the user and what the author changed.
    pub merged: Vec<SkillPath>,
    /// Files that both changed in the same place.
    pub conflicts: Vec<Conflict>,
    /// What was edited once more while the copy was replaced, which is in `kept` alone; relative
    /// paths, safe to print.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<String>,
}

/// What became of the edited files in which both changed something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Made {
    /// Files that hold both what the user and what the author changed.
    pub(crate) merged: Vec<SkillPath>,
    /// Files that both changed in the same place.
    pub(crate) conflicts: Vec<Conflict>,
}

/// What the user made of a file; [`None`] where they took it out.
type Mine = Option<(Vec<u8>, Mode)>;

/// The edits of one copy, as they were read.
#[derive(Debug)]
pub(crate) struct Edits {
    base: Manifest,
    seen: Picture,
    files: BTreeMap<SkillPath, Mine>,
    /// Directories with nothing in them.
    directories: Vec<SkillPath>,
    /// What a skill cannot hold, escaped.
    unmergeable: Vec<String>,
}

impl Edits {
    /// Reads the edits of a copy of the snapshot `base`.
    pub(crate) fn read(base: Manifest, directory: &Dir) -> Result<Self, MergeError> {
        // Before any file: what is edited from here on differs from this picture.
        let seen = Picture::of(directory).map_err(|error| failed(".", error))?;
        let published = Picture::of_snapshot(&base);
        let (mut files, mut directories, mut room) = (BTreeMap::new(), Vec::new(), MOST_BYTES);
        let mut unmergeable = Vec::new();
        for path in published.differing(&seen) {
            if files.len() + directories.len() + unmergeable.len() >= MOST_FILES {
                return Err(MergeError::TooMuch);
            }
            let Some(file) = skill_path(path) else {
                unmergeable.push(escape(&path.to_string_lossy()));
                continue;
            };
            match seen.at(path) {
                None => {
                    files.insert(file, None);
                }
                Some(Thing::File(..)) => {
                    let (bytes, mode) = read(directory, path, room)?;
                    room -= bytes.len() as u64;
                    files.insert(file, Some((bytes, mode)));
                }
                Some(Thing::EmptyDirectory) if published.at(path).is_none() => {
                    directories.push(file);
                }
                Some(Thing::EmptyDirectory | Thing::Link(_) | Thing::Other) => {
                    unmergeable.push(escape(&path.to_string_lossy()));
                }
            }
        }
        Ok(Self { base, seen, files, directories, unmergeable })
    }

    /// Whether nothing was edited.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.directories.is_empty() && self.unmergeable.is_empty()
    }

    /// All that the copy held when the edits were read.
    pub(crate) fn into_seen(self) -> Picture {
        self.seen
    }

    /// Refuses edits that have no place beside the files of another snapshot, and names each.
    pub(crate) fn check(&self, now: &Manifest) -> Result<(), MergeError> {
        let mut obstacles: Vec<Obstacle> =
            self.unmergeable.iter().cloned().map(Obstacle::Unmergeable).collect();
        let files = self.files.iter().filter(|(_, mine)| mine.is_some()).map(|(file, _)| file);
        for (path, is_file) in
            files.map(|file| (file, true)).chain(self.directories.iter().map(|one| (one, false)))
        {
            let beneath = format!("{path}/");
            let is_directory = now.files.iter().any(|one| one.path.as_str().starts_with(&beneath));
            if let Some(above) = path.parents().find(|above| now.file(above).is_some()) {
                obstacles.push(Obstacle::Beneath { path: path.clone(), above: above.to_owned() });
            } else if is_file && is_directory {
                obstacles.push(Obstacle::DirectoryOfTheirs(path.clone()));
            } else if !is_file && now.file(path.as_str()).is_some() {
                obstacles.push(Obstacle::FileOfTheirs(path.clone()));
            }
        }
        if obstacles.is_empty() { Ok(()) } else { Err(MergeError::Obstacles(obstacles)) }
    }

    /// Merges the edits into `directory`, a copy of the snapshot `now` that nobody sees yet.
    ///
    /// A file that both changed in the same place becomes as the user has it, and both versions of
    /// it stand beside it. A crash leaves some files merged.
    pub(crate) fn apply(
        &self,
        store: &Store,
        now: &Manifest,
        directory: &Dir,
    ) -> Result<Made, MergeError> {
        self.check(now)?;
        let mut all = Made::default();
        for (file, mine) in &self.files {
            let base = self.base.file(file.as_str());
            let theirs = now.file(file.as_str());
            let is_unchanged = base.map(digest) == theirs.map(digest);
            match (mine, theirs) {
                (None, Some(_)) if is_unchanged => remove(directory, file)?,
                // Taken out by the user and changed by the author: it is there, and told.
                (None, Some(_)) => {
                    all.conflicts.push(Conflict { file: file.clone(), beside: None });
                }
                (None, None) => {}
                (Some((bytes, mode)), None) => {
                    write(directory, file.as_str(), bytes, *mode)?;
                    if base.is_some() {
                        all.conflicts.push(Conflict { file: file.clone(), beside: None });
                    }
                }
                (Some((bytes, mode)), Some(theirs)) => {
                    let is_mine = base.is_none_or(|base| base.mode != *mode);
                    let mode = if is_mine { *mode } else { theirs.mode };
                    if is_unchanged || theirs.sha256.address().matches(bytes) {
                        write(directory, file.as_str(), bytes, mode)?;
                    } else if base.is_some_and(|base| base.sha256.address().matches(bytes)) {
                        let there = open(directory, file)?;
                        set_mode(&there, mode).map_err(|error| failed(file.as_str(), error))?;
                    } else {
                        self.both(store, directory, (file, bytes, mode), theirs, now, &mut all)?;
                    }
                }
            }
        }
        for path in &self.directories {
            let created = directory.create_dir_all(path.as_str());
            created.map_err(|error| failed(path.as_str(), error))?;
        }
        Ok(all)
    }

    /// Merges a file whose bytes both changed.
    fn both(
        &self,
        store: &Store,
        directory: &Dir,
        (file, mine, mode): (&SkillPath, &[u8], Mode),
        theirs: &FileEntry,
        now: &Manifest,
        all: &mut Made,
    ) -> Result<(), MergeError> {
        let published = blob(store, theirs)?;
        let base = match self.base.file(file.as_str()).map(|base| blob(store, base)) {
            // Without it all of both stands between the marks.
            None | Some(Err(StoreError::Absent(_) | StoreError::Damaged { .. })) => {
                Some(Vec::new())
            }
            Some(base) => base?,
        };
        let texts =
            (base.as_deref().and_then(text), text(mine), published.as_deref().and_then(text));
        let beside = if let (Some(base), Some(mine), Some(theirs)) = texts {
            let labels = (self.base.version.to_string(), now.version.to_string());
            let names = Names { mine: "yours", base: &labels.0, theirs: &labels.1 };
            let merged = merge(base, mine, theirs, names);
            if merged.conflicts == 0 {
                all.merged.push(file.clone());
                return write(directory, file.as_str(), merged.text.as_bytes(), mode);
            }
            let beside = self.unused(directory, &format!("{file}{BOTH}"));
            write(directory, &beside, merged.text.as_bytes(), Mode::Regular)?;
            beside
        } else {
            let beside = self.unused(directory, &format!("{file}{PUBLISHED}"));
            let moved = directory.rename(file.as_str(), directory, &beside);
            moved.map_err(|error| failed(file.as_str(), error))?;
            beside
        };
        write(directory, file.as_str(), mine, mode)?;
        all.conflicts.push(Conflict { file: file.clone(), beside: Some(beside) });
        Ok(())
    }

    /// The name of a file that is not there yet, nor comes.
    fn unused(&self, directory: &Dir, name: &str) -> String {
        let is_taken = |name: &String| {
            directory.symlink_metadata(name).is_ok()
                || self.files.keys().any(|file| file.as_str() == name)
        };
        let numbered = (2_u32..).map(|number| format!("{name}-{number}"));
        let mut free = std::iter::once(name.to_owned()).chain(numbered).skip_while(is_taken);
        free.next().unwrap_or_else(|| name.to_owned())
    }
}

fn digest(entry: &FileEntry) -> skillpkg_schema::Sha256Digest {
    entry.sha256
}

/// The bytes of a file; [`None`] where it is too long to be merged.
fn blob(store: &Store, entry: &FileEntry) -> Result<Option<Vec<u8>>, StoreError> {
    if entry.size > MAX_SKILL_FILE_BYTES {
        return Ok(None);
    }
    store.read_blob(&entry.sha256.address(), entry.size).map(Some)
}

fn text(bytes: &[u8]) -> Option<&str> {
    let is_short = bytes.len() as u64 <= MAX_SKILL_FILE_BYTES;
    std::str::from_utf8(bytes).ok().filter(|text| is_short && !text.contains('\0'))
}

/// A path as a skill would have it; [`None`] where it could not.
fn skill_path(path: &Path) -> Option<SkillPath> {
    let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
    parts?.join("/").parse().ok()
}

fn open(directory: &Dir, file: &SkillPath) -> Result<std::fs::File, MergeError> {
    regular_file::open_in(directory, Path::new(file.as_str()))
        .map_err(|error| failed(file.as_str(), error))
}

fn failed(path: impl AsRef<Path>, error: io::Error) -> MergeError {
    MergeError::File { path: escape(&path.as_ref().to_string_lossy()), error }
}

fn read(directory: &Dir, path: &Path, room: u64) -> Result<(Vec<u8>, Mode), MergeError> {
    let attempt = || -> io::Result<_> {
        let file = regular_file::open_in(directory, path)?;
        let mode = mode_of(&file)?;
        Ok(regular_file::read(file, room)?.map(|bytes| (bytes, mode)))
    };
    attempt().map_err(|error| failed(path, error))?.ok_or(MergeError::TooMuch)
}

fn remove(directory: &Dir, file: &SkillPath) -> Result<(), MergeError> {
    let path = Path::new(file.as_str());
    match directory.remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path, error)),
        _ => Ok(()),
    }
}

/// Writes a file in place of what is there.
fn write(directory: &Dir, file: &str, bytes: &[u8], mode: Mode) -> Result<(), MergeError> {
    use io::Write as _;
    let path = Path::new(file);
    let attempt = || -> io::Result<()> {
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            directory.create_dir_all(parent)?;
        }
        match directory.remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let mut written = directory.open_with(path, &options)?.into_std();
        written.write_all(bytes)?;
        set_mode(&written, mode)?;
        written.sync_all()
    };
    attempt().map_err(|error| failed(path, error))
}

#[cfg(unix)]
fn set_mode(file: &std::fs::File, mode: Mode) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(mode.bits()))
}

#[cfg(not(unix))]
fn set_mode(_: &std::fs::File, _: Mode) -> io::Result<()> {
    Ok(())
}
