//! Frames of every kind: honest ones of other settings, and ones put together by hand.

use std::io::{self, Write as _};

use zstd::stream::raw::CParameter;
use zstd::stream::write::Encoder;

/// How a stream is compressed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) level: i32,
    pub(super) checksum: bool,
    pub(super) content_size: bool,
    pub(super) window_log: Option<u32>,
    /// Flushes after this many bytes, so that there are more blocks than needed.
    pub(super) flush_every: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            level: 1,
            checksum: true,
            content_size: true,
            window_log: None,
            flush_every: usize::MAX,
        }
    }
}

/// Compresses `stream`.
pub(super) fn compress(stream: &[u8], settings: Settings) -> io::Result<Vec<u8>> {
    let mut frame = Encoder::new(Vec::new(), settings.level)?;
    frame.include_checksum(settings.checksum)?;
    frame.include_contentsize(settings.content_size)?;
    if let Some(window_log) = settings.window_log {
        frame.set_parameter(CParameter::WindowLog(window_log))?;
    }
    if settings.content_size {
        frame.set_pledged_src_size(Some(stream.len() as u64))?;
    }
    for piece in stream.chunks(settings.flush_every) {
        frame.write_all(piece)?;
        if settings.flush_every != usize::MAX {
            frame.flush()?;
        }
    }
    frame.finish()
}

/// A frame as its parts are given, true or not.
#[derive(Debug)]
pub(super) struct HandMade {
    bytes: Vec<u8>,
}

/// Most bytes of one block's content.
const BLOCK_BYTES: usize = 128 * 1024;

impl HandMade {
    /// A frame with a checksum, a window of 1 MiB, and this content size.
    pub(super) fn of_size(content_bytes: u64) -> Self {
        // Eight bytes of content size, a checksum; exponent 10 of the window.
        let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0b1100_0100, 10 << 3];
        bytes.extend_from_slice(&content_bytes.to_le_bytes());
        Self { bytes }
    }

    fn block(&mut self, kind: u32, length: usize) {
        let header = u32::try_from(length).unwrap_or(0) << 3 | kind << 1;
        self.bytes.extend_from_slice(&header.to_le_bytes()[..3]);
    }

    /// Content as it is.
    pub(super) fn raw(mut self, content: &[u8]) -> Self {
        for piece in content.chunks(BLOCK_BYTES) {
            self.block(0, piece.len());
            self.bytes.extend_from_slice(piece);
        }
        self
    }

    /// So many blocks of one byte repeated, each 128 KiB of content in four bytes.
    pub(super) fn repeated(mut self, byte: u8, blocks: usize) -> Self {
        for _ in 0..blocks {
            self.block(1, BLOCK_BYTES);
            self.bytes.push(byte);
        }
        self
    }

    /// So many blocks of nothing.
    pub(super) fn empty_blocks(mut self, blocks: usize) -> Self {
        for _ in 0..blocks {
            self.block(0, 0);
        }
        self
    }

    /// An empty last block, and a checksum that is not one.
    pub(super) fn end(mut self) -> Vec<u8> {
        self.bytes.extend_from_slice(&[1, 0, 0]);
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes
    }
}
