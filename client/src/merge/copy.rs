//! The edits of one copy in an agent's directory: kept beside the store before the copy is replaced,
//! then merged into what took its place.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::Serialize;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::limits::MAX_SKILL_FILE_BYTES;
use skillpkg_schema::manifest::{FileEntry, Mode};
use skillpkg_schema::{ContentAddress, Manifest, QualifiedName, SkillPath};
use skillpkg_store::content::{Store, StoreError, TreeProblemKind};

use super::text::{Names, merge};
use crate::{private_file, regular_file};

/// Most bytes of all edited files of one copy.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
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
    /// An edited file that is too long, or no regular file.
    #[error("`{0}` is no regular file, or too long to be merged")]
    Unmergeable(String),
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

/// A file that both changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The file, which is as the user has it; relative to the copy.
    pub file: SkillPath,
    /// Beside it, the file with both versions between marks, or the published one where it is no
    /// text; absent where the author took the file out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
}

/// A copy into which its user's edits were merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MergedCopy {
    /// The skill.
    pub name: QualifiedName,
    /// The copy, absolute.
    pub path: PathBuf,
    /// Where the edited files lie as they were.
    pub kept: PathBuf,
    /// Files that hold both what the user and what the author changed.
    pub merged: Vec<SkillPath>,
    /// Files that both changed in the same place.
    pub conflicts: Vec<Conflict>,
}

/// What the user made of a file; [`None`] where they took it out.
type Mine = Option<(Vec<u8>, Mode)>;

/// The edits of one copy, as they were read.
#[derive(Debug)]
pub(crate) struct Edits {
    name: QualifiedName,
    path: PathBuf,
    base: Manifest,
    files: BTreeMap<SkillPath, Mine>,
    kept: PathBuf,
}

impl Edits {
    /// Reads the edits of the copy of a snapshot, and keeps the edited files beneath `kept`, in a
    /// directory of their own; [`None`] where nothing is edited.
    ///
    /// They are synced before this answers: a crash from here on loses none of them.
    pub(crate) fn keep(
        store: &Store,
        address: &ContentAddress,
        path: &Path,
        kept: &Path,
    ) -> Result<Option<Self>, MergeError> {
        let base = store.stored(address)?.ok_or(MergeError::NoBase)?.manifest;
        let problems = store.verify_copy(&base, path)?;
        if problems.is_empty() {
            return Ok(None);
        }
        let directory = open(path)?;
        let (mut files, mut room) = (BTreeMap::new(), MOST_BYTES);
        for problem in problems {
            let unmergeable = || MergeError::Unmergeable(escape(&problem.path));
            let file: SkillPath = problem.path.parse().map_err(|_| unmergeable())?;
            let mine = if problem.kind == TreeProblemKind::Missing {
                None
            } else {
                let (bytes, mode) = read(&directory, &file, room).ok_or_else(unmergeable)?;
                room -= bytes.len() as u64;
                Some((bytes, mode))
            };
            files.insert(file, mine);
        }
        let kept = free(kept, &format!("{}-{}", base.name, base.version));
        for (file, mine) in &files {
            if let Some((bytes, _)) = mine {
                let place = kept.join(file.as_str());
                private_file::create(&place, bytes).map_err(|error| failed(&place, error))?;
            }
        }
        let name = base.name.clone();
        Ok(Some(Self { name, path: path.to_owned(), base, files, kept }))
    }

    /// The skill.
    pub(crate) fn name(&self) -> &QualifiedName {
        &self.name
    }

    /// The copy.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The base of the edits.
    pub(crate) fn base(&self) -> ContentAddress {
        self.base.address()
    }

    /// Where the edited files lie as they were.
    pub(crate) fn kept(&self) -> &Path {
        &self.kept
    }

    /// Merges the edits into the copy, which is that of another snapshot by now.
    ///
    /// A file that both changed in the same place becomes as the user has it, and both versions of
    /// it stand beside it. A crash leaves some files merged, and all edits where they were kept.
    pub(crate) fn apply(&self, store: &Store, now: &Manifest) -> Result<MergedCopy, MergeError> {
        let directory = open(&self.path)?;
        let mut copy = MergedCopy {
            name: self.name.clone(),
            path: self.path.clone(),
            kept: self.kept.clone(),
            merged: Vec::new(),
            conflicts: Vec::new(),
        };
        for (file, mine) in &self.files {
            let base = self.base.file(file.as_str());
            let theirs = now.file(file.as_str());
            let is_unchanged = base.map(digest) == theirs.map(digest);
            match (mine, theirs) {
                (None, Some(_)) if is_unchanged => remove(&directory, file)?,
                // Taken out by the user and changed by the author: it is there, and told.
                (None, Some(_)) => {
                    copy.conflicts.push(Conflict { file: file.clone(), beside: None });
                }
                (None, None) => {}
                (Some((bytes, mode)), _) if is_unchanged => {
                    write(&directory, file.as_str(), bytes, *mode)?;
                }
                (Some((bytes, mode)), None) => {
                    write(&directory, file.as_str(), bytes, *mode)?;
                    copy.conflicts.push(Conflict { file: file.clone(), beside: None });
                }
                (Some((bytes, mode)), Some(theirs)) => {
                    self.both(store, &directory, (file, bytes, *mode), theirs, now, &mut copy)?;
                }
            }
        }
        Ok(copy)
    }

