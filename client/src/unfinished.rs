//! Files that are made beside their place and renamed into it, so that nobody sees half of one.
//!
//! Whoever makes one holds it locked. What a kill leaves is locked by nobody, and goes with the next
//! file that is made in the same directory.

use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// How the names of such files begin; six letters or digits follow.
const PREFIX: &str = ".skillpkg-";
const LETTERS: usize = 6;

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

/// Whether a path is that of an open file.
#[cfg(unix)]
fn is_at(path: &Path, file: &std::fs::File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let both = path.symlink_metadata().and_then(|there| Ok((there, file.metadata()?)));
    both.is_ok_and(|(there, open)| (there.dev(), there.ino()) == (open.dev(), open.ino()))
}

/// Removes the files of a directory that were left half made. What cannot be removed stays.
#[cfg(unix)]
fn sweep(directory: &Path) {
    /// Most names of a directory that are looked at.
    const MOST: usize = 10_000;
    let entries = std::fs::read_dir(directory).into_iter().flatten().take(MOST).flatten();
    for entry in entries.filter(|entry| is_ours(&entry.file_name())) {
        let path = entry.path();
        if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            continue;
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
