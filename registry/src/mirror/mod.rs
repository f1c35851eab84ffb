//! Mirrors another registry: what it has is fetched where it is asked for, verified, kept, and
//! handed out as its own word, under its own log.
//!
//! What was published here is never mixed with it. Names of this registry's own scopes, and
//! addresses of what was published here, are never asked of upstream; a name that is upstream's is
//! never looked for anywhere else.

mod alarms;
mod content;
mod documents;
pub(crate) mod flights;
mod ingest;
mod proofs;
mod refresh;
mod relay;
mod rows;
pub(crate) mod search;
mod shelf;
mod tree;
mod trouble;
mod view;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::HeaderValue;
use quick_cache::sync::Cache;
use skillpkg_schema::log::{Hash, TilePath};
use skillpkg_schema::wire::{LogInfo, ProofsAnswer, ProofsRequest};
use skillpkg_schema::{ContentAddress, QualifiedName};
use tokio::sync::{Mutex, Notify, Semaphore};

pub use self::alarms::Alarm;
pub use self::documents::Held;
pub use self::view::Relayed;

use self::documents::{ByLength, HeldCache, MISSING, Missing};
use self::flights::Flights;
use self::relay::Relay;
use self::shelf::Uses;
use self::trouble::Trouble;
use crate::blobs::Kind;
use crate::data::Data;
use crate::grant::Pattern;
use crate::problem::{Answer, Code, Refusal};
use crate::upstream::Upstream;
use crate::upstream::hops::{Hops, HopsError, MirrorId};

/// Most bytes of documents in memory.
const CACHE_BYTES: u64 = 32 * 1024 * 1024;
/// About how many documents that is.
const CACHE_ITEMS: usize = 16_384;
/// Archives fetched at once: each takes disk, at most the archive bound.
const DOWNLOADS: usize = 8;

/// What an operator sets of a mirror.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The registry that is mirrored.
    pub upstream: Upstream,
    /// The names that are; all where it is empty.
    pub only: Vec<Pattern>,
    /// How often what is held is compared with upstream.
    pub every: Duration,
    /// How many bytes of archives and files are held.
    pub max_bytes: u64,
    /// Fingerprint of the first identity of upstream's log; the first contact is believed without.
    pub log_key: Option<Hash>,
}

/// Whose word counts about a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// This registry's: nobody else is asked about it.
    Own,
    /// Upstream's.
    Upstream,
}

/// How old an answer is that is relayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Age {
    /// Seconds since upstream last said so.
    pub seconds: u64,
    /// When that was, RFC 3339 in UTC.
    pub since: String,
    /// Whether that is longer than it should be: upstream does not answer, or is not believed.
    pub is_stale: bool,
}

/// A mirror; cheap to clone.
#[derive(Debug, Clone)]
pub struct Mirror(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: MirrorId,
    upstream: Upstream,
    only: Vec<Pattern>,
    every: Duration,
    max_bytes: u64,
    data: Data,
    relay: Relay,
    held: HeldCache,
    missing: Cache<QualifiedName, Missing>,
    /// Addresses that upstream did not have, and until when that is taken.
    absent: Cache<(Kind, ContentAddress), Instant>,
    documents_in_flight: Flights<QualifiedName>,
    content_in_flight: Flights<(Kind, ContentAddress)>,
    downloads: Semaphore,
    uses: Uses,
    /// Held by whoever makes room.
    room: Mutex<()>,
    /// Told that documents were fetched since somebody asked for them.
    fetched: Notify,
}

impl Mirror {
    /// Opens what was mirrored before; asks upstream nothing yet.
    pub async fn open(data: &Data, settings: Settings) -> Answer<Self> {
        let id = own_id(data).await?;
        let Settings { upstream, only, every, max_bytes, log_key } = settings;
        let relay = Relay::open(data.database.clone(), upstream.clone(), log_key).await?;
        Ok(Self(Arc::new(Inner {
            id,
            relay,
            upstream,
            only,
            every,
            max_bytes,
            data: data.clone(),
            held: Cache::with_weighter(CACHE_ITEMS, CACHE_BYTES, ByLength),
            missing: Cache::new(MISSING),
            absent: Cache::new(MISSING),
            documents_in_flight: Flights::default(),
            content_in_flight: Flights::default(),
            downloads: Semaphore::new(DOWNLOADS),
            uses: Uses::default(),
            room: Mutex::default(),
            fetched: Notify::new(),
        })))
    }

