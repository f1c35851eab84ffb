//! A project's directory, opened once: its two files are read and written beneath this handle.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use skillpkg_schema::Diagnostic;

use super::{
    LOCK_FILE, LockFile, MAX_PROJECT_FILE_BYTES, PROJECT_FILE, ProjectArchive, ProjectFile,
};
use crate::{Error, Kind, real_path, regular_file};

/// A project's directory.
#[derive(Debug)]
pub struct ProjectDirectory {
    root: PathBuf,
    handle: Dir,
    /// Whether its user alone has put there what is in it.
    is_own: bool,
}

/// Where one of the two files is.
struct Located {
    directory: Dir,
    name: OsString,
    /// Where a link led, if that is outside the project.
    outside: Option<PathBuf>,
}

/// Both files of a project, as text and read.
#[derive(Debug, Clone)]
pub struct ProjectFiles {
    /// The text of `skillpkg.toml`; [`None`] where there is none.
    pub project_text: Option<String>,
    /// The text of `skillpkg.lock`; [`None`] where there is none.
    pub lock_text: Option<String>,
    /// What the project asks for.
    pub project: ProjectFile,
    /// What it got.
    pub lock: LockFile,
    /// What is worth telling about `skillpkg.toml`.
    pub warnings: Vec<Diagnostic>,
}

impl ProjectDirectory {
    /// Opens the directory at `root`, which must exist.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let failed = |error| io_error(root, &error);
        let root = real_path::of(root).map_err(failed)?;
        let handle = Dir::open_ambient_dir(&root, ambient_authority()).map_err(failed)?;
        Ok(Self { root, handle, is_own: false })
    }

    /// As [`ProjectDirectory::open`], of a directory that nobody but its user fills: a link of theirs
    /// is written through wherever it leads.
    pub(crate) fn open_own(root: &Path) -> Result<Self, Error> {
        Ok(Self { is_own: true, ..Self::open(root)? })
    }

    /// Where it lies, with every link resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// An archive that its files name by a path.
    pub(crate) fn archive(&self, file: &str) -> ProjectArchive {
        ProjectArchive::new(&self.root, file, self.is_own)
    }

    /// The handle.
    pub fn handle(&self) -> &Dir {
        &self.handle
    }

    /// Reads both files.
    pub fn read(&self) -> Result<ProjectFiles, Error> {
        let project_text = self.read_text(PROJECT_FILE)?;
        let lock_text = self.read_text(LOCK_FILE)?;
        let (project, warnings) = match &project_text {
            Some(text) => ProjectFile::parse(text)?,
            None => (ProjectFile::default(), Vec::new()),
        };
        let lock = match &lock_text {
            Some(text) => LockFile::parse(text)?,
            None => LockFile::default(),
        };
        Ok(ProjectFiles { project_text, lock_text, project, lock, warnings })
    }

    /// The text of one of the two files; [`None`] where it is absent.
    pub fn read_text(&self, name: &str) -> Result<Option<String>, Error> {
        let failed = |error: &io::Error| io_error(&self.root.join(name), error);
        let Located { directory, name, .. } = self.locate(name).map_err(|error| failed(&error))?;
        let file = match regular_file::open_in(&directory, Path::new(&name)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&error)),
        };
        let read = regular_file::read(file, MAX_PROJECT_FILE_BYTES).map_err(|e| failed(&e))?;
        let Some(text) = read else {
            let message = format!("it is over {MAX_PROJECT_FILE_BYTES} bytes");
            return Err(invalid(&name, message));
        };
        match String::from_utf8(text) {
            Ok(text) => Ok(Some(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned))),
            Err(error) => Err(not_utf8(&name, error.as_bytes(), error.utf8_error().valid_up_to())),
        }
    }

    /// Writes one of the two files beside its place; [`ProjectDirectory::publish`] brings it there.
    /// With `durable`, its bytes survive a crash of the machine before this answers.
    pub fn stage(&self, name: &str, text: &str, durable: bool) -> Result<(), Error> {
        let (directory, own_name) = self.locate_to_write(name)?;
        let write = || -> io::Result<()> {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true);
            let staged = staged_name(&own_name);
            // What an earlier run left is replaced, and a link there is not followed.
            remove_if_there(&directory, &staged)?;
            options.create_new(true);
            let mut file = directory.open_with(&staged, &options)?;
            file.write_all(text.as_bytes())?;
            if durable { file.sync_all() } else { Ok(()) }
        };
        write().map_err(|error| io_error(&self.root.join(name), &error))
    }

    /// Renames a staged file to its place: whoever reads sees the old text or the new.
    pub fn publish(&self, name: &str) -> Result<(), Error> {
        let (directory, own_name) = self.locate_to_write(name)?;
        directory
            .rename(staged_name(&own_name), &directory, &own_name)
            .map_err(|error| io_error(&self.root.join(name), &error))
    }

    /// Removes one of the two files, where it is there.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        let (directory, own_name) = self.locate_to_write(name)?;
        remove_if_there(&directory, &own_name)
            .map_err(|error| io_error(&self.root.join(name), &error))
    }

    /// Removes a staged file, where there is one.
    pub fn unstage(&self, name: &str) {
        if let Ok((directory, name)) = self.locate_to_write(name) {
            let _ = remove_if_there(&directory, &staged_name(&name));
        }
    }

    /// The directory and the name of the file itself. One that its user made a link is written
    /// where the link points, so that the link stays.
    fn locate(&self, name: &str) -> io::Result<Located> {
        let here = || {
            Ok(Located { directory: self.handle.try_clone()?, name: name.into(), outside: None })
        };
        match self.handle.symlink_metadata(name) {
            Ok(metadata) if metadata.is_symlink() => {}
            _ => return here(),
        }
        let target = real_path::of(&self.root.join(name))?;
        match (target.parent(), target.file_name()) {
            (Some(parent), Some(file)) => Ok(Located {
                directory: Dir::open_ambient_dir(parent, ambient_authority())?,
                name: file.to_owned(),
                outside: (!target.starts_with(&self.root)).then(|| target.clone()),
            }),
            _ => here(),
        }
    }

    /// As [`ProjectDirectory::locate`]; refuses a link that leads out of a project, which whoever
    /// brought the project may have put there.
    fn locate_to_write(&self, name: &str) -> Result<(Dir, OsString), Error> {
        let path = self.root.join(name);
        let located = self.locate(name).map_err(|error| io_error(&path, &error))?;
        match located.outside {
            Some(target) if !self.is_own => Err(leads_outside(&path, &target)),
            _ => Ok((located.directory, located.name)),
        }
    }
}

