//! The HTTP server: accepts connections, and ends them when it is told to stop.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::problem::{Answer, Refusal};

/// Connections open at once; more wait to be accepted.
const MAX_CONNECTIONS: usize = 4_096;
/// How long a connection may take to send the head of a request, or to send none.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Most bytes of the head of a request.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// How long requests may take to end once the server is told to stop.
pub const GRACE: Duration = Duration::from_secs(30);

/// Serves `router` until `stop` answers; then accepts nothing more, lets requests end for at most
/// `grace`, and returns.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()> + Send,
    grace: Duration,
) {
    let graceful = GracefulShutdown::new();
    let turns = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD_BYTES);
    tokio::pin!(stop);
    loop {
        let turn = tokio::select! {
            () = &mut stop => break,
            turn = Arc::clone(&turns).acquire_owned() => turn,
        };
        let Ok(turn) = turn else { break };
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of descriptors, or a peer that was gone already: neither is the end.
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
            drop(turn);
        });
    }
    drop(listener);
    if tokio::time::timeout(grace, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests that did not end in time were cut off");
    }
}

/// Opens the address to listen on.
pub async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Runs `change` to its end even where whoever asked for it goes away, as a cancelled request would
/// not: a change that is committed and then not told to the caches would be hidden by them.
pub async fn to_the_end<T: Send + 'static>(
    change: impl Future<Output = Answer<T>> + Send + 'static,
) -> Answer<T> {
    tokio::spawn(change).await.map_err(|error| Refusal::internal(&error))?
}