    /// Tells the mirror which log is this registry's own.
    pub(crate) fn beside(&self, own: String) {
        // Once, when the registry opens: it has one log.
        let _ = self.0.relay.own.set(own);
    }

    /// The URL of the registry that is mirrored.
    pub fn upstream(&self) -> String {
        self.0.upstream.shown()
    }

    /// Refuses a request that has come through this mirror before, or through too many; answers
    /// with what upstream is asked through.
    pub fn through(&self, hops: &Hops) -> Answer<HeaderValue> {
        Ok(hops.check(&self.0.id).and_then(|()| hops.through(&self.0.id))?)
    }

    /// Whose word counts about a name.
    ///
    /// A scope that is here is this registry's, also under a spelling that reads like it: what
    /// somebody mistypes within must not be asked outside. So is a bare name that was published
    /// here, and whatever is not to be mirrored.
    pub async fn whose(&self, name: &QualifiedName) -> Answer<Whose> {
        let only = &self.0.only;
        if !only.is_empty() && !only.iter().any(|pattern| pattern.holds(name)) {
            return Ok(Whose::Own);
        }
        let own: Option<i64> = match name.scope() {
            Some(scope) => {
                sqlx::query_scalar("SELECT id FROM scopes WHERE name = $1 OR collision_key = $2")
                    .bind(scope.as_str())
                    .bind(scope.collision_key())
                    .fetch_optional(self.0.data.database.readers())
                    .await?
            }
            None => {
                sqlx::query_scalar(
                    "SELECT k.id FROM skills k JOIN scopes s ON s.id = k.scope_id
                     WHERE s.name = '_' AND (k.name = $1 OR k.collision_key = $2)",
                )
                .bind(name.name().as_str())
                .bind(name.name().collision_key())
                .fetch_optional(self.0.data.database.readers())
                .await?
            }
        };
        Ok(if own.is_some() { Whose::Own } else { Whose::Upstream })
    }

    /// Refuses to publish a bare name that is upstream's. A scoped one is its scope's members',
    /// and where there is no such scope here the answer is that of any scope that one is not in.
    pub async fn check_publish(&self, name: &QualifiedName) -> Answer<()> {
        if name.scope().is_some() || self.whose(name).await? == Whose::Own {
            return Ok(());
        }
        let upstream = self.upstream();
        let detail = format!(
            "`{name}` is for `{upstream}` to give, which this registry mirrors: publish it there, \
             or here under a scope"
        );
        Err(Refusal::new(Code::Mirrored, detail))
    }

    /// The document of a name that is upstream's, where there is one, and how old it is.
    pub async fn skill(
        &self,
        name: &QualifiedName,
        through: &HeaderValue,
    ) -> Answer<Option<(Held, Age)>> {
        if self.whose(name).await? == Whose::Own {
            return Ok(None);
        }
        let Some(held) = self.document(name, through).await? else { return Ok(None) };
        let moment = self.0.relay.moment(&held.heads).await?;
        let age = self.age(moment.map(|moment| moment.at.clone()));
        Ok(Some((held, age)))
    }

    /// Documents of names, and what proves them; names that are not upstream's are for the caller to
    /// leave out. `known` is the size of the relayed log that the client has, where it asks for a
    /// view.
    pub async fn index(
        &self,
        names: &[QualifiedName],
        known: Option<u64>,
        through: &HeaderValue,
    ) -> Answer<Relayed> {
        Ok(self.relay_index(names, known, through).await?)
    }

    /// Proofs of records of the relayed log; [`None`] where the request is about another log.
    pub async fn proofs(
        &self,
        request: &ProofsRequest,
        through: &HeaderValue,
    ) -> Answer<Option<ProofsAnswer>> {
        if self.origin().as_ref() != Some(&request.origin) {
            return Ok(None);
        }
        let answer = self.relay_proofs(request.size, &request.indices, through).await;
        Ok(Some(self.told(answer).await?))
    }

