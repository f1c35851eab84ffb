//! An agent's directory of skills, opened once and worked on beneath that handle.
//!
//! Everything new is made in a staging directory inside it and exchanged with what stands there, so
//! that each step is one rename and can be taken back by the same rename.

use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{Blake3Digest, Manifest};
use skillpkg_store::content::Store;

use super::exchange::{rename_new, swap};
use super::kept;
use super::link::{self, Linked};
use crate::merge::{Edits, Made, MergeError, Picture};
use crate::project::io_error;
use crate::{Error, Kind};

/// What stands at a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing.
    Nothing,
    /// A symbolic link, and what it says.
    Link(PathBuf),
    /// A directory.
    Directory,
    /// A file or anything else.
    Other,
}

/// A copy that was staged with the edits of the one whose place it is to take.
#[derive(Debug)]
pub(super) struct Merging {
    /// The place.
    pub(super) path: PathBuf,
    /// All that stood there when the edits were read.
    pub(super) seen: Picture,
    /// What was made of the files that both changed.
    pub(super) made: Made,
    /// The digest of all that was staged.
    pub(super) merged: Blake3Digest,
}

/// That a copy at `path` was edited in a way that cannot be merged.
pub(super) fn unmergeable(path: &Path, error: &MergeError) -> Error {
    let shown = escape(&path.to_string_lossy());
    let message =
        format!("`{shown}` was edited, and is kept, since its edits cannot be merged: {error}");
    Error::new(Kind::Refused, "edited", message)
        .with_hint("move your edits elsewhere first, or let them go with `--discard-edits`")
}

/// An agent's directory of skills.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    directory: Dir,
    /// What the file system knows it by.
    identity: (u64, u64),
    staging_name: String,
    staging: Option<Dir>,
    /// Whether a run that was killed left its staging directory.
    has_left_over: bool,
}