fn staged_name(name: &OsStr) -> OsString {
    let mut staged = OsString::from(".");
    staged.push(name);
    staged.push(".new");
    staged
}

fn remove_if_there(directory: &Dir, name: &OsStr) -> io::Result<()> {
    match directory.remove_file(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn invalid(name: &OsStr, message: String) -> Error {
    let code = if name == LOCK_FILE { "lock_invalid" } else { "project_invalid" };
    Error::new(Kind::Failed, code, message).in_file(name.to_string_lossy())
}

/// A file that is text up to `valid_up_to`.
fn not_utf8(name: &OsStr, bytes: &[u8], valid_up_to: usize) -> Error {
    let before = bytes.get(..valid_up_to).unwrap_or_default();
    let line = before.split(|byte| *byte == b'\n').count();
    let mut error = invalid(name, "it is not UTF-8 text".to_owned());
    error.line = u32::try_from(line).ok();
    error.with_hint(if matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
        "it is UTF-16, as some editors write: save it as UTF-8".to_owned()
    } else {
        let name = name.to_string_lossy();
        format!("save it as UTF-8, or restore it (`git checkout -- {name}`)")
    })
}

/// The refusal of a link in a project that leads out of it.
fn leads_outside(path: &Path, target: &Path) -> Error {
    let shown = |path: &Path| skillpkg_schema::diagnostic::escape(&path.to_string_lossy());
    let message = format!(
        "`{}` is a link that leads out of the project, to `{}`: nothing is written there",
        shown(path),
        shown(target)
    );
    let mut error = Error::new(Kind::Refused, "destination_outside", message).with_hint(
        "put the file itself in the link's place; a link to a file within the project is followed",
    );
    error.path = Some(path.to_string_lossy().into_owned());
    error
}

/// A failure to read or write, which names the path.
pub fn io_error(path: &Path, error: &io::Error) -> Error {
    let shown = skillpkg_schema::diagnostic::escape(&path.to_string_lossy());
    let code = match error.kind() {
        io::ErrorKind::PermissionDenied => "not_permitted",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "disk_full",
        _ => "io_failed",
    };
    Error { hint: io_hint(error), ..Error::new(Kind::Failed, code, format!("`{shown}`: {error}")) }
}

/// What to do about a path at which the system refuses something, where it says enough to tell.
pub fn io_hint(error: &io::Error) -> Option<String> {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => {
            "nothing is there: check the path, which starts at the working directory unless it is \
             absolute"
        }
        io::ErrorKind::PermissionDenied => {
            "give the user who runs skillpkg the right to it, or choose another place"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room, then run it again; `skillpkg gc` removes what no project uses"
        }
        io::ErrorKind::NotADirectory => "a file stands on that path in a directory's place",
        io::ErrorKind::IsADirectory => "a directory stands there in a file's place: move it away",
        io::ErrorKind::InvalidInput => return irregular_hint(error),
        io::ErrorKind::ReadOnlyFilesystem => "the file system there is read-only",
        _ => return None,
    };
    Some(hint.to_owned())
}

