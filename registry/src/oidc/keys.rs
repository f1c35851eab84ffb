//! The keys of an issuer: asked for when they are needed, kept for as long as they may be.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::HeaderValue;
use serde::Deserialize;
use skillpkg_schema::diagnostic::escape;
use url::Url;

use super::error::IdentityError;
use super::key::{Key, read_set};
use crate::upstream::{Ask, Bound, Fetched, Upstream, UpstreamError};

/// Most bytes of a discovery document and of a set of keys.
const MOST_BYTES: u64 = 256 * 1024;

/// How often an issuer is asked, and for how long its keys are kept.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// The least time between two questions for a key that is not among those kept.
    pub again: Duration,
    /// How long it is left alone after it did not answer.
    pub failed: Duration,
    /// How long keys are kept where it does not say.
    pub usual: Duration,
    /// The least that they are kept, whatever it says.
    pub least: Duration,
    /// The most.
    pub most: Duration,
}

impl Default for Pace {
    /// Once a minute for a key that is not there, ten seconds after a failure; keys are kept for a
    /// minute to an hour, ten minutes where nothing is said.
    fn default() -> Self {
        Self {
            again: Duration::from_mins(1),
            failed: Duration::from_secs(10),
            usual: Duration::from_mins(10),
            least: Duration::from_mins(1),
            most: Duration::from_hours(1),
        }
    }
}

/// The keys of one issuer.
#[derive(Debug)]
pub(super) struct Keys {
    issuer: String,
    upstream: Upstream,
    pace: Pace,
    state: Mutex<State>,
    /// Held by whoever asks: the others wait for what it learns.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    held: Option<Held>,
    /// When it was asked last.
    asked: Option<Instant>,
    /// When it last did not answer, where that is how it was last.
    failed: Option<Instant>,
}

#[derive(Debug)]
struct Held {
    keys: BTreeMap<String, Key>,
    since: Instant,
    kept_for: Duration,
}

/// What is known of a key without asking.
enum Known {
    Key(Key),
    Refused(IdentityError),
    Ask,
}

/// What is read of a discovery document (OIDC Discovery 1.0, 3).
#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

impl Keys {
    pub(super) fn new(issuer: String, upstream: Upstream, pace: Pace) -> Self {
        let (state, turn) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { issuer, upstream, pace, state, turn }
    }

    /// The key of this id. Asks the issuer where what is kept is too old, or has no such key and was not
    /// asked for within the last minute.
    pub(super) async fn key(self: &Arc<Self>, kid: &str) -> Result<Key, IdentityError> {
        match self.known(kid) {
            Known::Key(key) => return Ok(key),
            Known::Refused(error) => return Err(error),
            Known::Ask => {}
        }
        // To its end, whoever goes away: what was begun counts as asked.
        let (keys, kid) = (Arc::clone(self), kid.to_owned());
        let asking = tokio::spawn(async move { keys.ask_for(&kid).await });
        asking.await.map_err(|error| IdentityError::Internal(error.to_string()))?
    }

    async fn ask_for(&self, kid: &str) -> Result<Key, IdentityError> {
        let _turn = self.turn.lock().await;
        // Whoever had the turn before may have learnt it.
        match self.known(kid) {
            Known::Key(key) => return Ok(key),
            Known::Refused(error) => return Err(error),
            Known::Ask => {}
        }
        self.with_state(|state| state.asked = Some(Instant::now()));
        match self.fetch().await {
            Ok(held) => {
                let key = held.keys.get(kid).cloned();
                self.with_state(|state| (state.held, state.failed) = (Some(held), None));
                key.ok_or_else(|| self.unknown(kid))
            }
            Err(error) => {
                tracing::warn!(issuer = self.issuer, %error, "an issuer's keys cannot be had");
                self.with_state(|state| state.failed = Some(Instant::now()));
                Err(self.unavailable(self.pace.failed, Some(error)))
            }
        }
    }

