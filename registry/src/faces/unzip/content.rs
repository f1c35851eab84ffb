//! What lies behind a local header.

use std::io::{self, Read, Seek, SeekFrom};

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::entry::{DESCRIBED_BEHIND, Entry, says_more};
use super::fields::Fields;
use super::{Take, UnzipError};
use crate::faces::zip::{DEFLATED, LOCAL_BYTES, LOCAL_SIGNATURE};

/// Reads what lies behind a local header; answers with where it ends.
pub(super) fn read(
    zip: &mut (impl Read + Seek),
    entry: &Entry,
    take: &mut Take<'_>,
) -> Result<u64, UnzipError> {
    let refused = |reason| UnzipError::Entry { name: entry.name.clone(), reason };
    zip.seek(SeekFrom::Start(entry.offset))?;
    let mut header = [0; LOCAL_BYTES];
    zip.read_exact(&mut header).map_err(cut_short)?;
    let mut fields = Fields(&header);
    let (signature, _needed) = (fields.long()?, fields.short()?);
    let (flags, method, _time) = (fields.short()?, fields.short()?, fields.long()?);
    let said = (fields.long()?, u64::from(fields.long()?), u64::from(fields.long()?));
    let (name_bytes, extra_bytes) = (fields.short()?, fields.short()?);
    let mut name = vec![0; usize::from(name_bytes)];
    zip.read_exact(&mut name).map_err(cut_short)?;
    let mut extra = vec![0; usize::from(extra_bytes)];
    zip.read_exact(&mut extra).map_err(cut_short)?;
    let is_behind = flags & DESCRIBED_BEHIND != 0;
    let is_same = signature == LOCAL_SIGNATURE
        && (flags, method) == (entry.flags, entry.method)
        && name == entry.name.as_bytes()
        && !says_more(&extra)
        && (said == (entry.crc, entry.packed, entry.size) || is_behind && said == (0, 0, 0));
    if !is_same {
        return Err(refused("is another in the directory than where it lies"));
    }
    let start = entry.offset + LOCAL_BYTES as u64 + u64::from(name_bytes) + u64::from(extra_bytes);
    zip.seek(SeekFrom::Start(start))?;
    if !entry.name.ends_with('/') {
        content(zip, entry, take)?;
    }
    let end = start + entry.packed;
    if !is_behind {
        return Ok(end);
    }
    // Checksum and lengths once more, with a signature before them or without.
    zip.seek(SeekFrom::Start(end))?;
    let mut behind = [0; 16];
    zip.read_exact(&mut behind).map_err(cut_short)?;
    let mut fields = Fields(&behind);
    if fields.long()? == 0x0807_4b50 {
        return Ok(end + 16);
    }
    Ok(end + 12)
}

fn content(zip: &mut impl Read, entry: &Entry, take: &mut Take<'_>) -> Result<(), UnzipError> {
    let refused = |reason| UnzipError::Entry { name: entry.name.clone(), reason };
    let mut packed = zip.take(entry.packed);
    let mut inflated = DeflateDecoder::new(&mut packed);
    let is_deflated = entry.method == DEFLATED;
    let content: &mut dyn Read = if is_deflated { &mut inflated } else { inflated.get_mut() };
    let mut checked = Checked { content, crc: Crc::new(), left: entry.size, over: false };
    let taken = take(&entry.name, entry.executable, &mut checked);
    if checked.over {
        return Err(refused("is longer than it says"));
    }
    taken?;
    if checked.left != 0 || checked.crc.sum() != entry.crc {
        return Err(refused("is not what its checksum says"));
    }
    if is_deflated && inflated.total_in() != entry.packed {
        return Err(refused("has something behind its content"));
    }
    Ok(())
}

/// Counts and sums what is read, and gives no more than was said.
struct Checked<'r> {
    content: &'r mut dyn Read,
    crc: Crc,
    left: u64,
    over: bool,
}

impl Read for Checked<'_> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(piece)?;
        let Some(left) = self.left.checked_sub(read as u64) else {
            self.over = true;
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        };
        self.left = left;
        self.crc.update(piece.get(..read).unwrap_or_default());
        Ok(read)
    }
}

fn cut_short(error: io::Error) -> UnzipError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => UnzipError::Shape("an entry is cut short"),
        _ => error.into(),
    }
}
