//! The one zstd frame around an archive, as RFC 8878 describes it.

use std::io::{self, Read};

use skillpkg_schema::address::{Digests, Hasher};
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation as _, OutBuffer};

use super::error::{ArchiveError, FrameError};

/// Base-2 logarithm of [`MAX_WINDOW_BYTES`].
const MAX_WINDOW_LOG: u32 = 23;
/// Most bytes of a frame's window: what every decoder must support, RFC 8878, section 3.1.1.1.2.
pub(super) const MAX_WINDOW_BYTES: u64 = 1 << MAX_WINDOW_LOG;

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Magic, descriptor, window and an eight-byte content size; a dictionary's id is refused.
const LONGEST_HEADER_BYTES: usize = 4 + 1 + 1 + 8;
const PIECE_BYTES: usize = 64 * 1024;

/// What the header of a frame of the profile says.
#[derive(Debug, PartialEq, Eq)]
struct FrameHeader {
    content_bytes: u64,
}

impl FrameHeader {
    /// Reads the header at the start of `bytes`; [`None`] where they end within it.
    ///
    /// Read here, not by the decompressor, because it takes more than the profile allows.
    fn parse(bytes: &[u8]) -> Result<Option<Self>, FrameError> {
        let magic = &bytes[..bytes.len().min(MAGIC.len())];
        if magic.len() == MAGIC.len() && magic[1..] == [0x2a, 0x4d, 0x18] && magic[0] >> 4 == 5 {
            return Err(FrameError::Skippable);
        }
        if !MAGIC.starts_with(magic) {
            return Err(FrameError::Magic);
        }
        let Some((descriptor, rest)) = bytes.get(MAGIC.len()..).and_then(<[u8]>::split_first)
        else {
            return Ok(None);
        };
        let one_segment = descriptor & 0b0010_0000 != 0;
        // Bit 4 is unused and bit 3 reserved: an encoder writes zeros.
        if descriptor & 0b0001_1000 != 0 {
            return Err(FrameError::Reserved);
        }
        if descriptor & 0b0000_0011 != 0 {
            return Err(FrameError::Dictionary);
        }
        if descriptor & 0b0000_0100 == 0 {
            return Err(FrameError::NoChecksum);
        }
        let size_bytes = match (descriptor >> 6, one_segment) {
            (0, false) => return Err(FrameError::NoContentSize),
            (0, true) => 1,
            (1, _) => 2,
            (2, _) => 4,
            _ => 8,
        };
        let (window, rest) = if one_segment {
            (None, rest)
        } else {
            let Some((window, rest)) = rest.split_first() else { return Ok(None) };
            (Some(*window), rest)
        };
        let Some(size) = rest.get(..size_bytes) else { return Ok(None) };
        let mut little_endian = [0; 8];
        little_endian[..size_bytes].copy_from_slice(size);
        // A two-byte size leaves out what one byte could have said.
        let offset = if size_bytes == 2 { 256 } else { 0 };
        let content_bytes = u64::from_le_bytes(little_endian).saturating_add(offset);
        let window_bytes = window.map_or(content_bytes, |window| {
            let base = 1_u64 << (10 + (window >> 3));
            base + base / 8 * u64::from(window & 7)
        });
        if window_bytes > MAX_WINDOW_BYTES {
            return Err(FrameError::Window(window_bytes));
        }
        Ok(Some(Self { content_bytes }))
    }
}

/// Reads the content of the one frame that its input must be.
pub(super) struct FrameReader<R> {
    input: R,
    most: u64,
    taken: Hasher,
    taken_bytes: u64,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    decoder: Decoder<'static>,
    ended: bool,
    content_bytes: u64,
}

