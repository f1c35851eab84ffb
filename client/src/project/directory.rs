//! A project's directory, opened once: its two files are read and written beneath this handle.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use skillpkg_schema::Diagnostic;

use super::{LOCK_FILE, LockFile, MAX_PROJECT_FILE_BYTES, PROJECT_FILE, ProjectFile};
use crate::{Error, Kind};

/// A project's directory.
#[derive(Debug)]
pub struct ProjectDirectory {
    root: PathBuf,
    handle: Dir,
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
        let root = root.canonicalize().map_err(failed)?;
        let handle = Dir::open_ambient_dir(&root, ambient_authority()).map_err(failed)?;
        Ok(Self { root, handle })
    }

    /// Where it lies, with every link resolved.
    pub fn root(&self) -> &Path {
        &self.root
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
        let (directory, name) = self.locate(name).map_err(|error| failed(&error))?;
        let file = match directory.open(&name) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&error)),
        };
        let mut text = Vec::new();
        file.take(MAX_PROJECT_FILE_BYTES + 1).read_to_end(&mut text).map_err(|e| failed(&e))?;
        if text.len() as u64 > MAX_PROJECT_FILE_BYTES {
            let message = format!("it is over {MAX_PROJECT_FILE_BYTES} bytes");
            return Err(invalid(&name, message));
        }
        match String::from_utf8(text) {
            Ok(text) => Ok(Some(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned))),
            Err(_) => Err(invalid(&name, "it is not UTF-8 text".to_owned())),
        }
    }

    /// Writes one of the two files beside its place; [`ProjectDirectory::publish`] brings it there.
    /// With `durable`, its bytes survive a crash of the machine before this answers.
    pub fn stage(&self, name: &str, text: &str, durable: bool) -> Result<(), Error> {
        let write = || -> io::Result<()> {
            let (directory, name) = self.locate(name)?;
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true);
            let staged = staged_name(&name);
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
        let rename = || -> io::Result<()> {
            let (directory, name) = self.locate(name)?;
            directory.rename(staged_name(&name), &directory, &name)
        };
        rename().map_err(|error| io_error(&self.root.join(name), &error))
    }

    /// Removes one of the two files, where it is there.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        self.locate(name)
            .and_then(|(directory, name)| remove_if_there(&directory, &name))
            .map_err(|error| io_error(&self.root.join(name), &error))
    }

    /// Removes a staged file, where there is one.
    pub fn unstage(&self, name: &str) {
        if let Ok((directory, name)) = self.locate(name) {
            let _ = remove_if_there(&directory, &staged_name(&name));
        }
    }

    /// The directory and the name of the file itself. One that its user made a link is written
    /// where the link points, so that the link stays.
    fn locate(&self, name: &str) -> io::Result<(Dir, OsString)> {
        let here = || Ok((self.handle.try_clone()?, name.into()));
        match self.handle.symlink_metadata(name) {
            Ok(metadata) if metadata.is_symlink() => {}
            _ => return here(),
        }
        let target = self.root.join(name).canonicalize()?;
        match (target.parent(), target.file_name()) {
            (Some(parent), Some(file)) => {
                Ok((Dir::open_ambient_dir(parent, ambient_authority())?, file.to_owned()))
            }
            _ => here(),
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

/// A failure to read or write, which names the path.
pub(crate) fn io_error(path: &Path, error: &io::Error) -> Error {
    let shown = skillpkg_schema::diagnostic::escape(&path.to_string_lossy());
    let code = match error.kind() {
        io::ErrorKind::PermissionDenied => "not_permitted",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "disk_full",
        _ => "io_failed",
    };
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => Some(
            "give the user who runs skillpkg the right to write there, or choose another place",
        ),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("make room, then run it again; `skillpkg gc` removes what no project uses")
        }
        io::ErrorKind::ReadOnlyFilesystem => Some("the file system there is read-only"),
        _ => None,
    };
    let failed = Error::new(Kind::Failed, code, format!("`{shown}`: {error}"));
    match hint {
        Some(hint) => failed.with_hint(hint),
        None => failed,
    }
}
