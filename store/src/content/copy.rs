//! Copies of a snapshot outside the store, for their owner to edit.

use std::io;
use std::path::Path;
use std::time::Duration;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use skillpkg_schema::Manifest;

use super::directory::{open_directory, place_new, remove_all};
use super::error::{AtPath as _, StoreError};
use super::layout::Layout;
use super::lock::{Lock, LockFile, is_unsupported};
use super::temporary::TemporaryTree;
use super::tree::{Access, fill, write_file};

/// What stands before the process's number in the name of a copy in the making, beside its target.
const KIND: &str = ".skillpkg-copy";
/// Longest wait for another process to begin a copy.
const WAIT: Duration = Duration::from_secs(10);

/// Makes a copy of a snapshot at `target`. See [`super::Store::copy_tree`].
pub(super) fn copy_tree(
    layout: &Layout,
    manifest: &Manifest,
    target: &Path,
) -> Result<(), StoreError> {
    let (Some(parent_path), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(StoreError::Exists(target.to_owned()));
    };
    let Some(name) = name.to_str() else {
        let error = io::Error::new(io::ErrorKind::InvalidFilename, "its name is not UTF-8");
        return Err(StoreError::io(target, error));
    };
    let parent_path = if parent_path.as_os_str().is_empty() { Path::new(".") } else { parent_path };
    // Held from here on: what a link on the way leads to later does not matter.
    let parent =
        Dir::open_ambient_dir(parent_path, ambient_authority()).at(|| parent_path.to_owned())?;
    copy_into(layout, manifest, &parent, parent_path, name)
}

/// Makes a copy of a snapshot called `name` in `parent`. See [`super::Store::copy_tree_into`].
pub(super) fn copy_into(
    layout: &Layout,
    manifest: &Manifest,
    parent: &Dir,
    parent_path: &Path,
    name: &str,
) -> Result<(), StoreError> {
    let target = parent_path.join(name);
    if parent.symlink_metadata(name).is_ok() {
        return Err(StoreError::Exists(target));
    }
    let (tree, directory, _lock) = begin(layout, parent, parent_path)?;
    let place = parent_path.join(tree.name());
    fill(&directory, &place, manifest, Access::Writable, &mut |entry, file| {
        write_file(layout, manifest, entry, file, &place)
    })?;
    drop(directory);
    if place_new(parent, tree.name(), parent, name).at(|| target.clone())? {
        tree.placed();
        Ok(())
    } else {
        Err(StoreError::Exists(target))
    }
}

/// Creates a directory beside the target and locks it while the copy is made; removes what copies
/// left there whose processes ended.
///
/// An agent that lists the directory would otherwise meet half a skill there for good.
fn begin<'parent>(
    layout: &Layout,
    parent: &'parent Dir,
    path: &Path,
) -> Result<(TemporaryTree<'parent>, Dir, Option<Lock>), StoreError> {
    let lock_path = || layout.path().join(LockFile::Step.name());
    // Between its creation and its lock a directory looks like one that was left.
    let step = match LockFile::Step.open(layout).at(lock_path)?.exclusive(WAIT) {
        Ok(step) => step,
        Err(error) if is_unsupported(&error) => None,
        Err(error) => return Err(StoreError::io(lock_path(), error)),
    };
    if step.is_some() {
        // What cannot be removed is not in the way of this copy.
        let _ = remove_left(parent);
    }
    let (tree, directory) = TemporaryTree::create(parent, KIND).at(|| path.join(KIND))?;
    let lock = match lock_directory(&directory) {
        Ok(lock) => lock,
        Err(error) if is_unsupported(&error) => None,
        Err(error) => return Err(StoreError::io(path.join(tree.name()), error)),
    };
    Ok((tree, directory, lock))
}

fn remove_left(parent: &Dir) -> io::Result<()> {
    for entry in parent.entries()? {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else { continue };
        let is_ours = name.strip_prefix(KIND).is_some_and(|rest| rest.starts_with('-'));
        if is_ours && let Ok(left) = open_directory(parent, name) {
            let lock = lock_directory(&left)?;
            if lock.is_some() {
                remove_all(parent, name)?;
            }
        }
    }
    Ok(())
}

/// Locks a directory; [`None`] while another process has it locked.
#[cfg(unix)]
pub(super) fn lock_directory(directory: &Dir) -> io::Result<Option<Lock>> {
    let file = directory.open(".")?.into_std();
    super::lock::Unlocked::from(file).exclusive(Duration::ZERO)
}

/// Directories cannot be locked here.
#[cfg(not(unix))]
pub(super) fn lock_directory(_: &Dir) -> io::Result<Option<Lock>> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_killed_copies_left_is_removed_and_what_others_make_is_not() {
        let home = tempfile::tempdir().unwrap();
        let layout = Layout::open(&home.path().join("store")).unwrap();
        let path = home.path().join("skills");
        for left in [".skillpkg-copy-1-1/a", ".skillpkg-copy-2-2", ".skillpkg-copies", "other"] {
            std::fs::create_dir_all(path.join(left)).unwrap();
        }
        let parent = Dir::open_ambient_dir(&path, ambient_authority()).unwrap();
        let (first, _, lock) = begin(&layout, &parent, &path).unwrap();
        let names = || {
            let entries = std::fs::read_dir(&path).unwrap();
            let mut names: Vec<_> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        let kept = [first.name(), ".skillpkg-copies", "other"].map(str::to_owned);
        let mut wanted = kept.to_vec();
        wanted.sort();
        assert_eq!(names(), wanted);
        let (second, _, other_lock) = begin(&layout, &parent, &path).unwrap();
        assert_eq!(names().len(), 4);
        drop((first, lock, second, other_lock));
        assert_eq!(names(), [".skillpkg-copies", "other"]);
    }
}