impl<R: Read> FrameReader<R> {
    /// Reads the frame's header from `input`, of which at most `most` bytes are taken.
    ///
    /// [`None`] where the input ends within it.
    pub(super) fn open(input: R, most: u64) -> Result<Option<Self>, ArchiveError> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG))?;
        let mut reader = Self {
            input,
            most,
            taken: Hasher::new(),
            taken_bytes: 0,
            buffer: vec![0; PIECE_BYTES],
            start: 0,
            end: 0,
            decoder,
            ended: false,
            content_bytes: 0,
        };
        loop {
            if let Some(header) = FrameHeader::parse(&reader.buffer[..reader.end])? {
                reader.content_bytes = header.content_bytes;
                return Ok(Some(reader));
            }
            debug_assert!(reader.end < LONGEST_HEADER_BYTES);
            if !reader.fill()? {
                return Ok(None);
            }
        }
    }

    /// How long the frame's header says its content is: what [`FrameReader::finish`] finds true.
    pub(super) fn content_bytes(&self) -> u64 {
        self.content_bytes
    }

    /// Takes more input behind what the buffer holds; false at its end.
    fn fill(&mut self) -> Result<bool, ArchiveError> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(read) => {
                    self.taken_bytes += read as u64;
                    if self.taken_bytes > self.most {
                        return Err(ArchiveError::TooLong(self.most));
                    }
                    self.taken.update(&self.buffer[self.end..self.end + read]);
                    self.end += read;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The next bytes of content; 0 where the frame or the input ends.
    ///
    /// Where the content is longer than the header says, the decompressor notices at its end only:
    /// a caller takes no more than it has bounded.
    pub(super) fn read(&mut self, content: &mut [u8]) -> Result<usize, ArchiveError> {
        if content.is_empty() {
            return Ok(0);
        }
        while !self.ended {
            let mut input = InBuffer::around(&self.buffer[self.start..self.end]);
            let mut output = OutBuffer::around(&mut *content);
            let hint = self
                .decoder
                .run(&mut input, &mut output)
                .map_err(|error| FrameError::Corrupt(error.to_string()))?;
            let (took, gave) = (input.pos(), output.pos());
            self.start += took;
            self.ended = hint == 0;
            if gave > 0 {
                return Ok(gave);
            }
            if took == 0 && !self.ended && !self.fill()? {
                return Ok(0);
            }
        }
        Ok(0)
    }

    /// Checks that all content has been read, that the frame ends here with its checksum, and that
    /// the input ends with it; answers with the digests of the input.
    ///
    /// `last` is the entry read last.
    pub(super) fn finish(mut self, last: &str) -> Result<Digests, ArchiveError> {
        if self.read(&mut [0])? > 0 {
            return Err(ArchiveError::Bomb(self.content_bytes));
        }
        if !self.ended {
            return Err(ArchiveError::Truncated { entry: last.to_owned() });
        }
        if self.start < self.end || self.fill()? {
            return Err(FrameError::Trailing.into());
        }
        Ok(self.taken.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(bytes: &[u8]) -> Result<Option<u64>, FrameError> {
        FrameHeader::parse(bytes).map(|header| header.map(|header| header.content_bytes))
    }

    fn after_magic(bytes: &[u8]) -> Vec<u8> {
        [&MAGIC, bytes].concat()
    }

    #[test]
    fn the_content_size_is_read_in_each_of_its_widths() {
        for (bytes, size) in [
            (&[0x24, 7][..], 7),
            (&[0x64, 1, 0], 257),
            (&[0x44, 0x58, 1, 1], 513),
            (&[0xa4, 0, 0, 1, 0], 65_536),
            (&[0x84, 0x58, 4, 3, 2, 1], 0x0102_0304),
            (&[0xc4, 0x58, 0, 0, 0, 0, 1, 0, 0, 0], 1 << 32),
            (&[0xc4, 0x58, 255, 255, 255, 255, 255, 255, 255, 255], u64::MAX),
        ] {
            assert_eq!(parse(&after_magic(bytes)), Ok(Some(size)), "{bytes:x?}");
            for cut in 0..MAGIC.len() + bytes.len() {
                assert_eq!(parse(&after_magic(bytes)[..cut]), Ok(None), "{bytes:x?} cut at {cut}");
            }
            assert!(MAGIC.len() + bytes.len() <= LONGEST_HEADER_BYTES);
        }
    }

    #[test]
    fn a_frame_beyond_the_profile_is_refused_by_its_header() {
        for (bytes, error) in [
            (&[0x04, 0x58][..], FrameError::NoContentSize),
            (&[0x20, 7], FrameError::NoChecksum),
            (&[0x25, 1, 7], FrameError::Dictionary),
            (&[0x27, 1, 0, 0, 0, 7], FrameError::Dictionary),
            (&[0x2c, 7], FrameError::Reserved),
            (&[0x34, 7], FrameError::Reserved),
            (&[0x84, 0x69, 0, 0, 0, 1], FrameError::Window((8 << 20) + (1 << 20))),
            (&[0x84, 0x70, 0, 0, 0, 1], FrameError::Window(16 << 20)),
            (&[0x84, 0xff, 0, 0, 0, 1], FrameError::Window((1 << 41) / 8 * 15)),
            (&[0xa4, 1, 0, 0x80, 0], FrameError::Window((8 << 20) + 1)),
        ] {
            assert_eq!(parse(&after_magic(bytes)), Err(error), "{bytes:x?}");
        }
        assert_eq!(parse(&after_magic(&[0x84, 0x68, 0, 0, 0, 1])), Ok(Some(1 << 24)));
    }

    #[test]
    fn what_is_no_frame_is_told_from_a_frame_cut_short() {
        assert_eq!(parse(b"PK\x03\x04"), Err(FrameError::Magic));
        assert_eq!(parse(b"\x1f"), Err(FrameError::Magic));
        // A frame of zstd 0.7.
        assert_eq!(parse(&[0x27, 0xb5, 0x2f, 0xfd]), Err(FrameError::Magic));
        for first in 0x50..=0x5f {
            assert_eq!(parse(&[first, 0x2a, 0x4d, 0x18, 0]), Err(FrameError::Skippable));
        }
        assert_eq!(parse(b""), Ok(None));
    }
}
