//! Takes a body in, to memory or to a file, within bounds of length and time.

use std::io::SeekFrom;
use std::time::Duration;

use reqwest::Response;
use skillpkg_schema::limits::MAX_MANIFEST_BYTES;
use skillpkg_schema::wire::MAX_ANSWER_BYTES;
use tokio::fs::File;
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, timeout_at};

use super::Patience;
use super::ask::failure;
use super::error::UpstreamError;

/// How long an answer may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    most: u64,
    exactly: bool,
    is_content: bool,
}

impl Bound {
    /// Documents, the index, proofs.
    pub const DOCUMENT: Self = Self::bytes(MAX_ANSWER_BYTES);
    /// A manifest.
    pub const MANIFEST: Self = Self::bytes(MAX_MANIFEST_BYTES as u64);
    /// A tile of 256 hashes.
    pub const TILE: Self = Self::bytes(256 * 32);
    /// A bundle of 256 entries, each with its length before it.
    pub const ENTRIES: Self = Self::bytes(256 * (65_536 + 2));
    /// A checkpoint with its signatures.
    pub const CHECKPOINT: Self = Self::bytes(16 * 1024);

    /// A document of at most `most` bytes.
    pub const fn bytes(most: u64) -> Self {
        Self { most, exactly: false, is_content: false }
    }

    /// Content of exactly as many bytes as were declared.
    pub const fn declared(size: u64) -> Self {
        Self { most: size, exactly: true, is_content: true }
    }

    /// Content of at most so many bytes.
    pub const fn content(most: u64) -> Self {
        Self { most, exactly: false, is_content: true }
    }

    fn time(self, patience: &Patience) -> Duration {
        if self.is_content { patience.content } else { patience.document }
    }
}

/// Where a body goes.
pub(super) enum Sink<'a> {
    Memory(&'a mut Vec<u8>),
    File(&'a mut File),
}

impl Sink<'_> {
    /// Forgets what an earlier attempt has left.
    async fn restart(&mut self) -> std::io::Result<()> {
        match self {
            Self::Memory(bytes) => bytes.clear(),
            Self::File(file) => {
                file.seek(SeekFrom::Start(0)).await?;
                file.set_len(0).await?;
            }
        }
        Ok(())
    }

    async fn write(&mut self, piece: &[u8]) -> std::io::Result<()> {
        match self {
            Self::Memory(bytes) => bytes.extend_from_slice(piece),
            Self::File(file) => file.write_all(piece).await?,
        }
        Ok(())
    }

    async fn finish(&mut self) -> std::io::Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(file) => file.flush().await,
        }
    }
}

/// Reads a body that is within its bound and comes fast enough; answers with its length.
pub(super) async fn take(
    mut response: Response,
    url: &str,
    bound: Bound,
    patience: &Patience,
    sink: &mut Sink<'_>,
) -> Result<u64, UpstreamError> {
    let url = || url.to_owned();
    let disk =
        |error: std::io::Error| UpstreamError::Disk { url: url(), reason: error.to_string() };
    let too_long = || UpstreamError::TooLong { url: url(), limit: bound.most };
    if response.content_length().is_some_and(|length| length > bound.most) {
        return Err(too_long());
    }
    sink.restart().await.map_err(disk)?;
    let start = Instant::now();
    let deadline = start + bound.time(patience);
    let mut window_end = start + patience.window;
    let (mut received, mut in_window) = (0_u64, 0_u64);
    loop {
        match timeout_at(window_end.min(deadline), response.chunk()).await {
            Ok(Ok(None)) => break,
            Ok(Ok(Some(piece))) => {
                received += piece.len() as u64;
                in_window += piece.len() as u64;
                if received > bound.most {
                    return Err(too_long());
                }
                sink.write(&piece).await.map_err(disk)?;
            }
            Ok(Err(error)) => return Err(failure(&error, url(), patience)),
            Err(_) => {}
        }
        let now = Instant::now();
        if now >= deadline || (now >= window_end && in_window < patience.least_bytes) {
            return Err(UpstreamError::Slow { url: url(), received, waited: now - start });
        }
        if now >= window_end {
            (window_end, in_window) = (now + patience.window, 0);
        }
    }
    sink.finish().await.map_err(disk)?;
    if bound.exactly && received < bound.most {
        return Err(UpstreamError::TooShort { url: url(), received, declared: bound.most });
    }
    Ok(received)
}
