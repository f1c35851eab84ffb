//! What is done beneath a directory's handle, one name at a time and no link followed.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use cap_fs_ext::DirExt as _;
#[cfg(not(unix))]
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, OpenOptions};

use super::temporary::with_free_name;

/// The permission bits of a directory of which something is moved.
pub(super) const WRITABLE_DIRECTORY: u32 = 0o755;
/// Most bytes of a name that leaves room for two numbers after it.
const LONGEST_KIND: usize = 200;

/// Most times that something is opened which is moved away each time.
const TRIES: usize = 100;

/// Opens a directory.
pub(super) fn open_directory(parent: &Dir, name: impl AsRef<Path>) -> io::Result<Dir> {
    steadily(|| parent.open_dir_nofollow(&name))
}

/// Opens again what was moved away in the middle of opening it: another stands there, or nothing.
///
/// The kernel takes what has left the directory after it was found for an escape from it (`EXDEV`
/// of `openat2`, beneath the directory), and cap-std tells that as an error of its own. A single
/// name that is not followed escapes in no other way.
fn steadily<T>(open: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let escaped = |error: &io::Error| {
        error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
    };
    for _ in 0..TRIES {
        match open() {
            Err(error) if escaped(&error) => {}
            answer => return answer,
        }
    }
    open()
}

/// Opens a directory, made where it is absent.
pub(super) fn make_directory(parent: &Dir, name: &str) -> io::Result<Dir> {
    match open_directory(parent, name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match parent.create_dir(name) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            open_directory(parent, name)
        }
        answer => answer,
    }
}

/// Opens a regular file for reading.
pub(super) fn open_file(parent: &Dir, name: &str) -> io::Result<File> {
    open_regular(parent, name).map(|(file, _)| file)
}

/// Opens a regular file for reading, and looks at it.
///
/// Anything else is an error of kind [`io::ErrorKind::InvalidInput`].
pub(super) fn open_regular(parent: &Dir, name: &str) -> io::Result<(File, Metadata)> {
    let irregular = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
    let file = match open_to_read(parent, name) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
        Err(error) => {
            let is_irregular = parent.symlink_metadata(name).is_ok_and(|found| !found.is_file());
            return Err(if is_irregular { irregular() } else { error });
        }
    };
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok((file, metadata)) } else { Err(irregular()) }
}

/// Opens whatever stands at a name for reading, unless it is a link.
///
/// One part of a path that is not followed cannot lead out, so the system's own call does, which
/// costs half of cap-std's; verifying small skills is little else than opening files.
#[cfg(unix)]
fn open_to_read(parent: &Dir, name: &str) -> io::Result<File> {
    // A pipe put in the file's place must not hold us up.
    open_one(parent, name, rustix::fs::OFlags::NONBLOCK)
}

#[cfg(unix)]
fn open_one(parent: &Dir, name: &str, flags: rustix::fs::OFlags) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    if name.contains('/') || matches!(name, "" | "..") {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not one part of a path"));
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | flags;
    Ok(rustix::fs::openat(parent, name, flags, Mode::empty())?.into())
}

/// Opens what may be moved, removed and replaced meanwhile, as Windows lets nobody do with what was
/// opened as a directory may be.
#[cfg(not(unix))]
fn open_to_read(parent: &Dir, name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    parent.open_with(name, &options).map(cap_std::fs::File::into_std)
}

/// One name of a directory.
pub(super) struct Name {
    /// As the directory has it.
    pub(super) name: OsString,
    /// Whether the directory says that it is a regular file; some file systems say nothing.
    pub(super) is_file: bool,
}

/// Opens a directory, or `parent` itself for `.`, and reads the names in it, in the order in which
/// the file system gives them.
///
/// One handle serves for both; cap-std, which serves elsewhere, opens it twice more.
#[cfg(unix)]
pub(super) fn open_listed(parent: &Dir, name: &str) -> io::Result<(Dir, Vec<Name>)> {
    let directory = open_one(parent, name, rustix::fs::OFlags::DIRECTORY)?;
    let names = names(&directory)?;
    Ok((Dir::from_std_file(directory), names))
}

#[cfg(unix)]
fn name_of(found: &std::ffi::CStr, kind: rustix::fs::FileType) -> Option<Name> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let name = found.to_bytes();
    (name != b"." && name != b"..")
        .then(|| Name { name: OsStr::from_bytes(name).to_owned(), is_file: kind.is_file() })
}

