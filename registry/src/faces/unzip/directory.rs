//! The central directory, at the end of a container.

use std::collections::HashSet;
use std::io::{Read, Seek, SeekFrom};

use super::entry::{Entry, MAX_NAME};
use super::fields::Fields;
use super::{Bounds, UnzipError};
use crate::faces::zip::{CENTRAL_BYTES, END_BYTES, END_SIGNATURE};

/// The entries by where they lie, and where their directory does.
pub(super) fn entries(
    zip: &mut (impl Read + Seek),
    bounds: Bounds,
) -> Result<(Vec<Entry>, u64), UnzipError> {
    let length = zip.seek(SeekFrom::End(0))?;
    let end_at =
        length.checked_sub(END_BYTES as u64).ok_or(UnzipError::Shape("it is too short"))?;
    zip.seek(SeekFrom::Start(end_at))?;
    let mut end = [0; END_BYTES];
    zip.read_exact(&mut end)?;
    let mut end = Fields(&end);
    if end.long()? != END_SIGNATURE {
        return Err(UnzipError::Shape("its last 22 bytes are no end of a central directory"));
    }
    let (disk, first, here, count) = (end.short()?, end.short()?, end.short()?, end.short()?);
    let (bytes, start, comment) = (end.long()?, end.long()?, end.short()?);
    if (disk, first, comment) != (0, 0, 0) || here != count {
        return Err(UnzipError::Shape("it is spread over disks, or has a comment"));
    }
    if usize::from(count) > bounds.entries {
        return Err(UnzipError::TooMuch(format!("{} entries", bounds.entries)));
    }
    if u64::from(start) + u64::from(bytes) != end_at {
        return Err(UnzipError::Shape("its directory is not where its end says"));
    }
    let longest = usize::from(count) * (CENTRAL_BYTES + MAX_NAME + 256);
    let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes <= longest);
    let bytes = bytes.ok_or(UnzipError::Shape("its directory is longer than its entries need"))?;
    zip.seek(SeekFrom::Start(u64::from(start)))?;
    let mut directory = vec![0; bytes];
    zip.read_exact(&mut directory)?;
    let mut fields = Fields(&directory);
    let mut entries = Vec::with_capacity(usize::from(count));
    let (mut names, mut sum) = (HashSet::new(), 0_u64);
    for _ in 0..count {
        let entry = Entry::read(&mut fields)?;
        sum += entry.size;
        if sum > bounds.bytes {
            return Err(UnzipError::TooMuch(format!("{} bytes of files", bounds.bytes)));
        }
        if !names.insert(entry.name.clone()) {
            return Err(UnzipError::Entry { name: entry.name, reason: "stands there twice" });
        }
        entries.push(entry);
    }
    if !fields.0.is_empty() {
        return Err(UnzipError::Shape("its directory is longer than its entries"));
    }
    entries.sort_by_key(|entry| entry.offset);
    Ok((entries, u64::from(start)))
}
