//! Small files that are written whole and survive a crash, or are not there.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use super::LogError;

/// Most bytes of a file of the log's directory: a thousand identities fit.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Writes a file that its owner alone may read, in the place of what was there.
///
/// Returned, it survives a crash; cut short, what was there is there.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), LogError> {
    let failed = |source| LogError::Io { path: path.to_owned(), source };
    let directory = path.parent().unwrap_or_else(|| Path::new("."));
    // Made with mode 0600, and removed where it does not come to its name.
    let mut file =
        tempfile::Builder::new().prefix(".new-").tempfile_in(directory).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    sync_directory(directory).map_err(failed)
}

/// Reads a file; [`None`] where there is none.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, LogError> {
    let failed = |source| LogError::Io { path: path.to_owned(), source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed(source)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some(bytes))
}

/// Reads a text; [`None`] where there is none.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, LogError> {
    let text = read(path)?.map(String::from_utf8).transpose();
    text.map_err(|_| LogError::File { path: path.to_owned(), reason: "is not UTF-8".to_owned() })
}

/// Removes what a write that was cut short has left.
pub(super) fn tidy(directory: &Path) -> Result<(), LogError> {
    let failed = |source| LogError::Io { path: directory.to_owned(), source };
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_string_lossy().starts_with(".new-") {
            fs::remove_file(entry.path()).map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "a directory is no file there, and needs no sync")]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_is_its_owners_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("checkpoint");
        assert_eq!(read(&path).unwrap(), None);
        for text in ["first", "second, and longer"] {
            write(&path, text.as_bytes()).unwrap();
            assert_eq!(read_text(&path).unwrap().as_deref(), Some(text));
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        fs::write(directory.path().join(".new-abc"), "half").unwrap();
        tidy(directory.path()).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