/// The names in a directory that was just opened.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn names(directory: &File) -> io::Result<Vec<Name>> {
    /// Bytes of names that are asked for at once.
    const ROOM: usize = 8 * 1024;
    let mut room = Vec::with_capacity(ROOM);
    let mut found = rustix::fs::RawDir::new(directory, room.spare_capacity_mut());
    let mut names = Vec::new();
    while let Some(entry) = found.next() {
        let entry = entry?;
        names.extend(name_of(entry.file_name(), entry.file_type()));
    }
    Ok(names)
}

/// The names in a directory that was just opened.
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
fn names(directory: &File) -> io::Result<Vec<Name>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        names.extend(name_of(entry.file_name(), entry.file_type()));
    }
    Ok(names)
}

/// Opens a directory, or `parent` itself for `.`, and reads the names in it, in the order in which
/// the file system gives them.
#[cfg(not(unix))]
pub(super) fn open_listed(parent: &Dir, name: &str) -> io::Result<(Dir, Vec<Name>)> {
    let directory = if name == "." { parent.try_clone()? } else { open_directory(parent, name)? };
    let names = directory
        .entries()?
        .map(|found| {
            let found = found?;
            Ok(Name { name: found.file_name(), is_file: found.file_type()?.is_file() })
        })
        .collect::<io::Result<_>>()?;
    Ok((directory, names))
}

/// Creates a file that is not there yet, open for reading and writing, with exactly these
/// permission bits whatever the umask.
pub(super) fn create_file(parent: &Dir, name: &str, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::fs::Permissions;
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

        use cap_std::fs::OpenOptionsExt as _;
        options.mode(mode);
        let file = parent.open_with(name, &options)?.into_std();
        if file.metadata()?.mode() & 0o7777 != mode {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        Ok(file)
    }
    #[cfg(not(unix))]
    {
        let _ = mode;
        parent.open_with(name, &options).map(cap_std::fs::File::into_std)
    }
}

/// Sets the permission bits of an open directory.
#[cfg(unix)]
pub(super) fn set_directory_mode(directory: &Dir, mode: u32) -> io::Result<()> {
    use cap_std::fs::{Permissions, PermissionsExt as _};
    directory.set_permissions(".", Permissions::from_mode(mode))
}

/// Directories have no permission bits here.
#[cfg(not(unix))]
pub(super) fn set_directory_mode(_: &Dir, _: u32) -> io::Result<()> {
    Ok(())
}