    /// Merges a file that both have and the author changed.
    fn both(
        &self,
        store: &Store,
        directory: &Dir,
        (file, mine, mode): (&SkillPath, &[u8], Mode),
        theirs: &FileEntry,
        now: &Manifest,
        copy: &mut MergedCopy,
    ) -> Result<(), MergeError> {
        let published = store.read_blob(&theirs.sha256.address(), theirs.size)?;
        let base = match self.base.file(file.as_str()) {
            Some(entry) => store.read_blob(&entry.sha256.address(), entry.size)?,
            None => Vec::new(),
        };
        if published == mine {
            return write(directory, file.as_str(), mine, mode);
        }
        // Only the mode is the user's.
        if base == mine {
            return write(directory, file.as_str(), &published, mode);
        }
        let texts = (text(&base), text(mine), text(&published));
        let beside = if let (Some(base), Some(mine), Some(theirs)) = texts {
            let labels = (self.base.version.to_string(), now.version.to_string());
            let names = Names { mine: "yours", base: &labels.0, theirs: &labels.1 };
            let merged = merge(base, mine, theirs, names);
            if merged.conflicts == 0 {
                copy.merged.push(file.clone());
                return write(directory, file.as_str(), merged.text.as_bytes(), mode);
            }
            let beside = unused(directory, &format!("{file}{BOTH}"));
            write(directory, &beside, merged.text.as_bytes(), Mode::Regular)?;
            beside
        } else {
            let beside = unused(directory, &format!("{file}{PUBLISHED}"));
            write(directory, &beside, &published, Mode::Regular)?;
            beside
        };
        write(directory, file.as_str(), mine, mode)?;
        copy.conflicts.push(Conflict { file: file.clone(), beside: Some(beside) });
        Ok(())
    }
}

fn digest(entry: &FileEntry) -> skillpkg_schema::Sha256Digest {
    entry.sha256
}

fn text(bytes: &[u8]) -> Option<&str> {
    let is_short = bytes.len() as u64 <= MAX_SKILL_FILE_BYTES;
    std::str::from_utf8(bytes).ok().filter(|text| is_short && !text.contains('\0'))
}

/// A directory beneath `directory` that is not there yet.
fn free(directory: &Path, name: &str) -> PathBuf {
    let name = name.replace('/', "-");
    let names =
        std::iter::once(name.clone()).chain((2_u32..).map(|number| format!("{name}-{number}")));
    let mut places = names.map(|name| directory.join(name));
    places.find(|place| place.symlink_metadata().is_err()).unwrap_or_else(|| directory.join(&name))
}

/// The name of a file that is not there yet.
fn unused(directory: &Dir, name: &str) -> String {
    let names =
        std::iter::once(name.to_owned()).chain((2_u32..).map(|number| format!("{name}-{number}")));
    let mut free = names.skip_while(|name| directory.symlink_metadata(name).is_ok());
    free.next().unwrap_or_else(|| name.to_owned())
}

fn open(path: &Path) -> Result<Dir, MergeError> {
    Dir::open_ambient_dir(path, ambient_authority()).map_err(|error| failed(path, error))
}

fn failed(path: &Path, error: io::Error) -> MergeError {
    MergeError::File { path: escape(&path.to_string_lossy()), error }
}

fn read(directory: &Dir, file: &SkillPath, room: u64) -> Option<(Vec<u8>, Mode)> {
    let path = Path::new(file.as_str());
    if !directory.symlink_metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return None;
    }
    let file = regular_file::open_in(directory, path).ok()?;
    let mode = mode_of(&file)?;
    Some((regular_file::read(file, room).ok()??, mode))
}

#[cfg(unix)]
fn mode_of(file: &std::fs::File) -> Option<Mode> {
    use std::os::unix::fs::PermissionsExt as _;
    Some(Mode::of(file.metadata().ok()?.permissions().mode() & 0o111 != 0))
}

#[cfg(not(unix))]
fn mode_of(_: &std::fs::File) -> Option<Mode> {
    Some(Mode::Regular)
}

fn remove(directory: &Dir, file: &SkillPath) -> Result<(), MergeError> {
    let path = Path::new(file.as_str());
    match directory.remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path, error)),
        _ => Ok(()),
    }
}

/// Writes a file to another name and renames it into its place.
fn write(directory: &Dir, file: &str, bytes: &[u8], mode: Mode) -> Result<(), MergeError> {
    let path = Path::new(file);
    let attempt = || -> io::Result<()> {
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            directory.create_dir_all(parent)?;
        }
        let unfinished = unused(directory, &format!("{file}.unfinished"));
        let made = directory.create(&unfinished)?;
        {
            use io::Write as _;
            let mut made = made.into_std();
            made.write_all(bytes)?;
            set_mode(&made, mode)?;
            made.sync_all()?;
        }
        directory.rename(&unfinished, directory, path)
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
