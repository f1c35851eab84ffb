//! Reads zip containers that strangers send, and refuses each that two readers could read in two ways.
//!
//! The central directory and the local headers must say the same, entries lie one behind the other
//! with nothing between or behind, no name stands twice, and nothing is encrypted, a link or spread
//! over disks. Of the methods, stored and deflated are read.

use std::collections::HashSet;
use std::io::{self, Read, Seek, SeekFrom};

use flate2::Crc;
use flate2::read::DeflateDecoder;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::limits::{MAX_FILES, MAX_UNPACKED_BYTES};

use super::zip::{
    CENTRAL_BYTES, CENTRAL_SIGNATURE, DEFLATED, END_BYTES, END_SIGNATURE, LOCAL_BYTES,
    LOCAL_SIGNATURE, UTF8,
};

const ENCRYPTED: u16 = 0x0001;
const DESCRIBED_BEHIND: u16 = 0x0008;
/// What a packer did to compress: no matter to a reader.
const HINTS: u16 = 0x0006;
const STORED: u16 = 0;
const UNIX: u16 = 3;
const FILE_TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
/// Longest name, in bytes: a path of a skill beneath two directories of a package.
const MAX_NAME: usize = 512;

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

/// One entry, as the central directory has it.
#[derive(Debug)]
struct Entry {
    name: String,
    flags: u16,
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
    offset: u64,
    executable: bool,
}

/// Takes a file: its path as it stands in the container, whether it is executable, its content.
pub type Take<'t> = dyn FnMut(&str, bool, &mut dyn Read) -> io::Result<()> + 't;

/// Little-endian fields of a header.
struct Fields<'b>(&'b [u8]);

