//! Serving one client on two streams, a JSON message a line.

use std::io::{Read, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use rmcp::service::ServiceExt as _;
use tokio::sync::mpsc::{Sender, channel};
use tokio_util::sync::CancellationToken;

use super::handler::Handler;
use super::lines::Lines;
use super::server::Server;
use crate::{Error, Kind};

/// How many messages wait to be written.
const WAITING: usize = 4;
/// How long what is left to be written may take at the end.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long answers that are ready may take where the input has ended.
const DRAIN: Duration = Duration::from_secs(5);

impl Server {
    /// Serves the client that writes to `input` and reads from `output`, until either ends or the
    /// server does. What runs then is killed.
    ///
    /// The streams are read and written by threads of their own, so that one that is stuck keeps
    /// nothing from ending.
    pub async fn serve_streams(
        &self,
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> Result<(), Error> {
        let (outgoing, written) = writer(output)?;
        let transport = Lines::new(input, outgoing, self.shared.ending.clone())?;
        // Where the input ends, answers that are ready are still written.
        let stopping = self.shared.stopping.child_token();
        let served = Box::pin(Handler::new(self).serve_with_ct(transport, stopping)).await;
        if let Ok(running) = served {
            // Why it ended is the client's business: it went, or was told to. One that does not
            // read what is written keeps the session from ending, and is not waited for.
            tokio::select! {
                _ = running.waiting() => {}
                () = after(&self.shared.ending, DRAIN) => {}
                () = after(&self.shared.stopping, PATIENCE) => {}
            }
        }
        self.ended().await;
        let _ = tokio::task::spawn_blocking(move || written.recv_timeout(PATIENCE)).await;
        Ok(())
    }
}

/// Waits for the token, and then for this long.
async fn after(token: &CancellationToken, time: Duration) {
    token.cancelled().await;
    tokio::time::sleep(time).await;
}

/// A channel into `output`, and what tells that everything in it was written.
fn writer(
    mut output: impl Write + Send + 'static,
) -> Result<(Sender<Bytes>, mpsc::Receiver<()>), Error> {
    let (sender, mut receiver) = channel::<Bytes>(WAITING);
    let (done, written) = mpsc::channel();
    let write = move || {
        while let Some(bytes) = receiver.blocking_recv() {
            if output.write_all(&bytes).and_then(|()| output.flush()).is_err() {
                break;
            }
        }
        let _ = done.send(());
    };
    start("mcp-output", write)?;
    Ok((sender, written))
}

/// Starts a thread of this name.
pub(super) fn start(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let started = thread::Builder::new().name(name.to_owned()).spawn(body);
    started.map(drop).map_err(|error| {
        Error::new(Kind::Failed, "thread_failed", format!("no thread can be started: {error}"))
    })
}