/// What to do about a pipe, a device or a directory where a file is read.
fn irregular_hint(error: &io::Error) -> Option<String> {
    let is_irregular = error.to_string() == regular_file::IRREGULAR;
    is_irregular.then(|| {
        "something else stands there in a file's place: move it away, and restore the file where \
         there was one"
            .to_owned()
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_that_is_no_utf8_is_told_with_its_line_and_what_to_do() {
        let root = tempfile::tempdir().unwrap();
        let project = ProjectDirectory::open(root.path()).unwrap();
        for (bytes, line, hint) in [
            (b"version = 1\n# \xe9\n".as_slice(), 2, "git checkout"),
            (b"\xff\xfev\0e\0", 1, "UTF-16"),
        ] {
            std::fs::write(root.path().join(LOCK_FILE), bytes).unwrap();
            let error = project.read_text(LOCK_FILE).unwrap_err();
            assert_eq!((error.code.as_str(), error.line), ("lock_invalid", Some(line)));
            assert!(error.hint.is_some_and(|told| told.contains(hint)));
        }
    }

    #[test]
    fn a_link_that_stays_in_the_project_is_written_through_and_one_that_leaves_is_not() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("project");
        std::fs::create_dir_all(root.join("config")).unwrap();
        for file in ["project/config/inner", "outer"] {
            std::fs::write(home.path().join(file), "before").unwrap();
        }
        symlink("config/inner", root.join(PROJECT_FILE)).unwrap();
        symlink("../outer", root.join(LOCK_FILE)).unwrap();
        let project = ProjectDirectory::open(&root).unwrap();
        project.stage(PROJECT_FILE, "after", false).unwrap();
        project.publish(PROJECT_FILE).unwrap();
        assert_eq!(std::fs::read_to_string(root.join("config/inner")).unwrap(), "after");
        assert!(root.join(PROJECT_FILE).is_symlink());

        assert_eq!(project.read_text(LOCK_FILE).unwrap().as_deref(), Some("before"));
        for answer in [
            project.stage(LOCK_FILE, "after", false),
            project.publish(LOCK_FILE),
            project.remove(LOCK_FILE),
        ] {
            let error = answer.unwrap_err();
            assert_eq!((error.kind, error.code.as_str()), (Kind::Refused, "destination_outside"));
            assert!(error.message.contains("/outer`"), "{error}");
        }
        assert_eq!(std::fs::read_to_string(home.path().join("outer")).unwrap(), "before");
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 2);

        let own = ProjectDirectory::open_own(&root).unwrap();
        own.stage(LOCK_FILE, "after", false).unwrap();
        own.publish(LOCK_FILE).unwrap();
        assert_eq!(std::fs::read_to_string(home.path().join("outer")).unwrap(), "after");
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let pipe = root.path().join(LOCK_FILE);
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let error = ProjectDirectory::open(root.path()).unwrap().read().unwrap_err();
        assert!(error.message.contains("not a regular file"), "{error}");
    }
}
