//! Locks between processes: each a file at the store's root, held by the operating system, so that
//! the end of a process lets go of all it held.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::time::{Duration, Instant};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::OpenOptions;

use super::layout::Layout;

/// Longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_millis(10);
/// Most bytes of a holder's name that are read back.
const LONGEST_NAME: u64 = 32;

/// Which lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockFile {
    /// Shared by every lease; exclusive while things are collected.
    Store,
    /// Exclusive while a collection waits for the leases or runs: new leases wait a little.
    Gate,
    /// Exclusive for one short step: replacing a file, setting one aside, beginning a copy.
    Step,
}

impl LockFile {
    /// Its name at the store's root.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Store => "lock",
            Self::Gate => "lock.gate",
            Self::Step => "lock.step",
        }
    }

    /// Opens it, made where it is absent. Nothing is locked yet.
    pub(super) fn open(self, layout: &Layout) -> io::Result<Unlocked> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).follow(FollowSymlinks::No);
        let file = layout.root().open_with(self.name(), &options)?.into_std();
        if file.metadata()?.is_file() {
            Ok(Unlocked { file })
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
        }
    }
}

/// An open lock file that is not locked.
#[derive(Debug)]
pub(super) struct Unlocked {
    file: File,
}

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl From<File> for Unlocked {
    fn from(file: File) -> Self {
        Self { file }
    }
}

impl Unlocked {
    /// Locks it alone; [`None`] when others hold it for longer than `wait`.
    pub(super) fn exclusive(self, wait: Duration) -> io::Result<Option<Lock>> {
        self.within(wait, File::try_lock)
    }

    /// Locks it beside others who share it; [`None`] when one holds it alone for longer than
    /// `wait`.
    pub(super) fn shared(self, wait: Duration) -> io::Result<Option<Lock>> {
        self.within(wait, File::try_lock_shared)
    }

    fn within(
        self,
        wait: Duration,
        attempt: fn(&File) -> Result<(), TryLockError>,
    ) -> io::Result<Option<Lock>> {
        let start = Instant::now();
        let mut pause = Duration::from_micros(200);
        loop {
            match attempt(&self.file) {
                Ok(()) => return Ok(Some(Lock { file: self.file })),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
            if start.elapsed() >= wait {
                return Ok(None);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

impl Lock {
    /// Writes who holds it, for those who wait too long.
    pub(super) fn sign(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        writeln!(self.file, "{}", std::process::id())
    }
}

/// Who holds a lock, as it wrote itself; `unknown` where it did not, and on Windows, where nobody
/// else reads a locked file.
pub(super) fn holder(layout: &Layout, lock: LockFile) -> String {
    let read = || -> io::Result<String> {
        let mut name = String::new();
        let file = lock.open(layout)?.file;
        file.take(LONGEST_NAME).read_to_string(&mut name)?;
        Ok(name.trim().to_owned())
    };
    match read() {
        Ok(name) if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => "unknown".to_owned(),
    }
}

/// Whether the file system knows no locks, as some network file systems do not.
pub(super) fn is_unsupported(error: &io::Error) -> bool {
    #[cfg(unix)]
    let no_locks = error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error());
    #[cfg(not(unix))]
    let no_locks = false;
    no_locks || error.kind() == io::ErrorKind::Unsupported
}
