//! Files that are made beside their place and renamed into it, so that nobody sees half of one, and
//! directories that go with the process which made them.
//!
//! Whoever makes one holds it locked. What a kill leaves is locked by nobody, and goes with the next
//! one that is made in the same directory.

use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// How the names of such files begin; six letters or digits follow.
const PREFIX: &str = ".skillpkg-";
const LETTERS: usize = 6;
/// How old a directory without a lock is before it counts as left.
#[cfg(unix)]
const SETTLED: std::time::Duration = std::time::Duration::from_mins(1);

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Its owner alone, from the start: 0600.
    Owner,
    /// Whoever may read other files that its owner makes.
    All,
}

/// Makes a file in a directory, and removes those that were left there half made.
///
/// A kill leaves the file, which the next call for the same directory removes. Where the system has
/// no locks, what a kill leaves stays.
pub fn create(directory: &Path, readers: Readers) -> io::Result<NamedTempFile> {
    #[cfg(unix)]
    sweep(directory);
    // Elsewhere who reads it is what the directory says.
    #[cfg(not(unix))]
    let _ = readers;
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).rand_bytes(LETTERS);
    #[cfg(unix)]
    if readers == Readers::All {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    #[cfg(unix)]
    {
        /// How often another file is made where a sweep took the one that was just made.
        const ATTEMPTS: usize = 8;
        for _ in 0..ATTEMPTS {
            let file = builder.tempfile_in(directory)?;
            // Where there are no locks nobody gets one to remove it either.
            let _ = file.as_file().lock();
            if is_at(file.path(), file.as_file()) {
                return Ok(file);
            }
        }
    }
    builder.tempfile_in(directory)
}

/// A directory that is its owner's alone, removed with all that is in it when dropped.
#[derive(Debug)]
pub struct UnfinishedDirectory {
    directory: tempfile::TempDir,
    /// Locked as long as the directory is in use.
    #[cfg(unix)]
    _lock: std::fs::File,
}

impl UnfinishedDirectory {
    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Makes a directory in another, and removes those that were left there.
///
/// A kill leaves the directory, which a call for the same place removes a minute later or more.
/// Where the system has no locks, what a kill leaves stays.
pub fn create_directory(place: &Path) -> io::Result<UnfinishedDirectory> {
    #[cfg(unix)]
    sweep(place);
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).rand_bytes(LETTERS);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o700));
    }
    let directory = builder.tempdir_in(place)?;
    #[cfg(unix)]
    let lock = {
        let lock = std::fs::File::open(directory.path())?;
        // Where there are no locks nobody gets one to remove it either.
        let _ = lock.lock();
        lock
    };
    Ok(UnfinishedDirectory {
        directory,
        #[cfg(unix)]
        _lock: lock,
    })
}

/// Removes a directory of a place, if it is one of this user's that nobody uses. A new one counts as
/// used: between its creation and its lock it looks like one that was left.
#[cfg(unix)]
fn sweep_directory(path: &Path, found: &std::fs::Metadata) {
    use std::os::unix::fs::MetadataExt as _;
    let is_settled = |metadata: &std::fs::Metadata| {
        metadata.modified().is_ok_and(|when| when.elapsed().is_ok_and(|age| age > SETTLED))
    };
    if found.uid() != rustix::process::geteuid().as_raw() || !is_settled(found) {
        return;
    }
    let Ok(directory) = std::fs::File::open(path) else { return };
    if directory.try_lock().is_ok() && is_at(path, &directory) {
        let _ = std::fs::remove_dir_all(path);
    }
}

/// Whether a path is that of an open file.
#[cfg(unix)]
fn is_at(path: &Path, file: &std::fs::File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let both = path.symlink_metadata().and_then(|there| Ok((there, file.metadata()?)));
    both.is_ok_and(|(there, open)| (there.dev(), there.ino()) == (open.dev(), open.ino()))
}

