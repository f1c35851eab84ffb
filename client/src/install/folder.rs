//! An agent's directory of skills, opened once and worked on beneath that handle.
//!
//! Everything new is made in a staging directory inside it and exchanged with what stands there, so
//! that each step is one rename and can be taken back by the same rename.

use std::io;
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{Blake3Digest, Manifest};
use skillpkg_store::content::Store;

use super::kept;
use super::link::{self, Linked};
use crate::merge::{Edits, Made, MergeError, Picture};
use crate::project::io_error;
use crate::{Error, Kind, real_path};

/// The name of the directory in which what is to be placed is made: within the agent's, since a
/// rename does not leave its file system. All in it is ours by its name, which is another one for
/// each home of skillpkg, so that what others put in such a directory is never taken for ours.
pub(super) fn staging_name(home: &Path) -> String {
    let name = home.as_os_str().as_encoded_bytes();
    let bytes = [name, &identity_of(home)].concat();
    let hex = Blake3Digest::of(&bytes).to_string();
    format!(".skillpkg-staging-{}", hex.get(..16).unwrap_or_default())
}

/// What the file system knows a home by; nothing where it does not tell.
#[cfg(unix)]
fn identity_of(home: &Path) -> Vec<u8> {
    use std::os::unix::fs::MetadataExt as _;
    home.metadata().map_or_else(
        |_| Vec::new(),
        |metadata| [metadata.dev().to_le_bytes(), metadata.ino().to_le_bytes()].concat(),
    )
}

/// Nothing: a home on Windows is known by its path.
#[cfg(not(unix))]
fn identity_of(_: &Path) -> Vec<u8> {
    Vec::new()
}

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

/// The directory beneath which an agent's directory lies, opened once.
#[derive(Debug)]
pub(super) struct Base<'a> {
    /// Where it lies.
    pub(super) path: &'a Path,
    /// Its handle where what lies beneath it may have been brought by others, as in a project; then
    /// no link beneath it is followed out of it.
    pub(super) confined: Option<&'a Dir>,
    /// What the directory is called in which things are made that are to be placed.
    pub(super) staging: String,
    /// Where copies go that their user edited, once something else has taken their place.
    pub(super) edits: PathBuf,
}

