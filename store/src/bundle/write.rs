//! Writes a bundle.

use std::io::{self, Write};

use skillpkg_schema::bundle::{BundleIndex, BundledFile, INDEX_PATH};
use skillpkg_schema::log::Hash;

use super::error::BundleError;
use crate::archive::header::{BLOCK_BYTES, END_BYTES, header, padding};

/// The mode of every entry.
pub(super) const MODE: u32 = 0o644;

/// A bundle that is being written: the index, then each file in its order.
///
/// The same index and the same files give the same bytes. What is written before an error its owner
/// discards.
#[derive(Debug)]
pub struct BundleWriter<'i, W> {
    out: W,
    files: std::slice::Iter<'i, BundledFile>,
}

impl<'i, W: Write> BundleWriter<'i, W> {
    /// Writes the index; one that would not be read again is refused before anything is written.
    pub fn new(mut out: W, index: &'i BundleIndex) -> Result<Self, BundleError> {
        let bytes = index.to_bytes();
        BundleIndex::from_bytes(&bytes)?;
        entry(&mut out, INDEX_PATH, &bytes)?;
        Ok(Self { out, files: index.files.iter() })
    }

    /// Writes the next file, whose bytes must be those that the index names.
    pub fn add(&mut self, path: &str, bytes: &[u8]) -> Result<(), BundleError> {
        let next = self.files.next().filter(|file| file.path == path);
        let Some(file) = next else { return Err(BundleError::NotNext { entry: path.to_owned() }) };
        if file.size != bytes.len() as u64 || file.sha256 != Hash::of(bytes) {
            return Err(BundleError::Content { entry: path.to_owned() });
        }
        Ok(entry(&mut self.out, path, bytes)?)
    }

    /// Writes the end, once every file is there.
    pub fn finish(mut self) -> Result<W, BundleError> {
        if let Some(file) = self.files.next() {
            return Err(BundleError::NotNext { entry: file.path.clone() });
        }
        self.out.write_all(&[0; END_BYTES])?;
        self.out.flush()?;
        Ok(self.out)
    }
}

fn entry(out: &mut impl Write, path: &str, bytes: &[u8]) -> io::Result<()> {
    let size = bytes.len() as u64;
    out.write_all(&header(path, 0, MODE, size))?;
    out.write_all(bytes)?;
    out.write_all(&[0; BLOCK_BYTES][..padding(size)])
}
