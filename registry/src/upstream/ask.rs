//! One request, its redirects, and the head of its answer.

use std::error::Error;
use std::time::Duration;

use axum::http::HeaderValue;
use bytes::Bytes;
use reqwest::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION, RETRY_AFTER,
};
use reqwest::{Method, Response, StatusCode};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::wire::Problem;
use url::Url;

use super::body::{Bound, Sink, take};
use super::error::{AddressRefused, UpstreamError};
use super::hops::MIRRORED_BY;
use super::{Patience, Upstream};

/// Most redirects that are followed in a row.
const MAX_REDIRECTS: usize = 3;
/// Most bytes of a problem document that are read.
const MAX_PROBLEM_BYTES: u64 = 64 * 1024;

/// A request that changes nothing, so that it may be sent again.
#[derive(Debug, Clone)]
pub struct Ask {
    url: Url,
    through: Option<HeaderValue>,
    body: Option<Bytes>,
    etag: Option<HeaderValue>,
}

impl Ask {
    /// For what is at `url`; `through` names the mirrors that ask.
    pub fn get(url: Url, through: HeaderValue) -> Self {
        Self { url, through: Some(through), body: None, etag: None }
    }

    /// For what is at `url`, of a server that is no registry.
    pub fn elsewhere(url: Url) -> Self {
        Self { url, through: None, body: None, etag: None }
    }

    /// With a JSON document that says what for.
    pub fn post(url: Url, through: HeaderValue, body: Bytes) -> Self {
        Self { url, through: Some(through), body: Some(body), etag: None }
    }

    /// Unless it is what this tag is of.
    #[must_use]
    pub fn unless(mut self, etag: Option<HeaderValue>) -> Self {
        self.etag = etag;
        self
    }

    pub(super) fn shown(&self) -> String {
        shown(&self.url)
    }
}

/// What was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// It is what the tag is of.
    Unchanged,
    /// The body.
    Body {
        /// All of it.
        bytes: Bytes,
        /// Its tag, where it has one.
        etag: Option<HeaderValue>,
        /// How long it may be kept, where it says so.
        cache_control: Option<HeaderValue>,
    },
}

/// What an answer was, beside its body.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) is_unchanged: bool,
    pub(super) etag: Option<HeaderValue>,
    pub(super) cache_control: Option<HeaderValue>,
    pub(super) length: u64,
}

impl Upstream {
    /// Asks once, follows redirects, and takes the body in.
    pub(super) async fn attempt(
        &self,
        ask: &Ask,
        bound: Bound,
        sink: &mut Sink<'_>,
    ) -> Result<Head, UpstreamError> {
        let mut url = ask.url.clone();
        let mut hops = 0;
        let response = loop {
            let response = self.send(ask, url.clone()).await?;
            let Some(target) = redirect(&response) else { break response };
            hops += 1;
            url = self.follow(ask, &url, &target, hops)?;
        };
        let status = response.status();
        let etag = response.headers().get(ETAG).cloned();
        let cache_control = response.headers().get(CACHE_CONTROL).cloned();
        if status == StatusCode::NOT_MODIFIED && ask.etag.is_some() {
            return Ok(Head { is_unchanged: true, etag, cache_control, length: 0 });
        }
        if status != StatusCode::OK {
            return Err(self.refusal(response, &url).await);
        }
        let length = take(response, &shown(&url), bound, &self.patience, sink).await?;
        Ok(Head { is_unchanged: false, etag, cache_control, length })
    }

    async fn send(&self, ask: &Ask, url: Url) -> Result<Response, UpstreamError> {
        // An address in the place of a name is asked of no resolver: it is checked here.
        self.allowed
            .check_url(&url)
            .map_err(|reason| UpstreamError::Refused { url: shown(&url), reason })?;
        let method = if ask.body.is_some() { Method::POST } else { Method::GET };
        let shown = shown(&url);
        let mut request = self
            .client
            .request(method, url)
            .header(ACCEPT, "application/json, application/problem+json, */*;q=0.1");
        if let Some(through) = &ask.through {
            request = request.header(MIRRORED_BY, through.clone());
        }
        if let Some(body) = &ask.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        if let Some(etag) = &ask.etag {
            request = request.header(IF_NONE_MATCH, etag.clone());
        }
        match tokio::time::timeout(self.patience.answer, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(failure(&error, shown, &self.patience)),
            Err(_) => Err(UpstreamError::Silent { url: shown, waited: self.patience.answer }),
        }
    }

