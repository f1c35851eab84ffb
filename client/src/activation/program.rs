//! Where the programs that a skill names are on this machine.

use std::path::{Path, PathBuf};

use skillpkg_schema::Manifest;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::manifest::Mode;

/// A program that cannot be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// Nothing executable of this name in the directories of PATH.
    #[error("this needs {}, which is not on your PATH", escape(.0))]
    NotOnPath(String),
    /// An absolute path at which nothing executable is.
    #[error("this needs `{}`, and there is no program there", escape(.0))]
    NotOnMachine(String),
    /// A relative path that is not among the skill's files.
    #[error("this needs `{}`, which is not among the skill's files", escape(.0))]
    NotInSkill(String),
    /// A file of the skill that is not executable.
    #[error("this needs `{}`, a file of the skill that is not executable", escape(.0))]
    NotExecutable(String),
    /// An executable file of the skill that this system starts only through another program.
    #[error("this needs `{}`, a file of the skill that Windows cannot start by itself", escape(.0))]
    NotStartable(String),
}

impl ProgramError {
    /// The reason as a stable word in `snake_case`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotExecutable(_) => "program_not_executable",
            _ => "program_missing",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotOnPath(_) | Self::NotOnMachine(_) => "install it, then run this again",
            Self::NotInSkill(_) => "its author has to add it to `includes`",
            Self::NotExecutable(_) => "its author has to make it executable and publish again",
            Self::NotStartable(_) => {
                "Windows starts `.exe` and `.com` files: its author has to name what runs it, as \
                 in `python tool.py`"
            }
        }
    }
}

/// Finds the program `name` that a skill starts; answers with an absolute path.
///
/// A name without `/` is looked up in the directories `path`, a relative path in the snapshot whose
/// tree is `tree`, an absolute one on the machine.
pub fn find(
    name: &str,
    manifest: &Manifest,
    tree: &Path,
    path: &[PathBuf],
) -> Result<PathBuf, ProgramError> {
    // What is absolute on one system is no file of the skill on another.
    if Path::new(name).is_absolute() || name.starts_with('/') {
        return on_machine(name, path).ok_or_else(|| ProgramError::NotOnMachine(name.to_owned()));
    }
    if !name.contains('/') {
        return on_path(name, path).ok_or_else(|| ProgramError::NotOnPath(name.to_owned()));
    }
    // The manifest alone says what is in the skill: a path that climbs, or that a link would
    // lead elsewhere, is not among its files.
    let relative = name.strip_prefix("./").unwrap_or(name);
    match manifest.file(relative) {
        Some(file) if file.mode == Mode::Executable && !may_start(Path::new(relative)) => {
            Err(ProgramError::NotStartable(name.to_owned()))
        }
        Some(file) if file.mode == Mode::Executable => Ok(tree.join(file.path.as_str())),
        Some(_) => Err(ProgramError::NotExecutable(name.to_owned())),
        None => Err(ProgramError::NotInSkill(name.to_owned())),
    }
}

/// The program that `name` means outside of any skill: an absolute path, or a name in one of the
/// directories `path`.
pub fn on_machine(name: &str, path: &[PathBuf]) -> Option<PathBuf> {
    if Path::new(name).is_absolute() {
        return executable(Path::new(name));
    }
    on_path(name, path)
}

/// The file at an absolute path, if it is a regular one that this process may execute.
pub fn executable(file: &Path) -> Option<PathBuf> {
    (file.is_absolute() && is_program(file)).then(|| file.to_path_buf())
}

/// The first executable file called `name` in `directories`.
///
/// A directory that is not absolute is passed over: it would mean another place for each working
/// directory, a skill's own among them. On Windows so would a name with a drive in it.
pub fn on_path(name: &str, directories: &[PathBuf]) -> Option<PathBuf> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\\', '\0']) {
        return None;
    }
    if cfg!(windows) && name.contains(':') {
        return None;
    }
    let spellings = spellings(name);
    directories
        .iter()
        .filter(|directory| directory.is_absolute())
        .flat_map(|directory| spellings.iter().map(|spelling| directory.join(spelling)))
        .find(|file| is_program(file))
}

#[cfg(not(windows))]
fn spellings(name: &str) -> Vec<String> {
    vec![name.to_owned()]
}

#[cfg(windows)]
fn spellings(name: &str) -> Vec<String> {
    if may_start(Path::new(name)) {
        vec![name.to_owned()]
    } else {
        vec![format!("{name}.exe"), format!("{name}.com")]
    }
}

/// Whether there is a regular file that this process may execute.
fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file()) && may_execute(file)
}

#[cfg(unix)]
fn may_execute(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(windows)]
fn may_execute(file: &Path) -> bool {
    may_start(file)
}

/// Whether the system starts files of this name.
#[cfg(not(windows))]
fn may_start(_: &Path) -> bool {
    true
}

/// Whether the system starts files of this name. A `.cmd` or `.bat` file is started through a shell,
/// which reads arguments as it likes, and so is not started at all.
#[cfg(windows)]
fn may_start(file: &Path) -> bool {
    let extension = file.extension().unwrap_or_default();
    extension.eq_ignore_ascii_case("exe") || extension.eq_ignore_ascii_case("com")
}
