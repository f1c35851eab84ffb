//! How much of an archive is read.

use skillpkg_schema::limits::{
    MAX_ARCHIVE_BYTES, MAX_ENVELOPE_BYTES, MAX_FILES, MAX_MANIFEST_BYTES, MAX_UNPACKED_BYTES,
};

use super::header::BLOCK_BYTES;

/// How much of an archive is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Most compressed bytes.
    pub archive_bytes: u64,
    /// Most bytes of all files together.
    pub unpacked_bytes: u64,
    /// Most files.
    pub files: usize,
}

impl Default for Bounds {
    /// The design's bounds: 50 MiB, 256 MiB, 5,000 files.
    fn default() -> Self {
        Self {
            archive_bytes: MAX_ARCHIVE_BYTES,
            unpacked_bytes: MAX_UNPACKED_BYTES,
            files: MAX_FILES,
        }
    }
}

impl Bounds {
    /// Most bytes of a tar stream whose manifest is within the bounds: what a frame may promise
    /// before its manifest is known.
    pub(super) fn stream_bytes(&self) -> u64 {
        // A header and its padding come to less than two blocks an entry.
        let entries = (self.files as u64).saturating_add(2);
        let blocks = entries.saturating_mul(2).saturating_add(2);
        let ours = (MAX_MANIFEST_BYTES + MAX_ENVELOPE_BYTES) as u64;
        blocks
            .saturating_mul(BLOCK_BYTES as u64)
            .saturating_add(ours)
            .saturating_add(self.unpacked_bytes)
    }
}