impl Base<'_> {
    /// Opens the directory at `path`, which is absolute; [`None`] where it is absent.
    ///
    /// Links on the way are resolved once, here. One that leads out of a base whose content others
    /// may have brought is refused.
    pub(super) fn open(&self, path: &Path) -> Result<Option<Folder>, Error> {
        match self.open_handle(path) {
            Ok(directory) => Ok(Some(Folder {
                path: path.to_owned(),
                identity: identity(&directory).map_err(|error| self.failed(path, &error))?,
                has_left_over: directory.symlink_metadata(&self.staging).is_ok(),
                directory,
                staging_name: self.staging.clone(),
                staging: None,
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(path, &error)),
        }
    }

    /// Where the directory at `path` lies, or will: the path itself, or where the link leads that
    /// stands there while nothing is behind it.
    pub(super) fn destination(path: &Path) -> PathBuf {
        if real_path::of(path).is_ok() {
            return path.to_owned();
        }
        path.read_link().map_or_else(|_| path.to_owned(), |target| led_to(path, &target))
    }

    /// A link on the way to `path` that leads out of the directory, and where to.
    fn way_out(&self, path: &Path) -> Option<(PathBuf, PathBuf)> {
        self.confined?;
        let mut way: Vec<&Path> =
            path.ancestors().take_while(|above| *above != self.path).collect();
        way.reverse();
        way.into_iter().find_map(|part| {
            let target = part.read_link().ok()?;
            let leads = real_path::of(part).unwrap_or_else(|_| led_to(part, &target));
            (!leads.starts_with(self.path)).then(|| (part.to_owned(), leads))
        })
    }

    fn failed(&self, path: &Path, error: &io::Error) -> Error {
        match self.way_out(path) {
            Some((link, leads)) => outside(&link, &leads),
            None => self.in_the_way(path).unwrap_or_else(|| io_error(path, error)),
        }
    }

    /// That something else stands where a directory on the way to `path` is needed.
    fn in_the_way(&self, path: &Path) -> Option<Error> {
        let mut way: Vec<&Path> =
            path.ancestors().take_while(|above| *above != self.path).collect();
        way.reverse();
        let (part, found) = way.into_iter().find_map(|part| {
            let metadata = part.symlink_metadata().ok()?;
            match part.metadata() {
                Ok(behind) if behind.is_dir() => None,
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
                Err(_) if metadata.is_symlink() => Some((part, "a link that leads to nothing")),
                _ => Some((part, "no directory")),
            }
        })?;
        let (part, path) = (escape(&part.to_string_lossy()), escape(&path.to_string_lossy()));
        let message = format!("`{part}` is {found}, so skills cannot be placed in `{path}`");
        Some(Error::new(Kind::Refused, "destination_occupied", message).with_hint(
            "move it away, or place the skill for an agent with another directory (`--agent`)",
        ))
    }

    /// Opens the directory at `path`, made where it is absent; answers with the directories that
    /// were made for it too, outermost first.
    pub(super) fn create(&self, path: &Path) -> Result<(Folder, Vec<PathBuf>), Error> {
        if let Some(folder) = self.open(path)? {
            return Ok((folder, Vec::new()));
        }
        let place = Self::destination(path);
        if self.confined.is_some() && !place.starts_with(self.path) {
            return Err(outside(path, &place));
        }
        let made: Vec<PathBuf> = place
            .ancestors()
            .take_while(|above| above.symlink_metadata().is_err())
            .map(Path::to_owned)
            .collect();
        let create = || match self.confined.zip(place.strip_prefix(self.path).ok()) {
            Some((base, relative)) => base.create_dir_all(relative),
            None => std::fs::create_dir_all(&place),
        };
        create().map_err(|error| self.failed(path, &error))?;
        match self.open(path)? {
            Some(folder) => Ok((folder, made.into_iter().rev().collect())),
            None => Err(io_error(path, &io::Error::from(io::ErrorKind::NotFound))),
        }
    }

    /// Removes an agent's directory of skills, and the one that holds it, as far as they are empty.
    pub(super) fn remove_empty(&self, path: &Path) {
        for directory in path.ancestors().take(2) {
            let Ok(relative) = directory.strip_prefix(self.path) else { return };
            if relative.as_os_str().is_empty() {
                return;
            }
            let removed = match self.confined {
                Some(base) => base.remove_dir(relative),
                None => std::fs::remove_dir(directory),
            };
            if removed.is_err() {
                return;
            }
        }
    }

    fn open_handle(&self, path: &Path) -> io::Result<Dir> {
        let Some((base, relative)) = self.confined.zip(path.strip_prefix(self.path).ok()) else {
            return Dir::open_ambient_dir(path, ambient_authority());
        };
        if relative.as_os_str().is_empty() {
            return base.try_clone();
        }
        let error = match base.open_dir(relative) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => error,
            answer => return answer,
        };
        // An absolute link is never followed beneath a handle, though it may stay inside.
        match real_path::of(path) {
            Ok(inside) => match inside.strip_prefix(self.path) {
                Ok(inside) if inside.as_os_str().is_empty() => base.try_clone(),
                Ok(inside) => base.open_dir(inside),
                Err(_) => Err(error),
            },
            Err(absent) if absent.kind() == io::ErrorKind::NotFound => {
                if self.way_out(path).is_some() { Err(error) } else { Err(absent) }
            }
            Err(_) => Err(error),
        }
    }
}

