//! Bytes of any kind as a zip; what is taken must be taken again from a zip that is written of it.

use std::io::{self, Cursor, Read};

use skillpkg_registry::faces::unzip::{Bounds, UnzipError, unzip};
use skillpkg_registry::faces::zip::ZipWriter;

/// A file of a zip: its path, whether it is executable, its content.
pub(crate) type File = (String, bool, Vec<u8>);

/// What is read of a zip, at most.
const BOUNDS: Bounds = Bounds { entries: 1_000, bytes: 1 << 20 };

/// The files of a zip.
pub(crate) fn files(bytes: &[u8]) -> Result<Vec<File>, UnzipError> {
    let mut files = Vec::new();
    unzip(&mut Cursor::new(bytes), BOUNDS, &mut |path, executable, content: &mut dyn Read| {
        let mut bytes = Vec::new();
        io::copy(content, &mut bytes)?;
        files.push((path.to_owned(), executable, bytes));
        Ok(())
    })?;
    Ok(files)
}

/// A zip of files.
pub(crate) fn zip(files: &[File]) -> io::Result<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, executable, content) in files {
        let mode = if *executable { 0o755 } else { 0o644 };
        zip.file(path, mode, &mut content.as_slice())?;
    }
    Ok(zip.finish()?.into_inner())
}

/// Reads `bytes` as a zip; panics where more is taken than the bounds allow, where a path stands twice,
/// or where the files are others once they are written and read again. Answers whether it was one.
pub(crate) fn check(bytes: &[u8]) -> bool {
    let Ok(files) = files(bytes) else { return false };
    let sum: usize = files.iter().map(|(_, _, content)| content.len()).sum();
    assert!(files.len() <= BOUNDS.entries && sum as u64 <= BOUNDS.bytes);
    let mut paths: Vec<&str> = files.iter().map(|(path, ..)| path.as_str()).collect();
    paths.sort_unstable();
    assert!(paths.windows(2).all(|pair| pair[0] != pair[1]), "a path stands twice");
    let again = zip(&files).ok().and_then(|bytes| self::files(&bytes).ok());
    assert_eq!(again.as_ref(), Some(&files));
    true
}
