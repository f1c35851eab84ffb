//! Verification of a tree against its manifest: every file re-hashed, modification times never
//! believed, no link followed.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::path::Path;

use cap_std::fs::Dir;
use skillpkg_schema::Manifest;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::manifest::{FileEntry, Mode};

use super::blob::hash;
use super::directory::{Name, open_listed, open_regular};
use super::error::{AtPath as _, StoreError};
use super::{TreeProblem, TreeProblemKind};

/// What the manifest wants under one name of a directory.
pub(super) enum Wanted<'manifest> {
    /// This file.
    File(&'manifest FileEntry),
    /// A directory with these files beneath it.
    Directory(&'manifest [FileEntry]),
}

/// Compares the tree beneath `root`, which was just listed and lies at `place`, with `manifest`;
/// sorted by path.
pub(super) fn verify(
    root: (Dir, Vec<Name>),
    place: &Path,
    manifest: &Manifest,
) -> Result<Vec<TreeProblem>, StoreError> {
    let mut problems = Vec::new();
    let mut verifier = Verifier { place, problems: &mut problems };
    verifier.directory(root, "", &manifest.files)?;
    problems.sort_by(|left, right| (&left.path, left.kind).cmp(&(&right.path, right.kind)));
    Ok(problems)
}

/// Every file of the manifest, missing.
pub(super) fn all_missing(manifest: &Manifest) -> Vec<TreeProblem> {
    let mut problems = Vec::new();
    Verifier { place: Path::new(""), problems: &mut problems }.missing(&manifest.files);
    problems
}

struct Verifier<'work> {
    place: &'work Path,
    problems: &'work mut Vec<TreeProblem>,
}

impl Verifier<'_> {
    /// Compares one directory, whose path is empty or ends in `/` and which holds `names`, with the
    /// files beneath it.
    ///
    /// Calls itself for directories that the manifest knows alone, so at most as deep as a path of
    /// a skill can be.
    fn directory(
        &mut self,
        (directory, names): (Dir, Vec<Name>),
        path: &str,
        files: &[FileEntry],
    ) -> Result<(), StoreError> {
        let directory = &directory;
        let mut wanted = divide(path, files);
        for Name { name, is_file } in names {
            match name.to_str().and_then(|name| wanted.remove_entry(name)) {
                Some((name, Wanted::File(entry))) => {
                    self.file(directory, name, entry, is_file)?;
                }
                Some((name, Wanted::Directory(files))) => {
                    self.beneath(directory, &format!("{path}{name}"), name, files)?;
                }
                None => {
                    // A directory too many is one problem, however much is in it.
                    let shown = escape(&name.to_string_lossy());
                    self.problem(TreeProblemKind::Extra, &format!("{path}{shown}"));
                }
            }
        }
        for (_, missing) in wanted {
            match missing {
                Wanted::File(entry) => self.missing(std::slice::from_ref(entry)),
                Wanted::Directory(files) => self.missing(files),
            }
        }
        Ok(())
    }

    fn beneath(
        &mut self,
        parent: &Dir,
        path: &str,
        name: &str,
        files: &[FileEntry],
    ) -> Result<(), StoreError> {
        match open_listed(parent, name) {
            Ok(opened) => self.directory(opened, &format!("{path}/"), files),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.missing(files);
                Ok(())
            }
            Err(error) => {
                let is_directory = parent.symlink_metadata(name).is_ok_and(|found| found.is_dir());
                if is_directory && error.kind() != io::ErrorKind::PermissionDenied {
                    return Err(StoreError::io(self.place.join(path), error));
                }
                self.problem(TreeProblemKind::Mode, path);
                self.missing(files);
                Ok(())
            }
        }
    }

    fn file(
        &mut self,
        directory: &Dir,
        name: &str,
        entry: &FileEntry,
        is_file: bool,
    ) -> Result<(), StoreError> {
        let path = entry.path.as_str();
        let at = || self.place.join(path);
        // What is no file is not even opened: opening a device may do something. Some file systems
        // do not say in a directory what each name is.
        let is_file =
            is_file || directory.symlink_metadata(name).is_ok_and(|found| found.is_file());
        if !is_file {
            self.problem(TreeProblemKind::Mode, path);
            return Ok(());
        }
        let (mut file, metadata) = match open_regular(directory, name) {
            Ok(opened) => opened,
            Err(error) => {
                let kind = match error.kind() {
                    io::ErrorKind::NotFound => TreeProblemKind::Missing,
                    io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied => {
                        TreeProblemKind::Mode
                    }
                    _ => return Err(error).at(at),
                };
                self.problem(kind, path);
                return Ok(());
            }
        };
        let is_modified = metadata.len() != entry.size
            || hash(&mut file, entry.size).at(at)? != Some(entry.blake3);
        if is_modified {
            self.problem(TreeProblemKind::Modified, path);
        }
        if !has_mode(&metadata, entry.mode) {
            self.problem(TreeProblemKind::Mode, path);
        }
        Ok(())
    }

    fn missing(&mut self, files: &[FileEntry]) {
        for file in files {
            self.problem(TreeProblemKind::Missing, file.path.as_str());
        }
    }

    fn problem(&mut self, kind: TreeProblemKind, path: &str) {
        self.problems.push(TreeProblem { kind, path: path.to_owned() });
    }
}

/// The files beneath a directory, by the first part of what is left of their paths.
pub(super) fn divide<'manifest>(
    path: &str,
    files: &'manifest [FileEntry],
) -> BTreeMap<&'manifest str, Wanted<'manifest>> {
    let mut wanted = BTreeMap::new();
    let mut rest = files;
    while let Some((first, after)) = rest.split_first() {
        let left = first.path.as_str().strip_prefix(path).unwrap_or_default();
        let Some((name, _)) = left.split_once('/') else {
            wanted.insert(left, Wanted::File(first));
            rest = after;
            continue;
        };
        // Paths are sorted, so what shares a directory stands together.
        let end = path.len() + name.len() + 1;
        let directory = first.path.as_str().get(..end).unwrap_or_default();
        let shared = rest.partition_point(|file| file.path.as_str().starts_with(directory));
        let (beneath, others) = rest.split_at_checked(shared.max(1)).unwrap_or((rest, &[]));
        wanted.insert(name, Wanted::Directory(beneath));
        rest = others;
    }
    wanted
}

/// Whether a file is executable where it should be, and has none of the bits that lend it another
/// user's rights.
#[cfg(unix)]
fn has_mode(metadata: &Metadata, wanted: Mode) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let mode = metadata.mode();
    Mode::of(mode & 0o100 != 0) == wanted && mode & 0o7000 == 0
}

#[cfg(not(unix))]
fn has_mode(_: &Metadata, _: Mode) -> bool {
    true
}
