//! The lock of one project: one process at a time changes what is placed in it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::State;
use super::error::StateError;
use crate::Error;

/// How long a command waits for another by default: longer than any install that makes headway,
/// shorter than a person's patience.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// Most bytes of a holder's number that are read.
const MAX_PID_BYTES: u64 = 32;

/// A project's lock, held until it is dropped or its process ends however it ends.
#[derive(Debug)]
pub struct ProjectLock {
    _file: File,
}

impl State {
    /// Locks the project at `root`, and waits up to `patience` while another process has it.
    ///
    /// Called again by the same process while it holds the lock, it waits like any other.
    pub fn lock_project(&self, root: &Path, patience: Duration) -> Result<ProjectLock, Error> {
        lock_file(self.record(root, "lock").path(), patience).map_err(Error::from)
    }

    /// Locks the project at `root` if nobody has it locked.
    pub fn try_lock_project(&self, root: &Path) -> Result<Option<ProjectLock>, Error> {
        match lock_file(self.record(root, "lock").path(), Duration::ZERO) {
            Ok(lock) => Ok(Some(lock)),
            Err(StateError::Locked { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether the file system knows no locks, as some network file systems do not.
fn is_unsupported(error: &io::Error) -> bool {
    #[cfg(unix)]
    let no_locks = error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error());
    #[cfg(not(unix))]
    let no_locks = false;
    no_locks || error.kind() == io::ErrorKind::Unsupported
}

/// Locks the file at `path`, made where it is absent.
///
/// On a file system without locks it is held in name alone: there nobody else is kept out.
pub(crate) fn lock_file(path: &Path, patience: Duration) -> Result<ProjectLock, StateError> {
    let failed = |source| StateError::Io { path: path.to_owned(), source };
    let mut file = open(path).map_err(failed)?;
    let start = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) if is_unsupported(&error) => break,
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) if start.elapsed() >= patience => {
                return Err(held(path, &mut file, patience));
            }
            Err(TryLockError::WouldBlock) => {}
        }
        std::thread::sleep(pause.min(patience.saturating_sub(start.elapsed())));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    // Only those who wait read it: that it could not be written is no reason to stop.
    // As wide as the longest, so that nothing of the one before is left: to cut a file short costs
    // more than all else that a lock does.
    let _ = file.rewind().and_then(|()| writeln!(file, "{:<10}", std::process::id()));
    Ok(ProjectLock { _file: file })
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            options.open(path)
        }
        opened => opened,
    }
}

fn held(path: &Path, file: &mut File, patience: Duration) -> StateError {
    let mut pid = String::new();
    let read = file.rewind().and_then(|()| file.take(MAX_PID_BYTES).read_to_string(&mut pid));
    let pid = pid.trim();
    let is_number = read.is_ok() && !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit());
    let path: PathBuf = path.to_owned();
    let pid = if is_number { pid.to_owned() } else { "unknown".to_owned() };
    StateError::Locked { path, pid, waited: patience.as_secs() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_too_long_is_told_the_process() {
        let home = tempfile::tempdir().unwrap();
        let state = State::new(home.path());
        let held = state.lock_project(home.path(), Duration::ZERO).unwrap();
        let error = state.lock_project(home.path(), Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.code, "locked_by");
        assert!(error.message.contains(&std::process::id().to_string()));
        assert!(state.try_lock_project(home.path()).unwrap().is_none());
        drop(held);
        state.lock_project(home.path(), Duration::ZERO).unwrap();
    }
}
