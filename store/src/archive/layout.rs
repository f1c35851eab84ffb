//! Where each entry of an archive lies in its tar stream: known as soon as the manifest is.

use skillpkg_schema::Manifest;

use super::header::{BLOCK_BYTES, END_BYTES, padding};
use super::{ENVELOPE_PATH, MANIFEST_PATH};

/// Where the entries of one archive lie.
pub(super) struct Layout<'a> {
    manifest: &'a Manifest,
    manifest_bytes: u64,
    envelope_bytes: u64,
}

impl<'a> Layout<'a> {
    /// The layout of an archive of `manifest`, which is `manifest_bytes` long in canonical form,
    /// and an envelope of `envelope_bytes`.
    pub(super) fn new(manifest: &'a Manifest, manifest_bytes: u64, envelope_bytes: u64) -> Self {
        Self { manifest, manifest_bytes, envelope_bytes }
    }

    /// Every entry in order, with its length in the stream.
    fn entries(&self) -> impl Iterator<Item = (&str, u64)> {
        let ours = [(MANIFEST_PATH, self.manifest_bytes), (ENVELOPE_PATH, self.envelope_bytes)];
        let files = self.manifest.files.iter().map(|file| (file.path.as_str(), file.size));
        ours.into_iter().chain(files).map(|(path, size)| {
            let padded = size.saturating_add(padding(size) as u64);
            (path, padded.saturating_add(BLOCK_BYTES as u64))
        })
    }

    /// Bytes of the whole stream.
    pub(super) fn stream_bytes(&self) -> u64 {
        self.entries().fold(END_BYTES as u64, |sum, (_, bytes)| sum.saturating_add(bytes))
    }

    /// The entry that holds the byte at `offset`; the last one where the end's zeros do.
    pub(super) fn entry_at(&self, offset: u64) -> &str {
        let mut end = 0_u64;
        let mut last = MANIFEST_PATH;
        for (path, bytes) in self.entries() {
            end = end.saturating_add(bytes);
            last = path;
            if offset < end {
                break;
            }
        }
        last
    }
}
