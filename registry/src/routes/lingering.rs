//! Bodies of requests that are read on once nobody wants them any more.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header;
use futures_util::StreamExt as _;
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, timeout_at};

/// A peer that sends nothing for so long has read its answer, or waits for the connection's end.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A body of which the rest is read and forgotten where it is dropped before its end.
///
/// Whoever answers and closes a connection over which its peer still writes makes the peer see a
/// broken connection in place of the answer. The answer goes out meanwhile: nothing waits for the
/// rest.
#[derive(Debug)]
pub(super) struct Lingering {
    body: Body,
    bytes: u64,
    time: Duration,
    /// Whether the rest is on its way: a peer that waits to be told to go on sends none unasked.
    is_coming: bool,
}

impl Lingering {
    /// `request` with a body of which up to so many bytes are read on, and for so long.
    pub(super) fn around(request: Request, bytes: u64, time: Duration) -> Request {
        let is_coming = !request.headers().contains_key(header::EXPECT);
        request.map(|body| {
            if body.is_end_stream() {
                return body;
            }
            Body::new(Self { body, bytes, time, is_coming })
        })
    }
}

impl HttpBody for Lingering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        self.is_coming = !matches!(frame, Poll::Ready(None | Some(Err(_))));
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        if !self.is_coming || self.body.is_end_stream() {
            return;
        }
        // Without a runtime nothing is served any more.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let rest = std::mem::take(&mut self.body);
        runtime.spawn(drain(rest, self.bytes, self.time));
    }
}

async fn drain(body: Body, bytes: u64, time: Duration) {
    let mut pieces = body.into_data_stream();
    let mut drained = 0;
    let end = Instant::now() + time;
    while let Ok(Some(Ok(piece))) =
        timeout_at(end.min(Instant::now() + LONGEST_PAUSE), pieces.next()).await
    {
        drained += piece.len() as u64;
        if drained > bytes {
            break;
        }
    }
}