impl Folder {
    /// The one at `path`, opened, in which things are made in a directory of this name.
    pub(super) fn opened(path: &Path, directory: Dir, staging_name: &str) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            identity: identity(&directory)?,
            has_left_over: directory.symlink_metadata(staging_name).is_ok(),
            directory,
            staging_name: staging_name.to_owned(),
            staging: None,
        })
    }

    /// Where it lies.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What the file system knows it by: two paths with one identity are one directory.
    pub(super) fn identity(&self) -> (u64, u64) {
        self.identity
    }

    /// What stands at `name`.
    pub(super) fn look(&self, name: &str) -> Result<Found, Error> {
        let failed = |error: io::Error| io_error(&self.path.join(name), &error);
        // Most often it is our link, and what is none is looked at again.
        if let Ok(target) = self.directory.read_link_contents(name) {
            return Ok(Found::Link(target));
        }
        let metadata = match self.directory.symlink_metadata(name) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(error) => return Err(failed(error)),
        };
        if metadata.is_symlink() {
            self.directory.read_link_contents(name).map(Found::Link).map_err(failed)
        } else if metadata.is_dir() {
            Ok(Found::Directory)
        } else {
            Ok(Found::Other)
        }
    }

    /// Whether a run that was killed left its staging directory.
    pub(super) fn has_left_over(&self) -> bool {
        self.has_left_over
    }

    /// Makes a link to `target`, to be exchanged with what stands at `name`.
    pub(super) fn stage_link(&mut self, name: &str, target: &Path) -> Result<Linked, Error> {
        let failed = |error: io::Error| io_error(&self.path.join(name), &error);
        let staging =
            open_staging(&self.directory, &self.staging_name, &mut self.staging).map_err(failed)?;
        link::make(staging, &self.path.join(&self.staging_name), target, name).map_err(failed)
    }

    /// Makes a copy of a snapshot, to be exchanged with what stands at `name`.
    pub(super) fn stage_copy(
        &mut self,
        name: &str,
        store: &Store,
        manifest: &Manifest,
    ) -> Result<(), Error> {
        let place = self.path.join(&self.staging_name);
        let staging = open_staging(&self.directory, &self.staging_name, &mut self.staging)
            .map_err(|error| io_error(&place, &error))?;
        Ok(store.copy_tree_into(manifest, staging, &place, name)?)
    }

    /// Merges the edits of the copy that stands at `name`, one of the snapshot `base`, into the one of
    /// `now` that was staged for it; [`None`] where nothing is edited there.
    pub(super) fn merge_staged(
        &self,
        name: &str,
        store: &Store,
        base: Manifest,
        now: &Manifest,
    ) -> Result<Option<Merging>, Error> {
        let Some((copy, staged)) = self.copy_at(name)?.zip(self.staged(name)?) else {
            return Ok(None);
        };
        let merge = || -> Result<_, MergeError> {
            let edits = Edits::read(base, &copy)?;
            Ok(if edits.is_empty() {
                None
            } else {
                Some((edits.apply(store, now, &staged)?, edits))
            })
        };
        let path = self.path.join(name);
        let Some((made, edits)) = merge().map_err(|error| unmergeable(&path, &error))? else {
            return Ok(None);
        };
        let merged = Picture::of(&staged).map_err(|error| io_error(&path, &error))?.digest();
        Ok(Some(Merging { path, seen: edits.into_seen(), made, merged }))
    }

    /// The directory that stands at `name`; [`None`] where none does.
    pub(super) fn copy_at(&self, name: &str) -> Result<Option<Dir>, Error> {
        self.directory_at(&self.directory, name)
    }

    /// The directory that was staged for `name`, or taken out from there; [`None`] where there is
    /// none.
    pub(super) fn staged(&self, name: &str) -> Result<Option<Dir>, Error> {
        self.staging.as_ref().map_or(Ok(None), |staging| self.directory_at(staging, name))
    }

    /// Where that lies.
    pub(super) fn staged_path(&self, name: &str) -> PathBuf {
        self.path.join(&self.staging_name).join(name)
    }

    fn directory_at(&self, directory: &Dir, name: &str) -> Result<Option<Dir>, Error> {
        match directory.symlink_metadata(name) {
            Ok(metadata) if metadata.is_dir() => directory
                .open_dir_nofollow(name)
                .map(Some)
                .map_err(|error| io_error(&self.path.join(name), &error)),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error(&self.path.join(name), &error)),
        }
    }

    /// Goes on with what a run that was killed has staged and taken out.
    pub(super) fn resume(&mut self) -> Result<(), Error> {
        if self.staging.is_none() && self.has_left_over {
            let opened = self.directory_at(&self.directory, &self.staging_name)?;
            self.staging = opened;
        }
        Ok(())
    }

    /// Moves what was taken out from `name` beneath `edits`, under a name like `label`, or beside
    /// where it stood where it cannot go there; answers where it lies.
    pub(super) fn keep(&self, name: &str, edits: &Path, label: &str) -> Result<PathBuf, Error> {
        let Some(staging) = &self.staging else { return Ok(self.path.join(name)) };
        if let Ok(kept) = kept::keep(staging, name, edits, label) {
            return Ok(kept);
        }
        let beside = kept::move_to_free(staging, name, &self.directory, &format!(".{label}.kept"));
        beside.map(|name| self.path.join(name)).map_err(|error| self.failed(&error))
    }

    /// Makes the staging directory for what is to be taken out.
    pub(super) fn stage_nothing(&mut self) -> Result<(), Error> {
        let staged =
            open_staging(&self.directory, &self.staging_name, &mut self.staging).map(|_| ());
        staged.map_err(|error| self.failed(&error))
    }

    /// Exchanges what was staged for `name`, or nothing, with what stands there, or nothing.
    ///
    /// Doing it again, the other way about, takes it back. Either is one rename where the system can
    /// exchange two names, as Linux and macOS can.
    pub(super) fn exchange(
        &self,
        name: &str,
        is_there: bool,
        is_staged: bool,
    ) -> Result<(), Error> {
        let failed = |error: io::Error| io_error(&self.path.join(name), &error);
        let Some(staging) = &self.staging else { return Ok(()) };
        match (is_there, is_staged) {
            (false, false) => Ok(()),
            (false, true) => rename_new(staging, name, &self.directory, name),
            (true, false) => rename_new(&self.directory, name, staging, name),
            (true, true) => swap(&self.directory, staging, name),
        }
        .map_err(failed)
    }

    /// Removes the staging directory with all that was taken out.
    pub(super) fn clear(&mut self) -> Result<(), Error> {
        self.staging = None;
        remove_staging(&self.directory, &self.staging_name).map_err(|error| self.failed(&error))?;
        self.has_left_over = false;
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> Error {
        io_error(&self.path, error)
    }
}

