//! What the central directory says of one file.

use super::UnzipError;
use super::fields::Fields;
use crate::faces::zip::{CENTRAL_SIGNATURE, DEFLATED, UTF8};

const ENCRYPTED: u16 = 0x0001;
pub(super) const DESCRIBED_BEHIND: u16 = 0x0008;
/// What a packer did to compress: no matter to a reader.
const HINTS: u16 = 0x0006;
/// A field with lengths of 64 bits.
const LARGE: u16 = 0x0001;
/// A field with a name in UTF-8.
const OTHER_NAME: u16 = 0x7075;
const STORED: u16 = 0;
const UNIX: u16 = 3;
const FILE_TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
/// Longest name, in bytes: a path of a skill beneath two directories of a package.
pub(super) const MAX_NAME: usize = 512;

/// One entry, as the central directory has it.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) packed: u64,
    pub(super) size: u64,
    pub(super) offset: u64,
    pub(super) executable: bool,
}

impl Entry {
    /// Reads one from the central directory.
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, UnzipError> {
        if fields.long()? != CENTRAL_SIGNATURE {
            return Err(UnzipError::Shape("its directory holds something else than entries"));
        }
        let (made_by, _needed) = (fields.short()?, fields.short()?);
        let (flags, method) = (fields.short()?, fields.short()?);
        let _time = fields.long()?;
        let (crc, packed, size) = (fields.long()?, fields.long()?, fields.long()?);
        let (name, extra, comment) = (fields.short()?, fields.short()?, fields.short()?);
        let (disk, _internal) = (fields.short()?, fields.short()?);
        let (external, offset) = (fields.long()?, fields.long()?);
        let name = name_of(fields.take(usize::from(name))?, flags)?;
        let extra = fields.take(usize::from(extra))?;
        let _comment = fields.take(usize::from(comment))?;
        let refused = |reason| Err(UnzipError::Entry { name: name.clone(), reason });
        if flags & ENCRYPTED != 0 {
            return refused("is encrypted");
        }
        if flags & !(UTF8 | DESCRIBED_BEHIND | HINTS) != 0 {
            return refused("uses a part of the format that is not read");
        }
        if method != STORED && method != DEFLATED {
            return refused("is compressed by a method that is not read; use deflate");
        }
        if disk != 0 || [packed, size, offset].contains(&u32::MAX) {
            return refused("is larger than is read");
        }
        let mode = if made_by >> 8 == UNIX { external >> 16 } else { 0 };
        let is_directory = name.ends_with('/');
        if !is_directory && ![0, REGULAR].contains(&(mode & FILE_TYPE)) {
            return refused("is no regular file");
        }
        // What is empty is two bytes when it is deflated.
        if is_directory && (size != 0 || packed > 2) {
            return refused("is a directory with content");
        }
        if says_more(extra) {
            return refused("says in a field of its own that it is another");
        }
        let executable = mode & 0o111 != 0;
        let (packed, size, offset) = (u64::from(packed), u64::from(size), u64::from(offset));
        Ok(Self { name, flags, method, crc, packed, size, offset, executable })
    }
}

/// Whether what stands beside a name gives another name or another length, which some readers take
/// and others do not; what cannot be read may.
pub(super) fn says_more(extra: &[u8]) -> bool {
    let mut fields = Fields(extra);
    while !fields.0.is_empty() {
        let (Ok(kind), Ok(length)) = (fields.short(), fields.short()) else { return true };
        if [LARGE, OTHER_NAME].contains(&kind) || fields.take(usize::from(length)).is_err() {
            return true;
        }
    }
    false
}

fn name_of(bytes: &[u8], flags: u16) -> Result<String, UnzipError> {
    let name = String::from_utf8_lossy(bytes).into_owned();
    let refused = |reason| UnzipError::Entry { name: name.clone(), reason };
    if bytes.len() > MAX_NAME {
        return Err(refused("has a longer name than is read"));
    }
    if std::str::from_utf8(bytes).is_err() || (flags & UTF8 == 0 && !bytes.is_ascii()) {
        return Err(refused("has a name that is not said to be UTF-8"));
    }
    Ok(name)
}
