//! What is damaged is moved out of the way, and never what has just replaced it.
//!
//! A reader that finds bad bytes may be slower than a writer that brings good ones: it must not
//! take those away. So a file is set aside only while it is still the one that was read, and
//! whoever writes over a file holds the same lock. A file is first placed only where nothing
//! stands, for which no lock is needed.

use std::fs::File;
use std::io;
use std::time::Duration;

use cap_fs_ext::MetadataExt as _;
use cap_std::fs::Dir;

use super::directory::{
    WRITABLE_DIRECTORY, move_to_free, open_directory, open_regular, set_directory_mode,
};
use super::layout::Layout;
use super::lock::{Lock, LockFile, is_unsupported};
use super::temporary::with_free_name;

/// Longest wait for another process to move one file.
const WAIT: Duration = Duration::from_secs(10);

/// Moves `name` from `tmp/` into place over what stands there.
pub(super) fn place_over(layout: &Layout, from: &str, target: &Dir, to: &str) -> io::Result<()> {
    let _lock = lock(layout)?;
    layout.temporary().rename(from, target, to)
}

/// Moves the file at `name` into `tmp/`, if it is still the one that `bad` has open; leaves it in a
/// store that is only looked at.
pub(super) fn set_aside(
    layout: &Layout,
    directory: &Dir,
    name: &str,
    bad: &File,
) -> io::Result<()> {
    if layout.is_looking() {
        return Ok(());
    }
    let _lock = lock(layout)?;
    let (stands, _) = match open_regular(directory, name) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if identity(stands)? != identity(bad.try_clone()?)? {
        return Ok(());
    }
    with_free_name("damaged", |free| move_to_free(directory, name, layout.temporary(), free))?;
    Ok(())
}

/// What the file system knows a file by.
fn identity(file: File) -> io::Result<(u64, u64)> {
    let metadata = cap_std::fs::File::from_std(file).metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// What stands in the store where one of its own things should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// A regular file.
    File,
    /// A directory.
    Directory,
}

/// Moves what stands at `name` into `tmp/` if it is nothing that the store ever puts there, such as
/// a link or a pipe: the thing itself, neither followed nor opened. Answers whether it was such. In a
/// store that is only looked at it stays.
pub(super) fn set_irregular_aside(
    layout: &Layout,
    directory: &Dir,
    name: &str,
    expected: Expected,
) -> io::Result<bool> {
    let is_irregular = || match directory.symlink_metadata(name) {
        Ok(found) if expected == Expected::File => Ok(!found.is_file()),
        Ok(found) => Ok(!found.is_dir()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    };
    let is_one = is_irregular()?;
    if !is_one || layout.is_looking() {
        return Ok(is_one);
    }
    let _lock = lock(layout)?;
    // Another process may have set it aside and brought what belongs there.
    if is_irregular()? {
        if let Ok(irregular) = open_directory(directory, name) {
            // A directory that goes to another parent is written to, since its `..` changes.
            set_directory_mode(&irregular, WRITABLE_DIRECTORY)?;
        }
        with_free_name("damaged", |free| move_to_free(directory, name, layout.temporary(), free))?;
    }
    Ok(true)
}

/// The lock; [`None`] on a file system without locks, where the last to come is right.
fn lock(layout: &Layout) -> io::Result<Option<Lock>> {
    match LockFile::Step.open(layout)?.exclusive(WAIT) {
        Ok(None) => {
            let message = format!("`{}` is held by another process", LockFile::Step.name());
            Err(io::Error::new(io::ErrorKind::TimedOut, message))
        }
        Err(error) if is_unsupported(&error) => Ok(None),
        answer => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(directory: &std::path::Path) -> Vec<String> {
        let mut found: Vec<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
            .collect();
        found.sort();
        found
    }

    #[test]
    fn what_replaced_the_damaged_file_in_the_meantime_stays() {
        let home = tempfile::tempdir().unwrap();
        let layout = Layout::open(home.path()).unwrap();
        let manifests = home.path().join("manifests");
        std::fs::write(manifests.join("name"), "bad").unwrap();
        let (bad, _) = open_regular(layout.manifests(), "name").unwrap();
        // The window between reading and moving, held open.
        std::fs::write(home.path().join("tmp/new"), "good").unwrap();
        place_over(&layout, "new", layout.manifests(), "name").unwrap();
        set_aside(&layout, layout.manifests(), "name", &bad).unwrap();
        assert_eq!(contents(&manifests), ["good"]);
        assert!(contents(&home.path().join("tmp")).is_empty());
    }

    #[test]
    fn what_is_still_there_is_moved_once() {
        let home = tempfile::tempdir().unwrap();
        let layout = Layout::open(home.path()).unwrap();
        let manifests = home.path().join("manifests");
        std::fs::write(manifests.join("name"), "bad").unwrap();
        let (bad, _) = open_regular(layout.manifests(), "name").unwrap();
        for _ in 0..2 {
            set_aside(&layout, layout.manifests(), "name", &bad).unwrap();
            assert!(contents(&manifests).is_empty());
            assert_eq!(contents(&home.path().join("tmp")), ["bad"]);
        }
    }

    #[test]
    fn who_moves_a_file_waits_for_another_who_does() {
        let home = tempfile::tempdir().unwrap();
        let layout = Layout::open(home.path()).unwrap();
        let held = lock(&layout).unwrap();
        assert!(held.is_some());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| lock(&layout).unwrap().is_some());
            std::thread::sleep(Duration::from_millis(20));
            assert!(!waiting.is_finished());
            drop(held);
            assert!(waiting.join().unwrap());
        });
    }
}