    fn known(&self, kid: &str) -> Known {
        self.with_state(|state| {
            let held = state.held.as_ref().filter(|held| held.since.elapsed() < held.kept_for);
            if let Some(key) = held.and_then(|held| held.keys.get(kid)) {
                return Known::Key(key.clone());
            }
            let failed = state.failed.map(|failed| failed.elapsed());
            if let Some(wait) = failed.and_then(|since| self.pace.failed.checked_sub(since)) {
                return Known::Refused(self.unavailable(wait, None));
            }
            let is_soon = state.asked.is_some_and(|asked| asked.elapsed() < self.pace.again);
            if held.is_some() && is_soon && state.failed.is_none() {
                return Known::Refused(self.unknown(kid));
            }
            Known::Ask
        })
    }

    fn with_state<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn unknown(&self, kid: &str) -> IdentityError {
        IdentityError::UnknownKey { issuer: self.issuer.clone(), kid: kid.to_owned() }
    }

    fn unavailable(&self, wait: Duration, cause: Option<UpstreamError>) -> IdentityError {
        let wait = u32::try_from(wait.as_secs().saturating_add(1)).unwrap_or(u32::MAX);
        IdentityError::Unavailable { issuer: self.issuer.clone(), wait, cause }
    }

    async fn fetch(&self) -> Result<Held, UpstreamError> {
        let bound = Bound::bytes(MOST_BYTES);
        let place = self.upstream.route(&[".well-known", "openid-configuration"]);
        let shape = |url: &Url, reason: String| UpstreamError::Shape {
            url: escape(url.as_str()),
            reason: escape(&reason),
        };
        let discovery: Discovery =
            self.upstream.json(&Ask::elsewhere(place.clone()), bound).await?;
        // Section 4.3: else one issuer could answer in the name of another.
        if discovery.issuer != self.issuer {
            let reason = format!("it says that it is the issuer `{}`", discovery.issuer);
            return Err(shape(&place, reason));
        }
        let place = Url::parse(&discovery.jwks_uri)
            .map_err(|error| shape(&place, format!("its `jwks_uri` is no URL: {error}")))?;
        let fetched = self.upstream.fetch(&Ask::elsewhere(place.clone()), bound).await?;
        let Fetched::Body { bytes, cache_control, .. } = fetched else {
            return Err(shape(&place, "there is no body".to_owned()));
        };
        let keys = read_set(&bytes).map_err(|reason| shape(&place, reason))?;
        let kept_for = kept_for(cache_control.as_ref(), &self.pace);
        Ok(Held { keys, since: Instant::now(), kept_for })
    }
}

/// For how long an answer is kept (RFC 9111), within bounds.
fn kept_for(cache_control: Option<&HeaderValue>, pace: &Pace) -> Duration {
    let said = cache_control.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut kept = None;
    for directive in said.split(',').map(|one| one.trim().to_ascii_lowercase()) {
        match directive.split_once('=') {
            Some(("max-age", seconds)) => {
                kept = seconds.trim_matches('"').parse().ok().map(Duration::from_secs);
            }
            None if ["no-store", "no-cache"].contains(&directive.as_str()) => {
                return pace.least;
            }
            _ => {}
        }
    }
    kept.unwrap_or(pace.usual).clamp(pace.least, pace.most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_kept_as_long_as_is_said_within_bounds() {
        let pace = Pace::default();
        for (said, seconds) in [
            ("", 600),
            ("max-age=300", 300),
            ("public, MAX-AGE=300, must-revalidate", 300),
            ("max-age=\"300\"", 300),
            ("max-age=0", 60),
            ("max-age=999999999", 3_600),
            ("max-age=x", 600),
            ("no-store", 60),
            ("max-age=300, no-cache", 60),
        ] {
            let value = HeaderValue::from_static(said);
            assert_eq!(kept_for(Some(&value), &pace), Duration::from_secs(seconds), "{said}");
        }
        assert_eq!(kept_for(None, &pace), Duration::from_mins(10));
    }
}