/// Removes what was left half made in a directory. What cannot be removed stays.
#[cfg(unix)]
fn sweep(directory: &Path) {
    /// Most names of a directory that are looked at.
    const MOST: usize = 10_000;
    let entries = std::fs::read_dir(directory).into_iter().flatten().take(MOST).flatten();
    for entry in entries.filter(|entry| is_ours(&entry.file_name())) {
        let path = entry.path();
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_file() => {}
            Ok(metadata) if metadata.is_dir() => {
                sweep_directory(&path, &metadata);
                continue;
            }
            _ => continue,
        }
        let Ok(file) = crate::regular_file::open(&path) else { continue };
        if file.try_lock().is_ok() && is_at(&path, &file) {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// Whether a name is one of those that are made here.
#[cfg(unix)]
fn is_ours(name: &std::ffi::OsStr) -> bool {
    let letters = name.as_encoded_bytes().strip_prefix(PREFIX.as_bytes());
    letters.is_some_and(|letters| {
        letters.len() == LETTERS && letters.iter().all(u8::is_ascii_alphanumeric)
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn what_a_kill_left_goes_with_the_next_file_and_what_is_being_made_stays() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let others = [".skillpkg-abcdefg", ".skillpkg-abcde", ".skillpkg-a.cdef", "abcdef"];
        for name in others.iter().chain(&[".skillpkg-abcdef"]) {
            std::fs::write(at(name), "half").unwrap();
        }
        std::fs::create_dir(at(".skillpkg-direct")).unwrap();
        std::os::unix::fs::symlink(at("abcdef"), at(".skillpkg-linked")).unwrap();
        let making = create(directory.path(), Readers::Owner).unwrap();
        assert!(!at(".skillpkg-abcdef").exists());
        let left = create(directory.path(), Readers::All).unwrap();
        assert!(making.path().exists() && left.path().exists());
        assert_eq!(making.as_file().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        for name in others.iter().chain(&[".skillpkg-direct", ".skillpkg-linked"]) {
            assert!(at(name).symlink_metadata().is_ok(), "{name}");
        }
        // As by a kill: nobody removes it, and it is open no more.
        let (file, path) = left.keep().unwrap();
        drop(file);
        making.persist(at("made")).unwrap();
        let last = create(directory.path(), Readers::Owner).unwrap();
        assert!(!path.exists() && at("made").exists() && last.path().exists());
    }

    #[test]
    fn a_directory_goes_with_its_value_and_one_that_a_kill_left_with_the_next() {
        let place = tempfile::tempdir().unwrap();
        let left = |name: &str, age: u64| {
            let path = place.path().join(name);
            std::fs::create_dir_all(path.join("blobs")).unwrap();
            std::fs::write(path.join("blobs/a"), "x").unwrap();
            let time = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
            std::fs::File::open(&path).unwrap().set_modified(time).unwrap();
            path
        };
        let using = create_directory(place.path()).unwrap();
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
        std::fs::File::open(using.path()).unwrap().set_modified(long_ago).unwrap();
        let (old, new) = (left(".skillpkg-abcdef", 3600), left(".skillpkg-ghijkl", 0));
        let other = left("skillpkg-abcdef", 3600);
        let next = create_directory(place.path()).unwrap();
        assert!(!old.exists(), "what a kill left goes");
        assert!(new.exists() && other.exists() && using.path().exists());
        assert_eq!(next.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
        let path = next.path().to_owned();
        std::fs::write(path.join("a"), "x").unwrap();
        drop(next);
        assert!(!path.exists());
    }

    #[test]
    fn files_that_are_made_at_once_are_never_removed_by_each_other() {
        let directory = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let directory = directory.path();
                scope.spawn(move || {
                    for number in 0..50 {
                        let file = create(directory, Readers::Owner).unwrap();
                        file.persist(directory.join(format!("{thread}-{number}"))).unwrap();
                    }
                });
            }
        });
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 200);
    }
}
