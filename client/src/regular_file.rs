//! Files that are opened only where they are files: nothing that waits for another process, and no
//! device.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use cap_std::fs::Dir;

/// Opens a regular file for reading. A link is followed.
///
/// Anything else is an error of kind [`io::ErrorKind::InvalidInput`], and is not waited for.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    // Opening a device may do something, so it is looked at first.
    if !path.metadata()?.is_file() {
        return Err(irregular());
    }
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    checked(options.open(path)?)
}

/// As [`open`], of a name in a directory that is open.
pub(crate) fn open_in(directory: &Dir, name: &Path) -> io::Result<File> {
    if !directory.metadata(name)?.is_file() {
        return Err(irregular());
    }
    let mut options = cap_std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    checked(directory.open_with(name, &options)?.into_std())
}

/// The bytes of a file; [`None`] where there are more than `most`.
pub(crate) fn read(file: File, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

fn checked(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(irregular()) }
}

/// What is said of anything else than a regular file.
pub(crate) const IRREGULAR: &str = "it is not a regular file";

fn irregular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, IRREGULAR)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_a_directory_and_a_device_are_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let handle = Dir::open_ambient_dir(directory.path(), cap_std::ambient_authority()).unwrap();
        let (pipe, inner) = (directory.path().join("pipe"), directory.path().join("inner"));
        std::fs::create_dir(&inner).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [&pipe, &inner, Path::new("/dev/zero")] {
            assert_eq!(open(path).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
        for name in ["pipe", "inner"] {
            let error = open_in(&handle, Path::new(name)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
        assert_eq!(
            open(&directory.path().join("absent")).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        std::fs::write(directory.path().join("file"), "text").unwrap();
        let read_in = |most| read(open_in(&handle, Path::new("file")).unwrap(), most).unwrap();
        assert_eq!((read_in(4), read_in(3)), (Some(b"text".to_vec()), None));
    }
}
