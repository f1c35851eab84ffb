//! Another registry that this one mirrors: one HTTP client for one configured URL.
//!
//! Whatever upstream or a name server says, nothing is asked but hosts that the internet can reach,
//! or that the operator listed; and every answer has a bound in bytes and in time. Upstream is asked
//! as anybody: no token is ever sent.

pub mod address;
mod ask;
mod body;
pub mod breaker;
mod client;
pub mod error;
pub mod hops;
pub mod hosts;
pub mod resolver;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use url::Url;

pub use self::ask::{Ask, Fetched};
pub use self::body::Bound;
pub use self::error::UpstreamError;

use self::body::Sink;
use self::breaker::Breaker;
use self::hosts::AllowedHosts;
use self::resolver::{Lookup, SystemLookup};

/// Requests to upstream at once; more wait.
const REQUESTS: usize = 32;
/// How long is waited before the second and the third attempt.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];

/// How long is waited for upstream.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a connection, its name resolved.
    pub connect: Duration,
    /// For the head of an answer.
    pub answer: Duration,
    /// For [`Patience::least_bytes`] of a body, again and again.
    pub window: Duration,
    /// Fewest bytes of a body in a window, unless it ends in it.
    pub least_bytes: u64,
    /// For a whole document.
    pub document: Duration,
    /// For a whole archive or blob.
    pub content: Duration,
}

impl Default for Patience {
    /// 1 KiB a second over 15 seconds; a minute for a document, a quarter of an hour for content.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(20),
            window: Duration::from_secs(15),
            least_bytes: 15 * 1024,
            document: Duration::from_mins(1),
            content: Duration::from_mins(15),
        }
    }
}

/// A registry that is mirrored.
#[derive(Debug, Clone)]
pub struct Upstream {
    client: reqwest::Client,
    base: Url,
    allowed: Arc<AllowedHosts>,
    patience: Patience,
    breaker: Breaker,
    turns: Arc<Semaphore>,
}

impl Upstream {
    /// The registry at `base`; asks nothing yet.
    pub fn new(
        base: Url,
        allowed: AllowedHosts,
        patience: Patience,
    ) -> Result<Self, UpstreamError> {
        Self::resolving_by(Arc::new(SystemLookup), base, allowed, patience)
    }

    /// The same, with names resolved by `lookup`.
    pub fn resolving_by(
        lookup: Arc<dyn Lookup>,
        mut base: Url,
        allowed: AllowedHosts,
        patience: Patience,
    ) -> Result<Self, UpstreamError> {
        let url = ask::shown(&base);
        let allowed = allowed.for_base(&base);
        allowed
            .check_url(&base)
            .map_err(|reason| UpstreamError::Refused { url: url.clone(), reason })?;
        base.set_query(None);
        base.set_fragment(None);
        let allowed = Arc::new(allowed);
        let client = client::make(&base, lookup, Arc::clone(&allowed), patience)
            .map_err(|reason| UpstreamError::Setup { url, reason })?;
        let (breaker, turns) = (Breaker::default(), Arc::new(Semaphore::new(REQUESTS)));
        Ok(Self { client, base, allowed, patience, breaker, turns })
    }

    /// The URL as messages show it.
    pub fn shown(&self) -> String {
        ask::shown(&self.base)
    }

    /// Whether it is left alone for now, since it did not answer.
    pub fn is_paused(&self) -> bool {
        self.breaker.is_open()
    }

    /// The URL of a route.
    pub fn route(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        // A base of the web's schemes always has a path to extend.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }

    /// Asks for what fits in memory.
    pub async fn fetch(&self, ask: &Ask, bound: Bound) -> Result<Fetched, UpstreamError> {
        let mut bytes = Vec::new();
        let head = self.ask(ask, bound, &mut Sink::Memory(&mut bytes)).await?;
        let bytes = Bytes::from(bytes);
        if head.is_unchanged {
            return Ok(Fetched::Unchanged);
        }
        Ok(Fetched::Body { bytes, etag: head.etag, cache_control: head.cache_control })
    }

    /// Asks for a JSON document.
    pub async fn json<T: DeserializeOwned>(
        &self,
        ask: &Ask,
        bound: Bound,
    ) -> Result<T, UpstreamError> {
        let bytes = match self.fetch(ask, bound).await? {
            Fetched::Body { bytes, .. } => bytes,
            Fetched::Unchanged => Bytes::new(),
        };
        serde_json::from_slice(&bytes).map_err(|error| UpstreamError::Shape {
            url: ask.shown(),
            reason: skillpkg_schema::diagnostic::escape(&error.to_string()),
        })
    }

    /// Asks for content, and writes it to `file` from its start; answers with its length.
    ///
    /// Needs memory for one piece of it. Nothing is synced: who keeps it does that.
    pub async fn download(
        &self,
        ask: &Ask,
        bound: Bound,
        file: &mut tokio::fs::File,
    ) -> Result<u64, UpstreamError> {
        self.ask(ask, bound, &mut Sink::File(file)).await.map(|head| head.length)
    }

    /// Asks, again where the failure can pass, and takes the body in; the breaker learns of it.
    async fn ask(
        &self,
        ask: &Ask,
        bound: Bound,
        sink: &mut Sink<'_>,
    ) -> Result<ask::Head, UpstreamError> {
        let left_alone = |wait| UpstreamError::Paused { url: self.shown(), wait };
        let pass = self.breaker.enter().map_err(left_alone)?;
        // Never closed.
        let _turn = self.turns.acquire().await;
        let mut pauses = PAUSES.into_iter();
        let answered = loop {
            let answered = self.attempt(ask, bound, sink).await;
            match (&answered, pauses.next()) {
                (Err(error), Some(pause)) if error.may_pass() => tokio::time::sleep(pause).await,
                _ => break answered,
            }
        };
        match &answered {
            Err(error) if error.is_outage() => pass.failed(),
            Err(error) if error.is_ours() => drop(pass),
            // Whatever it answered, it is there.
            _ => pass.succeeded(),
        }
        answered
    }
}

/// The bytes of a JSON document to send.
pub fn body(document: &impl Serialize) -> Result<Bytes, serde_json::Error> {
    serde_json::to_vec(document).map(Bytes::from)
}
