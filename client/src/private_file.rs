//! Files that appear whole or not at all, read and written by their owner alone: 0600, whatever the
//! umask. On Windows they are as closed as the directory that they are made in.

use std::io::{self, Write as _};
use std::path::Path;

use crate::unfinished::{self, Readers};

/// Writes a file in place of whatever is there; a symbolic link is replaced, not followed.
///
/// Written to another name in the same directory, synced and renamed: a crash leaves the old file
/// or the new one. Directories on the way are made, for their owner alone.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let written = write(path, bytes)?;
    written.persist(path).map_err(|error| error.error)?;
    sync_directory(path)
}

/// Writes a new file; one that is there already, also as a dangling link, is an error of kind
/// [`io::ErrorKind::AlreadyExists`].
///
/// A crash leaves no file or the whole one.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let written = write(path, bytes)?;
    written.persist_noclobber(path).map_err(|error| error.error)?;
    sync_directory(path)
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let directory = directory_of(path);
    make_directory(directory)?;
    let file = unfinished::create(directory, Readers::Owner);
    // The error comes with the temporary name, which means nothing to anybody.
    let mut file = file.map_err(|error| io::Error::from(error.kind()))?;
    make_private(file.as_file())?;
    file.as_file_mut().write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn make_directory(directory: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(directory)
}

#[cfg(unix)]
fn make_private(file: &std::fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn make_private(_: &std::fs::File) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    std::fs::File::open(directory_of(path))?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_link_in_its_place_is_replaced_and_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (target, path) = (directory.path().join("target"), directory.path().join("file"));
        std::fs::write(&target, "theirs").unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert_eq!(create(&path, b"ours").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        replace(&path, b"ours").unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"theirs");
        assert_eq!(std::fs::read(&path).unwrap(), b"ours");
        assert!(std::fs::symlink_metadata(&path).unwrap().is_file());
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn a_file_is_its_owners_alone_and_nothing_else_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b/file");
        create(&path, b"x").unwrap();
        assert_eq!((mode(&path), mode(&directory.path().join("a"))), (0o600, 0o700));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        replace(&path, b"y").unwrap();
        assert_eq!(mode(&path), 0o600);
        let entries = std::fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(entries, 1);
    }
}
