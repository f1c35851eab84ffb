//! How many requests an account and an address may make.
//!
//! A request with a token counts for its account, any other for its address: one that is not valid
//! is no token. Nothing is kept beyond the memory of this process, and that is bounded.

mod bucket;
mod client;

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;

pub(crate) use client::one_party;
pub use client::{Peer, Proxies};

use self::bucket::Buckets;
use crate::problem::{Answer, Refusal};

/// How many requests may be made; 0 is any number.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Requests of an account that change something, so many at once and again so many a minute.
    pub writes: u32,
    /// Other requests of an account, and all of an address without a token.
    pub requests: u32,
    /// Whether requests that come from this machine itself count as well.
    pub loopback: bool,
    /// Whose word is taken for where a request comes from.
    pub proxies: Vec<IpNet>,
}

impl Default for Limits {
    /// 600 writes and 6,000 other requests a minute, none of them from this machine.
    fn default() -> Self {
        Self { writes: 600, requests: 6_000, loopback: false, proxies: Vec::new() }
    }
}

impl Limits {
    /// None at all.
    pub fn none() -> Self {
        Self { writes: 0, requests: 0, ..Self::default() }
    }
}

/// Whom a request counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Party {
    Account(i64),
    Address(IpAddr),
}

/// Counts requests.
#[derive(Debug)]
pub struct Rates {
    limits: Limits,
    proxies: Proxies,
    writes: Option<Buckets<Party>>,
    requests: Option<Buckets<Party>>,
}

impl Rates {
    /// Nothing counted yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            proxies: Proxies::new(limits.proxies.clone()),
            writes: Buckets::new(limits.writes),
            requests: Buckets::new(limits.requests),
            limits,
        }
    }

    /// The address that a request counts for; [`None`] where it is not counted, as from this machine.
    pub fn client(&self, peer: Option<Peer>, headers: &axum::http::HeaderMap) -> Option<IpAddr> {
        if self.writes.is_none() && self.requests.is_none() {
            return None;
        }
        let address = self.proxies.client(peer?, headers);
        (self.limits.loopback || !address.is_loopback()).then_some(address)
    }

    /// Counts a request without a valid token.
    pub fn anonymous(&self, address: IpAddr) -> Answer<()> {
        count(self.requests.as_ref(), Party::Address(address), || {
            "this address makes more requests than one may; a token has a count of its own"
                .to_owned()
        })
    }

    /// Counts a request of an account, which changes something or does not.
    pub fn account(&self, account: i64, writes: bool) -> Answer<()> {
        let buckets = if writes { &self.writes } else { &self.requests };
        count(buckets.as_ref(), Party::Account(account), || {
            let what = if writes { "changes" } else { "requests" };
            format!("this account makes more {what} than one may within a minute")
        })
    }
}

fn count(
    buckets: Option<&Buckets<Party>>,
    party: Party,
    detail: impl FnOnce() -> String,
) -> Answer<()> {
    match buckets.map_or(Ok(()), |buckets| buckets.take(party)) {
        Ok(()) => Ok(()),
        Err(wait) => Err(Refusal::rate_limited(detail(), seconds(wait))),
    }
}

/// Whole seconds after which the wait is over.
fn seconds(wait: Duration) -> u32 {
    u32::try_from(wait.as_secs().saturating_add(1)).unwrap_or(u32::MAX)
}
