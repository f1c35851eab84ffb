//! Reads zip containers that strangers send, and refuses each that two readers could read in two ways.
//!
//! The central directory and the local headers must say the same, entries lie one behind the other
//! with nothing between or behind, no name stands twice, and nothing is encrypted, a link or spread
//! over disks. Of the methods, stored and deflated are read.

mod content;
mod directory;
mod entry;
mod fields;
#[cfg(test)]
mod tests;

use std::io::{self, Read, Seek};

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::limits::{MAX_FILES, MAX_UNPACKED_BYTES};

/// How much is read.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Most entries.
    pub entries: usize,
    /// Most bytes of all files together.
    pub bytes: u64,
}

impl Default for Bounds {
    /// A snapshot and what may stand beside it.
    fn default() -> Self {
        Self { entries: MAX_FILES + 100, bytes: MAX_UNPACKED_BYTES }
    }
}

/// Why a container is not read.
#[derive(Debug, thiserror::Error)]
pub enum UnzipError {
    /// Not a zip, or one that is cut short or has something behind its end.
    #[error("the body is no zip that ends where it should: {0}")]
    Shape(&'static str),
    /// More entries, or more bytes, than are read.
    #[error("the zip holds more than {0}")]
    TooMuch(String),
    /// One entry.
    #[error("`{}` in the zip {reason}", escape(.name))]
    Entry {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Takes a file: its path as it stands in the container, whether it is executable, its content.
pub type Take<'t> = dyn FnMut(&str, bool, &mut dyn Read) -> io::Result<()> + 't;

/// Gives every file of the container in `zip` to `take`, in the order in which they lie there.
///
/// Directories are left out: each file names those above it.
pub fn unzip(
    zip: &mut (impl Read + Seek),
    bounds: Bounds,
    take: &mut Take<'_>,
) -> Result<(), UnzipError> {
    let (entries, directory) = directory::entries(zip, bounds)?;
    let mut end = 0;
    for entry in &entries {
        if entry.offset != end {
            return Err(UnzipError::Shape("its entries do not lie one behind the other"));
        }
        end = content::read(zip, entry, take)?;
    }
    if end != directory {
        return Err(UnzipError::Shape("something lies between its entries and their directory"));
    }
    Ok(())
}