fn identity(directory: &Dir) -> io::Result<(u64, u64)> {
    use cap_fs_ext::MetadataExt as _;
    let metadata = directory.dir_metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// The staging directory, made anew the first time: what a run that was killed left goes.
fn open_staging<'s>(
    directory: &Dir,
    name: &str,
    staging: &'s mut Option<Dir>,
) -> io::Result<&'s Dir> {
    let opened = if let Some(opened) = staging.take() {
        opened
    } else {
        remove_staging(directory, name)?;
        directory.create_dir(name)?;
        directory.open_dir_nofollow(name)?
    };
    Ok(staging.insert(opened))
}

fn remove_staging(directory: &Dir, name: &str) -> io::Result<()> {
    let metadata = match directory.symlink_metadata(name) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if metadata.is_dir() { directory.remove_dir_all(name) } else { directory.remove_file(name) }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::install::base::staging_name;
    use crate::install::base::tests::{based, opened};
    use std::fs;

    #[test]
    fn an_exchange_done_twice_changes_nothing() {
        let root = tempfile::tempdir().unwrap();
        let handle = opened(root.path());
        let base = based(root.path(), &handle);
        let (mut folder, made) = base.create(&root.path().join(".agents/skills")).unwrap();
        assert_eq!(made.len(), 2);
        folder.stage_link("a", Path::new("/first")).unwrap();
        folder.exchange("a", false, true).unwrap();
        assert_eq!(folder.look("a").unwrap(), Found::Link("/first".into()));
        folder.stage_link("a", Path::new("/second")).unwrap();
        for there in ["/second", "/first", "/second"] {
            folder.exchange("a", true, true).unwrap();
            assert_eq!(folder.look("a").unwrap(), Found::Link(there.into()));
        }
        folder.clear().unwrap();
        folder.stage_nothing().unwrap();
        folder.exchange("a", true, false).unwrap();
        assert_eq!(folder.look("a").unwrap(), Found::Nothing);
        folder.exchange("a", false, true).unwrap();
        assert_eq!(folder.look("a").unwrap(), Found::Link("/second".into()));
        folder.clear().unwrap();
        assert!(!folder.has_left_over());
    }

    #[test]
    fn what_somebody_put_there_in_the_meantime_is_not_replaced() {
        let root = tempfile::tempdir().unwrap();
        let handle = opened(root.path());
        let base = based(root.path(), &handle);
        let (mut folder, _) = base.create(&root.path().join("skills")).unwrap();
        folder.stage_link("a", Path::new("/x")).unwrap();
        fs::write(root.path().join("skills/a"), "theirs").unwrap();
        assert!(folder.exchange("a", false, true).is_err());
        assert_eq!(fs::read(root.path().join("skills/a")).unwrap(), b"theirs");
    }

    #[test]
    fn a_directory_that_only_looks_like_ours_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let handle = opened(root.path());
        let base = based(root.path(), &handle);
        let (others, ours) = (".skillpkg-staging", base.staging.clone());
        for name in [others, ours.as_str(), ".skillpkg-staging-0000000000000000"] {
            fs::create_dir_all(root.path().join("skills").join(name).join("precious")).unwrap();
        }
        let (mut folder, _) = base.create(&root.path().join("skills")).unwrap();
        assert!(folder.has_left_over());
        folder.stage_link("a", Path::new("/x")).unwrap();
        folder.clear().unwrap();
        let left: Vec<_> = fs::read_dir(root.path().join("skills"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(left.len(), 2);
        assert!(!left.contains(&ours));
        assert_ne!(staging_name(Path::new("/a")), staging_name(Path::new("/b")));
    }
}
