//! Writes an archive.

use std::io::{self, Read, Write};

use skillpkg_schema::Manifest;
use skillpkg_schema::address::{Digests, Hasher};
use skillpkg_schema::limits::MAX_ARCHIVE_BYTES;
use skillpkg_schema::manifest::{FileEntry, Mode};
use skillpkg_schema::signature::Envelope;
use zstd::stream::write::Encoder;

use super::error::ArchiveError;
use super::header::{BLOCK_BYTES, END_BYTES, header, padding};
use super::layout::Layout;
use super::{ENVELOPE_PATH, MANIFEST_PATH};

/// The level of compression, fixed so that one version of zstd gives one archive.
///
/// Its window is 4 MiB at most, within what the profile allows.
pub const COMPRESSION_LEVEL: i32 = 12;

const PIECE_BYTES: usize = 64 * 1024;

/// Writes the archive of `manifest` and `envelope`; answers with the digests of its bytes.
///
/// `open` gives each file's content; content that does not fit its entry refuses the whole, so a
/// file changed since it was hashed is never packed. An error leaves a part in `out`, which its
/// owner discards. A manifest or an envelope that would not be read again is refused before
/// anything is written, and so is an archive over [`MAX_ARCHIVE_BYTES`] as soon as it is.
pub fn write<'a>(
    out: impl Write,
    manifest: &Manifest,
    envelope: &Envelope,
    open: &mut dyn FnMut(&FileEntry) -> io::Result<Box<dyn Read + Send + 'a>>,
) -> Result<Digests, ArchiveError> {
    let manifest_bytes = manifest.to_bytes();
    let envelope_bytes = envelope.to_bytes();
    Manifest::from_bytes(&manifest_bytes)?;
    Envelope::from_bytes(&envelope_bytes)?;
    let lengths = (manifest_bytes.len() as u64, envelope_bytes.len() as u64);
    let stream_bytes = Layout::new(manifest, lengths.0, lengths.1).stream_bytes();

    let mut out = Counted { out, hasher: Hasher::new(), bytes: 0, is_over: false };
    let written = compress(&mut out, stream_bytes, &mut |stream| {
        entry(stream, MANIFEST_PATH, 0, Mode::Regular, &manifest_bytes)?;
        entry(stream, ENVELOPE_PATH, 0, Mode::Regular, &envelope_bytes)?;
        for file in &manifest.files {
            file_entry(stream, file, open(file)?)?;
        }
        Ok(stream.write_all(&[0; END_BYTES])?)
    });
    match written {
        Err(_) if out.is_over => Err(ArchiveError::TooLong(MAX_ARCHIVE_BYTES)),
        Err(error) => Err(error),
        Ok(()) => Ok(out.hasher.finish()),
    }
}

/// Writes what `fill` writes, `stream_bytes` in all, as one frame of the profile.
fn compress(
    out: &mut dyn Write,
    stream_bytes: u64,
    fill: &mut dyn FnMut(&mut dyn Write) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let mut frame = Encoder::new(out, COMPRESSION_LEVEL)?;
    frame.include_checksum(true)?;
    frame.include_contentsize(true)?;
    frame.set_pledged_src_size(Some(stream_bytes))?;
    fill(&mut frame)?;
    frame.finish()?.flush()?;
    Ok(())
}

fn entry(
    out: &mut dyn Write,
    path: &str,
    split: usize,
    mode: Mode,
    content: &[u8],
) -> io::Result<()> {
    let size = content.len() as u64;
    out.write_all(&header(path, split, mode.bits(), size))?;
    out.write_all(content)?;
    pad(out, size)
}

fn pad(out: &mut dyn Write, size: u64) -> io::Result<()> {
    out.write_all(&[0; BLOCK_BYTES][..padding(size)])
}

/// Writes a file's entry, and refuses content that is not the one that was hashed.
fn file_entry(
    out: &mut dyn Write,
    file: &FileEntry,
    mut content: impl Read,
) -> Result<(), ArchiveError> {
    let changed = || ArchiveError::Content { path: file.path.clone() };
    out.write_all(&header(
        file.path.as_str(),
        file.path.ustar_split(),
        file.mode.bits(),
        file.size,
    ))?;
    let mut hasher = Hasher::new();
    let mut remaining = file.size;
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let read = match content.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        // One byte more than the entry says is enough to know; the rest is not read.
        remaining = remaining.checked_sub(read as u64).ok_or_else(changed)?;
        hasher.update(&piece[..read]);
        out.write_all(&piece[..read])?;
    }
    let Digests { size, sha256, blake3 } = hasher.finish();
    if (size, sha256, blake3) != (file.size, file.sha256, file.blake3) {
        return Err(changed());
    }
    Ok(pad(out, size)?)
}

/// Hashes what is written, and stops at the most bytes of an archive.
struct Counted<W> {
    out: W,
    hasher: Hasher,
    bytes: u64,
    is_over: bool,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.saturating_add(bytes.len() as u64) > MAX_ARCHIVE_BYTES {
            self.is_over = true;
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_stops_at_its_most_bytes() {
        let mut out = Counted { out: io::sink(), hasher: Hasher::new(), bytes: 0, is_over: false };
        let piece = vec![0; 1024 * 1024];
        for _ in 0..MAX_ARCHIVE_BYTES / piece.len() as u64 {
            out.write_all(&piece).unwrap();
        }
        assert!(!out.is_over);
        assert!(out.write_all(&[0]).is_err() && out.is_over);
        assert_eq!(out.hasher.finish().size, MAX_ARCHIVE_BYTES);
    }
}