fn identity(directory: &Dir) -> io::Result<(u64, u64)> {
    use cap_fs_ext::MetadataExt as _;
    let metadata = directory.dir_metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Where a link at `path` leads, by its words alone.
fn led_to(path: &Path, target: &Path) -> PathBuf {
    let above = path.parent().unwrap_or(path);
    let above = real_path::of(above).unwrap_or_else(|_| above.to_owned());
    let mut place = PathBuf::new();
    for part in above.join(target).components() {
        match part {
            Component::ParentDir => {
                place.pop();
            }
            Component::CurDir => {}
            part => place.push(part),
        }
    }
    place
}

fn outside(link: &Path, leads: &Path) -> Error {
    let (link, leads) = (escape(&link.to_string_lossy()), escape(&leads.to_string_lossy()));
    let message = format!("`{link}` is a link that leads out of the project, to `{leads}`");
    Error::new(Kind::Refused, "destination_outside", message).with_hint(
        "a project does not decide where outside of it skills are written: place them for another \
         agent (`--agent`), or put a directory in the link's place",
    )
}

impl Folder {
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
        self.opened(&self.directory, name)
    }

    /// The directory that was staged for `name`, or taken out from there; [`None`] where there is
    /// none.
    pub(super) fn staged(&self, name: &str) -> Result<Option<Dir>, Error> {
        self.staging.as_ref().map_or(Ok(None), |staging| self.opened(staging, name))
    }

    /// Where that lies.
    pub(super) fn staged_path(&self, name: &str) -> PathBuf {
        self.path.join(&self.staging_name).join(name)
    }

    fn opened(&self, directory: &Dir, name: &str) -> Result<Option<Dir>, Error> {
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
            let opened = self.opened(&self.directory, &self.staging_name)?;
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

/// Renames without ever replacing what somebody put there in the meantime.
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(super) fn rename_new(from: &Dir, name: &str, to: &Dir, new_name: &str) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    match renameat_with(from, name, to, new_name, RenameFlags::NOREPLACE) {
        Err(error) if is_unknown(error) => rename_checked(from, name, to, new_name),
        answer => Ok(answer?),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(super) fn rename_new(from: &Dir, name: &str, to: &Dir, new_name: &str) -> io::Result<()> {
    rename_checked(from, name, to, new_name)
}

fn rename_checked(from: &Dir, name: &str, to: &Dir, new_name: &str) -> io::Result<()> {
    if to.symlink_metadata(new_name).is_ok() {
        return Err(io::Error::from(io::ErrorKind::AlreadyExists));
    }
    from.rename(name, to, new_name)
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn swap(directory: &Dir, staging: &Dir, name: &str) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    match renameat_with(staging, name, directory, name, RenameFlags::EXCHANGE) {
        Err(error) if is_unknown(error) => swap_in_steps(directory, staging, name),
        answer => Ok(answer?),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn swap(directory: &Dir, staging: &Dir, name: &str) -> io::Result<()> {
    swap_in_steps(directory, staging, name)
}

/// Whether the file system does not know the flag of a rename.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn is_unknown(error: rustix::io::Errno) -> bool {
    use rustix::io::Errno;
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)
}

/// What is called for a moment what is taken out, where names cannot be exchanged.
pub(super) fn aside_of(name: &str) -> String {
    format!("{name}.aside")
}

/// Where names cannot be exchanged, what stands there is out of sight for a moment.
fn swap_in_steps(directory: &Dir, staging: &Dir, name: &str) -> io::Result<()> {
    let aside = aside_of(name);
    directory.rename(name, staging, &aside)?;
    match staging.rename(name, directory, name) {
        Ok(()) => staging.rename(&aside, staging, name),
        Err(error) => {
            staging.rename(&aside, directory, name)?;
            Err(error)
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::Kind;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn opened(root: &Path) -> Dir {
        Dir::open_ambient_dir(root, ambient_authority()).unwrap()
    }

    fn based<'d>(path: &'d Path, handle: &'d Dir) -> Base<'d> {
        let staging = staging_name(Path::new("/home"));
        Base { path, confined: Some(handle), staging, edits: path.join("edits") }
    }

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
    fn a_link_that_leads_out_is_refused_and_one_that_stays_inside_is_followed() {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap();
        let handle = opened(&path);
        let base = based(&path, &handle);
        fs::create_dir(outside.path().join("skills")).unwrap();
        symlink(outside.path(), path.join(".claude")).unwrap();
        fs::create_dir(path.join(".own")).unwrap();
        symlink(outside.path().join("skills"), path.join(".own/skills")).unwrap();
        symlink(outside.path().join("absent"), path.join(".own/absent")).unwrap();
        for place in [".claude/skills", ".claude/more", ".own/skills", ".own/absent"] {
            let error = base.create(&path.join(place)).unwrap_err();
            assert_eq!((error.kind, error.code.as_str()), (Kind::Refused, "destination_outside"));
            assert!(error.message.contains(&*outside.path().to_string_lossy()), "{error}");
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);

        fs::create_dir(path.join("shared")).unwrap();
        symlink("../shared", path.join(".own/relative")).unwrap();
        symlink(path.join("shared"), path.join(".own/absolute")).unwrap();
        for place in [".own/relative", ".own/absolute"] {
            let folder = base.open(&path.join(place)).unwrap().unwrap();
            // Once opened, the handle stays where it led.
            fs::remove_file(path.join(place)).unwrap();
            fs::write(path.join("shared/here"), "").unwrap();
            assert_eq!(folder.look("here").unwrap(), Found::Other);
        }
    }

    #[test]
    fn what_stands_where_a_directory_is_needed_is_named() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap();
        let handle = opened(&path);
        let base = based(&path, &handle);
        fs::write(path.join(".agents"), "").unwrap();
        fs::create_dir(path.join(".claude")).unwrap();
        fs::write(path.join(".claude/skills"), "").unwrap();
        symlink("nothing", path.join(".own")).unwrap();
        for (place, named) in [
            (".agents/skills", ".agents` is no directory"),
            (".claude/skills", ".claude/skills` is no directory"),
            (".own/skills", ".own` is a link that leads to nothing"),
        ] {
            let error = base.create(&path.join(place)).unwrap_err();
            assert_eq!((error.kind, error.code.as_str()), (Kind::Refused, "destination_occupied"));
            assert!(error.message.contains(named), "{error}");
        }
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