/// Moves `from` to `to` where nothing stands there yet; answers whether it did.
///
/// One step on Linux and macOS. Elsewhere, and on a file system without that step, a file that
/// comes in the same moment may be replaced.
pub(super) fn place_new(source: &Dir, from: &str, target: &Dir, to: &str) -> io::Result<bool> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(source, from, target, to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(true),
            Err(Errno::EXIST | Errno::NOTEMPTY) => return Ok(false),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    match target.symlink_metadata(to) {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match source.rename(from, target, to) {
                Ok(()) => Ok(true),
                // A tree came in the same moment.
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// Removes whatever stands at `name`, and all beneath it; answers with the bytes of its files.
///
/// Read-only directories are opened to their owner first. No link is followed: one is removed. A
/// directory in a directory is moved up beside it before it is emptied, so that neither memory nor
/// open files grow with how deep it goes, which is not ours to say.
pub(super) fn remove_all(parent: &Dir, name: &str) -> io::Result<u64> {
    // So that who clears up by the start of a name finds what was left of this one.
    let kind = if name.len() <= LONGEST_KIND { name } else { "removing" };
    let mut bytes = 0;
    let mut left = vec![name.to_owned()];
    while let Some(name) = left.pop() {
        match remove_level(parent, &name, kind, &mut left) {
            Ok(length) => bytes += length,
            // Somebody else removes it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

/// Removes what stands at `name` but for the directories in it, which are moved up and listed.
fn remove_level(parent: &Dir, name: &str, kind: &str, left: &mut Vec<String>) -> io::Result<u64> {
    let Ok(directory) = open_directory(parent, name) else { return remove_file(parent, name) };
    set_directory_mode(&directory, WRITABLE_DIRECTORY)?;
    let mut bytes = 0;
    for entry in directory.entries()? {
        let entry = entry?;
        let beneath = entry.file_name();
        if entry.file_type()?.is_dir() {
            // A directory that goes to another parent is written to, since its `..` changes.
            let opened = open_directory(&directory, &beneath)?;
            set_directory_mode(&opened, WRITABLE_DIRECTORY)?;
            // Windows moves no directory that is open.
            drop(opened);
            let (up, ()) =
                with_free_name(kind, |free| move_to_free(&directory, &beneath, parent, free))?;
            left.push(up);
        } else {
            bytes += remove_file(&directory, &beneath)?;
        }
    }
    drop(directory);
    parent.remove_dir(name)?;
    Ok(bytes)
}

/// Moves `from` to a name at which nothing may stand.
pub(super) fn move_to_free(
    source: &Dir,
    from: impl AsRef<Path>,
    target: &Dir,
    to: &str,
) -> io::Result<()> {
    if target.symlink_metadata(to).is_ok() {
        return Err(io::Error::from(io::ErrorKind::AlreadyExists));
    }
    source.rename(from, target, to)
}

/// Removes a file or a link; answers with the length of a file.
pub(super) fn remove_file(parent: &Dir, name: impl AsRef<Path>) -> io::Result<u64> {
    let found = parent.symlink_metadata(&name)?;
    // A link to a directory is not removed as a file is on Windows.
    parent.remove_file_or_symlink(&name)?;
    Ok(if found.is_file() { found.len() } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;

    fn temporary() -> (tempfile::TempDir, Dir) {
        let directory = tempfile::tempdir().unwrap();
        let handle = Dir::open_ambient_dir(directory.path(), ambient_authority()).unwrap();
        (directory, handle)
    }

    #[test]
    fn a_file_is_placed_only_where_nothing_stands() {
        let (path, directory) = temporary();
        for name in ["a", "b"] {
            std::fs::write(path.path().join(name), name).unwrap();
        }
        assert!(place_new(&directory, "a", &directory, "new").unwrap());
        assert!(!place_new(&directory, "b", &directory, "new").unwrap());
        assert_eq!(std::fs::read(path.path().join("new")).unwrap(), b"a");
        assert!(place_new(&directory, "absent", &directory, "other").is_err());
    }

    // Windows moves no directory while somebody has it open.
    #[cfg(unix)]
    #[test]
    fn what_is_moved_away_meanwhile_is_there_or_is_not() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let (_path, directory) = temporary();
        let here = make_directory(&directory, "here").unwrap();
        let there = make_directory(&directory, "there").unwrap();
        create_file(&here, "file", 0o644).unwrap();
        make_directory(&here, "directory").unwrap();
        let done = AtomicBool::new(false);
        let is_absent = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
        let mut others = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for (from, to) in [(&here, &there), (&there, &here)] {
                        from.rename("file", to, "file").unwrap();
                        from.rename("directory", to, "directory").unwrap();
                    }
                }
            });
            for _ in 0..20_000 {
                others += u32::from(!open_file(&here, "file").map_or_else(is_absent, |_| true));
                let directory = open_directory(&here, "directory");
                others += u32::from(!directory.map_or_else(is_absent, |_| true));
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(others, 0, "answers that say neither");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_as_given() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_path, directory) = temporary();
        // No umask lets all of them through.
        let file = create_file(&directory, "a", 0o777).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o7777, 0o777);
        assert!(create_file(&directory, "a", 0o777).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn whatever_stands_there_is_removed_however_deep_and_no_link_followed() {
        let (path, directory) = temporary();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("kept"), "x").unwrap();
        let mut deep = directory.try_clone().unwrap();
        for level in 0..1500 {
            let next = make_directory(&deep, "d").unwrap();
            create_file(&deep, "f", 0o444).unwrap();
            deep.symlink_contents(outside.path(), "l").unwrap();
            if level % 7 == 0 {
                set_directory_mode(&deep, 0o555).unwrap();
            }
            deep = next;
        }
        std::fs::write(path.path().join("other"), "12345").unwrap();
        remove_all(&directory, "d").unwrap();
        assert_eq!(remove_all(&directory, "other").unwrap(), 5);
        assert_eq!(remove_all(&directory, "absent").unwrap(), 0);
        directory.remove_file("f").unwrap();
        remove_all(&directory, "l").unwrap();
        assert!(std::fs::read_dir(path.path()).unwrap().next().is_none());
        assert!(outside.path().join("kept").exists());
    }
}