    /// A tile or a bundle of entries of the relayed log, where its newest checkpoint has it.
    pub async fn tile(&self, path: TilePath, through: &HeaderValue) -> Answer<Option<Vec<u8>>> {
        let answer = self.relay_tile(path, through).await;
        Ok(self.told(answer).await?)
    }

    /// Refuses to call a mirror ready of which no answer about upstream's is any other than a refusal.
    pub fn is_meant(&self) -> Answer<()> {
        match self.0.relay.is_other() {
            Some(detail) => Err(Refusal::unavailable(
                format!(
                    "nothing is mirrored, for upstream's log is not the one that is meant: {detail}"
                ),
                60,
            )),
            None => Ok(()),
        }
    }

    /// Who the relayed log is; [`None`] before the first contact with upstream.
    pub fn log(&self, prefix: &str) -> Option<LogInfo> {
        let seen = self.0.relay.seen()?;
        let newest = seen.newest.as_ref()?;
        Some(LogInfo {
            origin: seen.chain.origin().to_owned(),
            prefix: prefix.to_owned(),
            relayed: true,
            identities: seen.chain.envelopes().to_vec(),
            checkpoint: newest.checkpoint.clone(),
        })
    }

    /// The origin of the relayed log; [`None`] before the first contact with upstream.
    pub fn origin(&self) -> Option<String> {
        self.0.relay.seen().map(|seen| seen.chain.origin().to_owned())
    }

    /// How old what is relayed is.
    pub fn freshness(&self) -> Age {
        let newest = self.0.relay.seen().and_then(|seen| seen.newest.clone());
        self.age(newest.map(|newest| newest.at.clone()))
    }

    fn age(&self, since: Option<String>) -> Age {
        let since = since.unwrap_or_else(|| jiff::Timestamp::UNIX_EPOCH.to_string());
        let at = since.parse::<jiff::Timestamp>().unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let seconds = jiff::Timestamp::now().as_second().saturating_sub(at.as_second());
        let seconds = u64::try_from(seconds).unwrap_or(0);
        // Twice the interval: one comparison that failed is no news yet.
        let is_stale = seconds > self.0.every.as_secs().saturating_mul(2);
        Age { seconds, since, is_stale }
    }

    /// The signatures over a snapshot that is held.
    pub async fn envelope(&self, address: &str) -> Answer<Option<String>> {
        let envelope: Option<Option<String>> =
            sqlx::query_scalar("SELECT envelope FROM mirrored_versions WHERE address = $1")
                .bind(address)
                .fetch_optional(self.0.data.database.readers())
                .await?;
        Ok(envelope.flatten())
    }
}

/// The id of this mirror, drawn once.
async fn own_id(data: &Data) -> Answer<MirrorId> {
    let mut write = data.database.write().await?;
    let known: Option<String> =
        sqlx::query_scalar("SELECT id FROM mirror").fetch_optional(&mut *write).await?;
    if let Some(known) = known {
        return crate::documents::stored(&known);
    }
    let id = MirrorId::generate()?;
    sqlx::query("INSERT INTO mirror (id) VALUES ($1)")
        .bind(id.to_string())
        .execute(&mut *write)
        .await?;
    write.commit().await?;
    Ok(id)
}

impl Relay {
    /// The origin, empty before the first contact.
    fn origin_seen(&self) -> String {
        self.seen().map(|seen| seen.chain.origin().to_owned()).unwrap_or_default()
    }
}

impl From<HopsError> for Refusal {
    fn from(error: HopsError) -> Self {
        let code = match error {
            HopsError::Malformed => Code::InvalidRequest,
            HopsError::Loop | HopsError::TooMany => Code::MirrorLoop,
        };
        Self::new(code, error.to_string())
    }
}

impl From<crate::upkeep::UpkeepError> for Trouble {
    fn from(error: crate::upkeep::UpkeepError) -> Self {
        Self::Ours(Refusal::internal(&error))
    }
}