impl<'b> Fields<'b> {
    fn take(&mut self, length: usize) -> Result<&'b [u8], UnzipError> {
        let (taken, rest) =
            self.0.split_at_checked(length).ok_or(UnzipError::Shape("it is cut short"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn short(&mut self) -> Result<u16, UnzipError> {
        Ok(self.take(2)?.iter().rev().fold(0, |number, byte| (number << 8) | u16::from(*byte)))
    }

    fn long(&mut self) -> Result<u32, UnzipError> {
        Ok(self.take(4)?.iter().rev().fold(0, |number, byte| (number << 8) | u32::from(*byte)))
    }
}

/// Gives every file of the container in `zip` to `take`, in the order in which they lie there.
///
/// Directories are left out: each file names those above it.
pub fn unzip(
    zip: &mut (impl Read + Seek),
    bounds: Bounds,
    take: &mut Take<'_>,
) -> Result<(), UnzipError> {
    let (entries, directory) = entries(zip, bounds)?;
    let mut end = 0;
    for entry in &entries {
        if entry.offset != end {
            return Err(UnzipError::Shape("its entries do not lie one behind the other"));
        }
        end = read_entry(zip, entry, take)?;
    }
    if end != directory {
        return Err(UnzipError::Shape("something lies between its entries and their directory"));
    }
    Ok(())
}

/// The entries by where they lie, and where their directory does.
fn entries(zip: &mut (impl Read + Seek), bounds: Bounds) -> Result<(Vec<Entry>, u64), UnzipError> {
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
        let entry = central(&mut fields)?;
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

fn central(fields: &mut Fields<'_>) -> Result<Entry, UnzipError> {
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
    let _extra = fields.take(usize::from(extra))?;
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
    if is_directory && size != 0 {
        return refused("is a directory with content");
    }
    let executable = mode & 0o111 != 0;
    let (packed, size, offset) = (u64::from(packed), u64::from(size), u64::from(offset));
    Ok(Entry { name, flags, method, crc, packed, size, offset, executable })
}

/// Reads what lies behind a local header; answers with where it ends.
fn read_entry(
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
    let is_behind = flags & DESCRIBED_BEHIND != 0;
    let is_same = signature == LOCAL_SIGNATURE
        && (flags, method) == (entry.flags, entry.method)
        && name == entry.name.as_bytes()
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
    let unpacked: &mut dyn Read =
        if entry.method == DEFLATED { &mut DeflateDecoder::new(&mut packed) } else { &mut packed };
    let mut checked = Checked { content: unpacked, crc: Crc::new(), left: entry.size, over: false };
    let taken = take(&entry.name, entry.executable, &mut checked);
    if checked.over {
        return Err(refused("is longer than it says"));
    }
    taken?;
    if checked.left != 0 || checked.crc.sum() != entry.crc {
        return Err(refused("is not what its checksum says"));
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

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::super::zip::ZipWriter;
    use super::*;

    fn sample() -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        zip.file("a", 0o644, &mut &b"one"[..]).unwrap();
        zip.file("b/c", 0o755, &mut &b"two"[..]).unwrap();
        zip.finish().unwrap().into_inner()
    }

    fn names(bytes: &[u8]) -> Result<Vec<String>, UnzipError> {
        let mut names = Vec::new();
        unzip(&mut Cursor::new(bytes), Bounds::default(), &mut |name, _, content| {
            io::copy(content, &mut io::sink())?;
            names.push(name.to_owned());
            Ok(())
        })?;
        Ok(names)
    }

    /// The sample with bytes changed, at places from its end.
    fn changed(places: &[(usize, u8)]) -> Vec<u8> {
        let mut bytes = sample();
        let length = bytes.len();
        for (from_end, byte) in places {
            bytes[length - from_end] = *byte;
        }
        bytes
    }

    #[test]
    fn what_two_readers_could_read_in_two_ways_is_refused() {
        assert_eq!(names(&sample()).unwrap(), ["a", "b/c"]);
        // The directory: an entry of 47 bytes, one of 49, and the end of 22.
        let second = 22 + 49;
        let first = second + 47;
        let flags = |from_end| from_end - 8;
        let cases: Vec<(&str, Vec<u8>)> = vec![
            ("nothing", Vec::new()),
            ("text", b"no zip at all, though it is longer than the end of one".to_vec()),
            ("something behind the end", [sample(), vec![0]].concat()),
            ("something before the start", [vec![0], sample()].concat()),
            ("a comment", [changed(&[(2, 1)]), vec![b'x']].concat()),
            ("another count", changed(&[(22 - 8, 1), (22 - 10, 1)])),
            ("two names for one entry", changed(&[(second - 46, b'x')])),
            ("encrypted", changed(&[(flags(first), 1)])),
            ("strong encryption", changed(&[(flags(first), 0x40)])),
            ("another method", changed(&[(first - 10, 9)])),
            ("a link", changed(&[(first - 41, 0xa1)])),
            ("another checksum", changed(&[(first - 16, 0x55)])),
            ("another length", changed(&[(first - 24, 2)])),
            ("another disk", changed(&[(first - 34, 1)])),
        ];
        for (what, bytes) in cases {
            assert!(names(&bytes).is_err(), "{what}: {:?}", names(&bytes));
        }
    }

    #[test]
    fn the_same_name_twice_and_names_that_are_no_utf8_are_refused() {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for _ in 0..2 {
            zip.file("a", 0o644, &mut &b"one"[..]).unwrap();
        }
        let bytes = zip.finish().unwrap().into_inner();
        assert!(names(&bytes).unwrap_err().to_string().contains("stands there twice"));
        let mut bytes = sample();
        for at in 0..bytes.len() {
            if bytes[at..].starts_with(b"b/c") {
                bytes[at] = 0xff;
            }
        }
        assert!(names(&bytes).unwrap_err().to_string().contains("UTF-8"));
    }

    #[test]
    fn no_more_is_read_than_the_bounds_allow() {
        let bounds = |entries, bytes| Bounds { entries, bytes };
        let read = |bounds| {
            unzip(&mut Cursor::new(sample()), bounds, &mut |_, _, content| {
                io::copy(content, &mut io::sink()).map(|_| ())
            })
        };
        assert!(read(bounds(2, 6)).is_ok());
        assert!(matches!(read(bounds(1, 6)), Err(UnzipError::TooMuch(_))));
        assert!(matches!(read(bounds(2, 5)), Err(UnzipError::TooMuch(_))));
        // An entry that says that it is short, and is not.
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        zip.file("a", 0o644, &mut vec![0; 100_000].as_slice()).unwrap();
        let mut bytes = zip.finish().unwrap().into_inner();
        let length = bytes.len();
        bytes[22..26].copy_from_slice(&1_u32.to_le_bytes());
        bytes[length - 22 - 47 + 24..][..4].copy_from_slice(&1_u32.to_le_bytes());
        assert!(names(&bytes).unwrap_err().to_string().contains("longer than it says"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(change in any::<[u8; 3]>(), at in any::<[u16; 3]>(), cut in any::<u8>()) {
            let mut bytes = sample();
            for (byte, at) in change.iter().zip(at) {
                let at = usize::from(at) % bytes.len();
                bytes[at] = *byte;
            }
            let _ = names(&bytes);
            bytes.truncate(usize::from(cut));
            let _ = names(&bytes);
        }
    }
}
