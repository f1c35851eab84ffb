//! Takes an archive in, to a file, within bounds of length and time.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::body::Body;
use futures_util::StreamExt as _;
use skillpkg_schema::limits::MAX_ARCHIVE_BYTES;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, timeout_at};

use crate::problem::{Answer, Code, Refusal};

/// How fast a body must come.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// How long it may take beside what its length allows.
    pub grace: Duration,
    /// The least rate over the whole, in bytes a second.
    pub bytes_per_second: u64,
    /// How long it may take in all, at whatever rate.
    pub longest: Duration,
}

impl Default for Pace {
    /// Half a minute and 16 KiB a second, a quarter of an hour in all.
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(30),
            bytes_per_second: 16 * 1024,
            longest: Duration::from_mins(15),
        }
    }
}

/// An archive as it came, in a directory that is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Received {
    /// The directory, of this request alone.
    pub(crate) directory: TempDir,
    /// The archive in it.
    pub(crate) archive: PathBuf,
}

impl Received {
    /// Nothing yet, in a new directory beneath `temporary`: the archive is for the caller to write.
    pub(crate) fn empty(temporary: &Path) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("publish-").tempdir_in(temporary)?;
        let archive = directory.path().join("archive");
        Ok(Self { directory, archive })
    }
}

/// Takes `body` to a file beneath `temporary`.
///
/// Needs memory for one piece of the body. What is received is removed when the answer is dropped,
/// and when a server next starts on the directory.
pub(super) async fn receive(body: Body, temporary: &Path, pace: Pace) -> Answer<Received> {
    let received_to = Received::empty(temporary)?;
    let mut file = tokio::io::BufWriter::with_capacity(
        256 * 1024,
        tokio::fs::File::create_new(&received_to.archive).await?,
    );
    let mut pieces = body.into_data_stream();
    let start = Instant::now();
    let mut received: u64 = 0;
    loop {
        let earned = Duration::from_secs(received / pace.bytes_per_second.max(1));
        let allowed = pace.grace.saturating_add(earned).min(pace.longest);
        let piece = match timeout_at(start + allowed, pieces.next()).await {
            Ok(Some(Ok(piece))) => piece,
            Ok(None) => break,
            Ok(Some(Err(error))) => return Err(cut_short(&error)),
            Err(_) => {
                let detail = format!("the upload is too slow: {received} bytes came");
                return Err(Refusal::new(Code::Timeout, detail));
            }
        };
        received += piece.len() as u64;
        // The limit layer counts as well; this holds where no layer stands before.
        if received > MAX_ARCHIVE_BYTES {
            return Err(too_large());
        }
        file.write_all(&piece).await?;
    }
    file.flush().await?;
    Ok(received_to)
}

pub(super) fn too_large() -> Refusal {
    Refusal::new(Code::TooLarge, format!("an archive is at most {MAX_ARCHIVE_BYTES} bytes"))
}

fn cut_short(error: &axum::Error) -> Refusal {
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = source {
        if error.is::<http_body_util::LengthLimitError>() {
            return too_large();
        }
        source = error.source();
    }
    tracing::debug!(%error, "an upload was cut short");
    let error = io::Error::new(io::ErrorKind::UnexpectedEof, "the body ended early");
    Refusal::new(Code::InvalidRequest, format!("{error}: send all that `Content-Length` says"))
}
