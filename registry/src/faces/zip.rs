//! Writes zip containers that say nothing but their files: the same files give the same bytes.

use std::io::{self, Read, Seek, SeekFrom, Write};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// The level of compression of every container.
pub(super) const LEVEL: u32 = 6;

pub(super) const LOCAL_SIGNATURE: u32 = 0x0403_4b50;
pub(super) const CENTRAL_SIGNATURE: u32 = 0x0201_4b50;
pub(super) const END_SIGNATURE: u32 = 0x0605_4b50;
/// Bytes of a local header before the name.
pub(super) const LOCAL_BYTES: usize = 30;
/// Bytes of an entry of the central directory before the name.
pub(super) const CENTRAL_BYTES: usize = 46;
/// Bytes of the end of the central directory, without a comment.
pub(super) const END_BYTES: usize = 22;
/// The method that every entry is compressed by.
pub(super) const DEFLATED: u16 = 8;
/// The flag that says that names are UTF-8.
pub(super) const UTF8: u16 = 0x0800;

/// Version 2.0 of the format: what deflate needs.
const NEEDED: u16 = 20;
/// Written by a program that gives modes as Unix does.
const MADE_BY: u16 = (3 << 8) | NEEDED;
/// 1 January 1980, the first day that the format has.
const DATE: u16 = 0x0021;
const PIECE_BYTES: usize = 64 * 1024;

/// Writes files as a zip: deflated, with their modes, of no time.
///
/// Holds a piece of one file at a time. No entry is over 4 GiB and there are fewer than 65,535: the
/// bounds of a snapshot are far below.
#[derive(Debug)]
pub struct ZipWriter<W> {
    out: W,
    at: u64,
    central: Vec<u8>,
    entries: u16,
}

fn too_large() -> io::Error {
    io::Error::from(io::ErrorKind::FileTooLarge)
}

fn fits(length: u64) -> io::Result<u32> {
    u32::try_from(length).map_err(|_| too_large())
}

/// What both headers of an entry share, from the version that is needed to the length of the name.
fn shared(crc: u32, packed: u32, size: u32, name: u16) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(24);
    for field in [NEEDED, UTF8, DEFLATED, 0, DATE] {
        bytes.extend(field.to_le_bytes());
    }
    for field in [crc, packed, size] {
        bytes.extend(field.to_le_bytes());
    }
    bytes.extend(name.to_le_bytes());
    bytes
}

impl<W: Write + Seek> ZipWriter<W> {
    /// Nothing yet, at the start of `out`.
    pub fn new(out: W) -> Self {
        Self { out, at: 0, central: Vec::new(), entries: 0 }
    }

    /// Writes a file with these permission bits.
    pub fn file(&mut self, path: &str, mode: u32, content: &mut dyn Read) -> io::Result<()> {
        let name = u16::try_from(path.len()).map_err(|_| too_large())?;
        let local = |crc, packed, size| {
            let mut header = LOCAL_SIGNATURE.to_le_bytes().to_vec();
            header.extend(shared(crc, packed, size, name));
            header.extend(0_u16.to_le_bytes());
            header
        };
        // What it says of the content is put in once that is known.
        self.out.write_all(&local(0, 0, 0))?;
        self.out.write_all(path.as_bytes())?;
        let start = self.at + LOCAL_BYTES as u64 + path.len() as u64;
        let (crc, size) = self.deflate(content)?;
        let end = self.out.stream_position()?;
        let packed = fits(end - start)?;
        self.out.seek(SeekFrom::Start(self.at))?;
        self.out.write_all(&local(crc, packed, size))?;
        self.out.seek(SeekFrom::Start(end))?;

        self.central.extend(CENTRAL_SIGNATURE.to_le_bytes());
        self.central.extend(MADE_BY.to_le_bytes());
        self.central.extend(shared(crc, packed, size, name));
        // No extra field, no comment, the first disk, no internal attributes.
        self.central.extend([0; 8]);
        self.central.extend(((0o100_000 | mode) << 16).to_le_bytes());
        self.central.extend(fits(self.at)?.to_le_bytes());
        self.central.extend(path.as_bytes());
        self.at = end;
        self.entries = self.entries.checked_add(1).ok_or_else(too_large)?;
        Ok(())
    }

    /// Compresses all of `content`; answers with its checksum and its length.
    fn deflate(&mut self, content: &mut dyn Read) -> io::Result<(u32, u32)> {
        let mut crc = Crc::new();
        let mut encoder = DeflateEncoder::new(&mut self.out, Compression::new(LEVEL));
        let mut piece = vec![0; PIECE_BYTES];
        let mut size: u64 = 0;
        loop {
            let read = match content.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let piece = piece.get(..read).unwrap_or_default();
            crc.update(piece);
            encoder.write_all(piece)?;
            size += read as u64;
        }
        encoder.finish()?;
        Ok((crc.sum(), fits(size)?))
    }

    /// Ends the container; answers with what it was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&self.central)?;
        let mut end = END_SIGNATURE.to_le_bytes().to_vec();
        end.extend([0; 4]);
        end.extend(self.entries.to_le_bytes());
        end.extend(self.entries.to_le_bytes());
        end.extend(fits(self.central.len() as u64)?.to_le_bytes());
        end.extend(fits(self.at)?.to_le_bytes());
        end.extend([0; 2]);
        self.out.write_all(&end)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::super::unzip::{Bounds, unzip};
    use super::*;

    pub(crate) fn written(files: &[(&str, u32, &[u8])]) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (path, mode, content) in files {
            zip.file(path, *mode, &mut &**content).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    #[test]
    fn what_is_written_is_read_again_and_twice_the_same() {
        let long = vec![b'x'; 200_000];
        let files: [(&str, u32, &[u8]); 3] =
            [("a/été.md", 0o644, b"one"), ("empty", 0o644, b""), ("run", 0o755, &long)];
        let bytes = written(&files);
        assert_eq!(bytes, written(&files));
        assert!(bytes.len() < 2_000, "{}", bytes.len());
        let mut found = Vec::new();
        unzip(&mut Cursor::new(&bytes), Bounds::default(), &mut |path, executable, content| {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            found.push((path.to_owned(), executable, bytes));
            Ok(())
        })
        .unwrap();
        let wanted: Vec<_> = files
            .iter()
            .map(|(path, mode, bytes)| ((*path).to_owned(), *mode == 0o755, bytes.to_vec()))
            .collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn an_entry_is_byte_for_byte_this_one() {
        let bytes = written(&[("a", 0o755, b"hi")]);
        let mut wanted = b"PK\x03\x04\x14\0\0\x08\x08\0\0\0\x21\0".to_vec();
        wanted.extend(0xd893_2aac_u32.to_le_bytes());
        wanted.extend(4_u32.to_le_bytes());
        wanted.extend(2_u32.to_le_bytes());
        wanted.extend(b"\x01\0\0\0a\xcb\xc8\x04\0");
        assert_eq!(bytes[..wanted.len()], wanted);
        let central = &bytes[wanted.len()..];
        assert_eq!(&central[..6], b"PK\x01\x02\x14\x03");
        assert_eq!(central[38..42], ((0o100_755_u32) << 16).to_le_bytes());
        assert_eq!(&central[central.len() - 22..][..4], b"PK\x05\x06");
    }
}
