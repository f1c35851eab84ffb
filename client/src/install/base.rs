//! The directory beneath which agents' directories lie, and the way into them.

use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use skillpkg_schema::Blake3Digest;
use skillpkg_schema::diagnostic::escape;

use super::folder::Folder;
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
            Ok(directory) => {
                let folder = Folder::opened(path, directory, &self.staging);
                folder.map(Some).map_err(|error| self.failed(path, &error))
            }
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
            "move it away, or place the skill for an agent with another directory (`install --agent AGENT`)",
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
         agent (`install --agent AGENT`), or put a directory in the link's place",
    )
}

#[cfg(test)]
#[cfg(unix)]
pub(super) mod tests {
    use super::*;
    use crate::Kind;
    use crate::install::folder::Found;
    use std::fs;
    use std::os::unix::fs::symlink;

    pub(in crate::install) fn opened(root: &Path) -> Dir {
        Dir::open_ambient_dir(root, ambient_authority()).unwrap()
    }

    pub(in crate::install) fn based<'d>(path: &'d Path, handle: &'d Dir) -> Base<'d> {
        let staging = staging_name(Path::new("/home"));
        Base { path, confined: Some(handle), staging, edits: path.join("edits") }
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
}
