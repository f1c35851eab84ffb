//! The HTTP server: accepts connections, and ends them when it is told to stop.

mod impatient;
mod peers;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use ipnet::IpNet;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower::Layer as _;

use self::impatient::Impatient;
use self::peers::Peers;
use crate::metrics::Gauge;
use crate::problem::{Answer, Refusal};
use crate::rates::{Peer, Proxies};

/// How long a connection may take to send the head of a request, or to send none.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Most bytes of the head of a request.
const MAX_HEAD_BYTES: usize = 32 * 1024;

/// How much of the server its peers may take.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections open at once; more wait to be accepted.
    pub connections: usize,
    /// Connections of one peer address open at once, 0 for any number; more are closed unread.
    pub connections_per_address: usize,
    /// Counts the connections that are open.
    pub open: Gauge,
    /// Proxies that connect for many, with any number of connections.
    pub proxies: Vec<IpNet>,
    /// How long a peer may take nothing of an answer before its connection is closed.
    pub stall: Duration,
    /// How long requests may take to end once the server is told to stop.
    pub grace: Duration,
}

impl Default for Limits {
    /// 4,096 connections, 256 of them from one address, and half a minute for either.
    fn default() -> Self {
        Self {
            connections: 4_096,
            connections_per_address: 256,
            open: Gauge::default(),
            proxies: Vec::new(),
            stall: Duration::from_secs(30),
            grace: Duration::from_secs(30),
        }
    }
}

/// Serves `router` until `stop` answers; then accepts nothing more, lets requests end for at most
/// the grace of `limits`, and returns.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()> + Send,
    limits: Limits,
) {
    let graceful = GracefulShutdown::new();
    let turns = Arc::new(Semaphore::new(limits.connections));
    let peers = Peers::new(limits.connections_per_address);
    let proxies = Proxies::new(limits.proxies);
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
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, or a peer that was gone already: neither is the end.
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let place = match peers.enter(peer.ip()) {
            Some(place) => Some(place),
            None if proxies.holds(peer.ip()) => None,
            None => {
                tracing::debug!(%peer, "the address has as many connections as it may");
                continue;
            }
        };
        let present = limits.open.enter();
        let _ = stream.set_nodelay(true);
        let stream = Impatient::new(stream, limits.stall);
        let router = Extension(Peer(peer.ip())).layer(router.clone());
        let service = TowerToHyperService::new(router);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
            drop((place, turn, present));
        });
    }
    drop(listener);
    if tokio::time::timeout(limits.grace, graceful.shutdown()).await.is_err() {
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
