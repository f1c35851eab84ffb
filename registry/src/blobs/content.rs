//! The bytes of objects as they are read.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use sha2::{Digest as _, Sha256};
use skillpkg_schema::Sha256Digest;

/// How much of a file is read at a time while it is sent.
pub(super) const SEND_BYTES: usize = 128 * 1024;

/// The bytes of an object, or of a range of it, as they are read.
pub type Content = BoxStream<'static, io::Result<Bytes>>;

/// Reads `range` of a file in pieces, each on a thread where it may wait for the disk.
pub(super) fn of_file(file: std::fs::File, range: std::ops::Range<u64>) -> Content {
    let state = (Arc::new(file), range.start);
    let end = range.end;
    Box::pin(futures_util::stream::try_unfold(state, move |(file, at)| async move {
        let length = usize::try_from(end.saturating_sub(at)).unwrap_or(SEND_BYTES).min(SEND_BYTES);
        if length == 0 {
            return Ok(None);
        }
        let reader = Arc::clone(&file);
        let read = tokio::task::spawn_blocking(move || read_at(&reader, at, length));
        let piece = read.await.map_err(io::Error::other)??;
        let next = at + piece.len() as u64;
        Ok(Some((piece, (file, next))))
    }))
}

#[cfg(unix)]
fn read_at(file: &std::fs::File, at: u64, length: usize) -> io::Result<Bytes> {
    use std::os::unix::fs::FileExt as _;
    let mut piece = vec![0; length];
    file.read_exact_at(&mut piece, at)?;
    Ok(piece.into())
}

#[cfg(not(unix))]
fn read_at(mut file: &std::fs::File, at: u64, length: usize) -> io::Result<Bytes> {
    use std::io::{Read as _, Seek as _};
    let mut piece = vec![0; length];
    file.seek(io::SeekFrom::Start(at))?;
    file.read_exact(&mut piece)?;
    Ok(piece.into())
}

/// What comes over a network: of just this length, and where a digest is given, with this one.
///
/// The last piece is held back until both are known: whoever reads gets all of what was asked for,
/// or an error before the end.
pub(super) fn checked(
    pieces: BoxStream<'static, io::Result<Bytes>>,
    length: u64,
    digest: Option<Sha256Digest>,
) -> Content {
    let state = Checked { pieces, left: length, held: None, hasher: Sha256::new(), digest };
    Box::pin(futures_util::stream::try_unfold(state, |mut state| async move {
        while let Some(piece) = state.pieces.try_next().await? {
            if let Some(piece) = state.take(piece)? {
                return Ok(Some((piece, state)));
            }
        }
        Ok(state.end()?.map(|piece| (piece, state)))
    }))
}

struct Checked {
    pieces: BoxStream<'static, io::Result<Bytes>>,
    left: u64,
    held: Option<Bytes>,
    hasher: Sha256,
    digest: Option<Sha256Digest>,
}

impl Checked {
    /// Holds a piece back; answers with the one before.
    fn take(&mut self, piece: Bytes) -> io::Result<Option<Bytes>> {
        if piece.is_empty() {
            return Ok(None);
        }
        let left = self.left.checked_sub(piece.len() as u64);
        self.left = left.ok_or_else(|| damaged("it is longer than it was said to be"))?;
        if self.digest.is_some() {
            self.hasher.update(&piece);
        }
        Ok(self.held.replace(piece))
    }

    fn end(&mut self) -> io::Result<Option<Bytes>> {
        // Nothing follows the end.
        self.pieces = futures_util::stream::empty().boxed();
        if self.left > 0 {
            return Err(damaged("it ends before it was said to"));
        }
        if let Some(digest) = self.digest.take() {
            let found: [u8; 32] = std::mem::take(&mut self.hasher).finalize().into();
            if found != *digest.as_bytes() {
                return Err(damaged("its bytes are not those that its digest names"));
            }
        }
        Ok(self.held.take())
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(pieces: &[&str], length: u64, digest: Option<&str>) -> io::Result<String> {
        let pieces: Vec<io::Result<Bytes>> =
            pieces.iter().map(|piece| Ok(Bytes::from((*piece).to_owned()))).collect();
        let digest = digest.map(|bytes| Sha256Digest::of(bytes.as_bytes()));
        let content = checked(futures_util::stream::iter(pieces).boxed(), length, digest);
        let all: Vec<Bytes> = content.try_collect().await?;
        Ok(String::from_utf8(all.concat()).unwrap())
    }

    #[tokio::test]
    async fn what_comes_is_all_that_was_said_or_an_error() {
        assert_eq!(read(&["ab", "", "c"], 3, Some("abc")).await.unwrap(), "abc");
        assert_eq!(read(&[], 0, Some("")).await.unwrap(), "");
        assert_eq!(read(&["ab"], 2, None).await.unwrap(), "ab");
        for (pieces, length, digest) in
            [(&["ab"][..], 3, None), (&["ab", "cd"], 3, None), (&["ab", "d"], 3, Some("abc"))]
        {
            let error = read(pieces, length, digest).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
    }

    #[tokio::test]
    async fn the_last_piece_of_other_bytes_is_never_given() {
        let pieces = ["ab", "cd"].map(|piece| Ok(Bytes::from(piece)));
        let digest = Sha256Digest::of(b"abce");
        let mut content = checked(futures_util::stream::iter(pieces).boxed(), 4, Some(digest));
        assert_eq!(content.next().await.unwrap().unwrap(), "ab");
        assert!(content.next().await.unwrap().is_err());
        assert!(content.next().await.is_none());
    }
}
