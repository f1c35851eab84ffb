//! The client against real sockets on loopback.

mod bounds;
mod breaking;
mod redirects;
mod server;

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::HeaderValue;
use futures_util::future::BoxFuture;

use super::resolver::Lookup;
use super::{Ask, Bound, Fetched, Patience, Upstream, UpstreamError};

/// Names as the test has them; what it does not have, has no address.
#[derive(Debug, Default)]
struct Names {
    addresses: HashMap<&'static str, &'static str>,
    asked: AtomicUsize,
}

impl Lookup for Arc<Names> {
    fn lookup(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let found =
            self.addresses.get(host.trim_end_matches('.')).map(|text| text.parse().unwrap());
        let missing = || io::Error::new(io::ErrorKind::NotFound, "no such name");
        Box::pin(async move { Ok(vec![found.ok_or_else(missing)?]) })
    }
}

/// `a.test`, `b.test` and `inner.test` on loopback.
fn names() -> Arc<Names> {
    let addresses = ["a.test", "b.test", "inner.test"].map(|name| (name, "127.0.0.1"));
    Arc::new(Names { addresses: addresses.into(), asked: AtomicUsize::new(0) })
}

/// Waits for nothing that a test of a fault would have to wait for.
fn impatient() -> Patience {
    Patience {
        connect: Duration::from_secs(5),
        answer: Duration::from_millis(400),
        window: Duration::from_millis(200),
        least_bytes: 1_000,
        document: Duration::from_millis(1_500),
        content: Duration::from_millis(1_500),
    }
}

fn upstream(url: &str, allowed: &[&str]) -> Upstream {
    let allowed = allowed.iter().map(|host| host.parse::<super::hosts::AllowedHost>().unwrap());
    let lookup = Arc::new(names());
    Upstream::resolving_by(lookup, url.parse().unwrap(), allowed.collect(), impatient()).unwrap()
}

fn ask(upstream: &Upstream, path: &str) -> Ask {
    Ask::get(upstream.route(&[path]), HeaderValue::from_static("0123456789abcdef"))
}

async fn fetch(upstream: &Upstream, bound: Bound) -> Result<String, UpstreamError> {
    match upstream.fetch(&ask(upstream, "x"), bound).await? {
        Fetched::Body { bytes, .. } => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Fetched::Unchanged => Ok("unchanged".to_owned()),
    }
}