    /// The next URL of a redirect, where it may be followed.
    pub(super) fn follow(
        &self,
        ask: &Ask,
        from: &Url,
        target: &Target,
        hops: usize,
    ) -> Result<Url, UpstreamError> {
        let refused = |reason: String| {
            let target = escape(&target.location);
            UpstreamError::Redirect { url: shown(from), target, reason }
        };
        if hops > MAX_REDIRECTS {
            return Err(refused(format!("{MAX_REDIRECTS} redirects came before it")));
        }
        if ask.body.is_some() && !target.keeps_method {
            return Err(refused("it would drop what was asked".to_owned()));
        }
        let mut next = from
            .join(&target.location)
            .map_err(|error| refused(format!("it is no URL: {error}")))?;
        next.set_fragment(None);
        if from.scheme() == "https" && next.scheme() != "https" {
            return Err(refused("it leaves the encryption".to_owned()));
        }
        self.allowed.check_url(&next).map_err(|reason| refused(reason.to_string()))?;
        Ok(next)
    }

    /// What an answer that is no success means.
    async fn refusal(&self, response: Response, url: &Url) -> UpstreamError {
        let (url, status) = (shown(url), response.status());
        match status {
            StatusCode::NOT_FOUND => return UpstreamError::NotFound { url },
            StatusCode::LOOP_DETECTED => return UpstreamError::Loop { url },
            StatusCode::TOO_MANY_REQUESTS => {
                return UpstreamError::Busy { url, wait: retry_after(&response) };
            }
            _ => {}
        }
        let mut bytes = Vec::new();
        let mut sink = Sink::Memory(&mut bytes);
        let read = take(response, &url, Bound::bytes(MAX_PROBLEM_BYTES), &self.patience, &mut sink);
        let problem = match read.await {
            Ok(_) => serde_json::from_slice::<Problem>(&bytes).ok(),
            Err(_) => None,
        };
        if problem.is_some_and(|problem| problem.code == "answer_too_large") {
            return UpstreamError::AnswerTooLarge { url };
        }
        UpstreamError::Status { url, status: status.as_u16() }
    }
}

/// How long `Retry-After` says to wait: 1 to 60 seconds.
fn retry_after(response: &Response) -> Duration {
    let value = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let seconds = value.and_then(|text| text.trim().parse::<u64>().ok());
    Duration::from_secs(seconds.unwrap_or(1).clamp(1, 60))
}

/// Where a redirect leads.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) location: String,
    /// Whether the request stays what it is (RFC 9110, 15.4).
    pub(super) keeps_method: bool,
}

fn redirect(response: &Response) -> Option<Target> {
    let keeps_method = match response.status() {
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => false,
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        _ => return None,
    };
    let location = response.headers().get(LOCATION)?.as_bytes();
    Some(Target { location: String::from_utf8_lossy(location).into_owned(), keeps_method })
}

/// What a failed request means.
pub(super) fn failure(error: &reqwest::Error, url: String, patience: &Patience) -> UpstreamError {
    let mut source = error.source();
    while let Some(inner) = source {
        if let Some(refused) = inner.downcast_ref::<AddressRefused>() {
            return UpstreamError::Address { url, reason: refused.clone() };
        }
        source = inner.source();
    }
    if error.is_timeout() {
        return UpstreamError::Silent { url, waited: patience.connect };
    }
    UpstreamError::Unreachable { url, reason: innermost(error) }
}

/// The innermost cause: what the operating system or the other side said.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    escape(&cause.to_string())
}

/// A URL as messages show it: without what may be secret.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Refused where there is no host to be a user of; then there is no user.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    escape(url.as_str())
}
