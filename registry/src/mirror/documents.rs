//! Documents of upstream's: asked for, held against its log, and kept as they came.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::HeaderValue;
use bytes::Bytes;
use quick_cache::sync::Cache;
use serde::Deserialize;
use serde_json::value::RawValue;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::log::{Bucket, Hash, bucket_of, head_key};
use skillpkg_schema::wire::{Document, IndexRequest, KnownLog, ProvenBucket, View};
use skillpkg_schema::{QualifiedName, Sha256Digest};

use super::relay::{Moment, Through};
use super::trouble::Trouble;
use super::{Mirror, rows};
use crate::documents::{etag, stored};
use crate::problem::Refusal;
use crate::upstream::{self, Ask, Bound, UpstreamError};

/// For how long upstream's word that it has no skill of a name is taken.
pub(super) const MISSING_FOR: Duration = Duration::from_secs(20);
/// Names that are known to be missing.
pub(super) const MISSING: usize = 4_096;
/// Most versions of a skill, as a registry has them.
const MAX_VERSIONS: usize = 10_000;

/// A document that is held.
#[derive(Debug, Clone)]
pub struct Held {
    /// Its bytes, as upstream has them.
    pub bytes: Bytes,
    /// A strong validator of those bytes.
    pub etag: HeaderValue,
    /// The moment that it is of.
    pub(super) heads: Hash,
}

/// That upstream had no skill of a name.
#[derive(Debug, Clone)]
pub(super) struct Missing {
    until: Instant,
    /// The moment in which it had none, and the bucket that shows it.
    heads: Hash,
    bucket: Arc<ProvenBucket>,
}

/// What upstream answers about many names, all of one moment, verified.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) moment: Arc<Moment>,
    pub(super) documents: BTreeMap<QualifiedName, Bytes>,
    /// Those that are left out, since they change what may not.
    pub(super) changed: Vec<QualifiedName>,
    /// Every bucket that was needed, each once.
    pub(super) buckets: BTreeMap<u16, Arc<ProvenBucket>>,
}

#[derive(Deserialize)]
struct Answered {
    // Their bytes count: the log speaks of their digests.
    documents: Vec<Box<RawValue>>,
    #[serde(default)]
    views: Vec<View>,
}

impl Mirror {
    /// Asks upstream about names, holds the answer against its log, and keeps it.
    ///
    /// What is returned has survived a crash. A document that changes a version which was there
    /// before is left out: the one that is held stays, and the operator is told. Each name stands
    /// once in `names`.
    pub(super) async fn ask(
        &self,
        names: &[QualifiedName],
        through: Through<'_>,
    ) -> Result<Live, Trouble> {
        // To its end, also where nobody waits any more: what is kept is told to the caches.
        let (mirror, names, through) = (self.clone(), names.to_vec(), through.clone());
        let asking = tokio::spawn(async move { mirror.ask_to_the_end(&names, &through).await });
        asking.await.map_err(|error| Trouble::Ours(Refusal::internal(&error)))?
    }

    async fn ask_to_the_end(
        &self,
        names: &[QualifiedName],
        through: Through<'_>,
    ) -> Result<Live, Trouble> {
        let asked = self.ask_untold(names, through).await;
        match &asked {
            Ok(_) => self.settle("log").await?,
            Err(Trouble::Lie { subject, detail }) => self.alarm(subject, detail).await?,
            Err(_) => {}
        }
        asked
    }

    async fn ask_untold(
        &self,
        names: &[QualifiedName],
        through: Through<'_>,
    ) -> Result<Live, Trouble> {
        let origin = self.0.relay.origin(through).await?;
        let logs = Some(vec![KnownLog { origin: origin.clone(), size: 0 }]);
        let request = IndexRequest { names: names.to_vec(), logs };
        let body = upstream::body(&request).map_err(|error| Refusal::internal(&error))?;
        let route = self.0.upstream.route(&["v1", "index"]);
        let ask = Ask::post(route, through.clone(), body);
        let answered: Result<Answered, _> = self.0.upstream.json(&ask, Bound::DOCUMENT).await;
        let answered = answered.map_err(|error| match error {
            // Fewer names may fit.
            UpstreamError::TooLong { url, .. } if names.len() > 1 => {
                UpstreamError::AnswerTooLarge { url }.into()
            }
            error => match names {
                [name] if !matches!(error, UpstreamError::NotFound { .. }) => {
                    Trouble::unanswered(&name.to_string(), error)
                }
                _ => Trouble::unanswered("log", error),
            },
        })?;
        let view = answered.views.into_iter().find(|view| view.origin == origin);
        let is_relayed = self.0.relay.is_relayed().await;
        let Some(view) = view else {
            // A mirror answers about names of its own alone: its log's, which is not mirrored.
            return Err(if is_relayed {
                UpstreamError::Elsewhere { url: self.upstream() }.into()
            } else {
                Trouble::log("upstream proves nothing of what it answers")
            });
        };
        let followed = self.0.relay.adopt(&view, through).await?;
        let moment = followed.newest.clone();
        let moment = moment.ok_or_else(|| Trouble::log("a view of no moment"))?;
        let buckets = read_buckets(view.buckets, &moment.heads)?;
        let mut documents = read_documents(&answered.documents)?;
        let mut live = Live {
            moment,
            documents: BTreeMap::new(),
            changed: Vec::new(),
            buckets: BTreeMap::new(),
        };
        let mut parsed = Vec::new();
        for name in names {
            let key = head_key(name);
            let Some((bucket, proven)) = buckets.get(&bucket_of(&key)) else {
                if is_relayed {
                    continue;
                }
                let detail = "upstream does not prove what its document is";
                return Err(Trouble::lie(name.to_string(), detail));
            };
            live.buckets.insert(proven.bucket, Arc::clone(proven));
            let Some((bytes, document)) = documents.remove(name) else {
                if bucket.get(&key).is_some() {
                    return Err(Trouble::lie(name.to_string(), "upstream withholds its document"));
                }
                self.remember_missing(name, &live.moment, proven);
                continue;
            };
            let digest = Sha256Digest::of(&bytes);
            if bucket.get(&key) != Some(&digest) {
                let detail = "its document is not the one that upstream's log speaks of";
                return Err(Trouble::lie(name.to_string(), detail));
            }
            live.documents.insert(name.clone(), bytes);
            parsed.push((name.clone(), document, digest));
        }
        self.keep(&mut live, &parsed).await?;
        Ok(live)
    }

    /// Keeps what was asked for; leaves out what may not change and did.
    async fn keep(
        &self,
        live: &mut Live,
        parsed: &[(QualifiedName, Document, Sha256Digest)],
    ) -> Result<(), Trouble> {
        let mut alarms = Vec::new();
        let mut fine = Vec::new();
        let mut write = self.0.data.database.write().await?;
        for (name, document, digest) in parsed {
            let Some(bytes) = live.documents.get(name) else { continue };
            if let Some(detail) = rows::changed(&mut write, name, document).await? {
                alarms.push((name.clone(), detail));
                continue;
            }
            let new = rows::NewDocument {
                name,
                document,
                bytes,
                digest,
                origin: self.0.relay.origin_seen(),
                heads: &live.moment.heads,
            };
            rows::store(&mut write, &new).await?;
            fine.push(name);
        }
        for bucket in live.buckets.values() {
            rows::store_bucket(&mut write, &live.moment.heads, bucket).await?;
        }
        write.commit().await?;
        for name in &fine {
            self.0.held.remove(*name);
            self.0.missing.remove(*name);
            self.settle(&name.to_string()).await?;
        }
        for (name, detail) in alarms {
            live.documents.remove(&name);
            self.alarm(&name.to_string(), &detail).await?;
            live.changed.push(name);
        }
        Ok(())
    }

    fn remember_missing(&self, name: &QualifiedName, moment: &Moment, bucket: &Arc<ProvenBucket>) {
        let (until, heads) = (Instant::now() + MISSING_FOR, moment.heads);
        let missing = Missing { until, heads, bucket: Arc::clone(bucket) };
        self.0.missing.insert(name.clone(), missing);
    }

    /// What is remembered of a name that upstream did not have a moment ago.
    pub(super) fn missing(&self, name: &QualifiedName) -> Option<Missing> {
        self.0.missing.get(name).filter(|missing| missing.until > Instant::now())
    }

    /// The document that is held.
    pub(super) async fn held(&self, name: &QualifiedName) -> Result<Option<Held>, Trouble> {
        let guard = match self.0.held.get_value_or_guard_async(name).await {
            Ok(held) => return Ok(Some(held)),
            Err(guard) => guard,
        };
        let row: Option<(Vec<u8>, String, String)> = sqlx::query_as(
            "SELECT document, digest, heads FROM mirrored_skills WHERE scope = $1 AND name = $2",
        )
        .bind(name.wire_scope())
        .bind(name.name().as_str())
        .fetch_optional(self.0.data.database.readers())
        .await?;
        let Some((bytes, digest, heads)) = row else { return Ok(None) };
        let held = Held { bytes: bytes.into(), etag: etag(&digest)?, heads: stored(&heads)? };
        // Refused where the name was forgotten since the row was read: then this may be what was.
        let _ = guard.insert(held.clone());
        Ok(Some(held))
    }

    /// The document of a name that is upstream's: the one that is held, or after asking for it.
    pub(super) async fn document(
        &self,
        name: &QualifiedName,
        through: Through<'_>,
    ) -> Result<Option<Held>, Trouble> {
        if let Some(held) = self.held(name).await? {
            return Ok(Some(held));
        }
        if self.missing(name).is_some() {
            return Ok(None);
        }
        let _turn = self.0.documents_in_flight.enter(name.clone()).await;
        if let Some(held) = self.held(name).await? {
            return Ok(Some(held));
        }
        if self.missing(name).is_some() {
            return Ok(None);
        }
        match self.ask(std::slice::from_ref(name), through).await {
            Ok(_) => {
                self.0.fetched.notify_one();
                self.held(name).await
            }
            Err(Trouble::Upstream(UpstreamError::Elsewhere { .. })) => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }
}

impl Missing {
    /// The bucket that shows it, where it is one of this moment.
    pub(super) fn bucket_at(&self, heads: &Hash) -> Option<Arc<ProvenBucket>> {
        (self.heads == *heads).then(|| Arc::clone(&self.bucket))
    }

    /// The moment in which it was missing.
    pub(super) fn heads(&self) -> Hash {
        self.heads
    }
}

type Buckets = BTreeMap<u16, (Bucket, Arc<ProvenBucket>)>;

fn read_buckets(proven: Vec<ProvenBucket>, heads: &Hash) -> Result<Buckets, Trouble> {
    let mut buckets = Buckets::new();
    for proven in proven {
        let number = proven.bucket;
        let refused = |reason: String| Trouble::log(format!("bucket {number} of a view: {reason}"));
        let bytes: Vec<u8> = proven.heads.0.iter().flat_map(|hash| *hash.as_bytes()).collect();
        let bucket =
            Bucket::from_bytes(number, &bytes).map_err(|error| refused(error.to_string()))?;
        bucket
            .verify(number, heads, &proven.proof.0)
            .map_err(|error| refused(error.to_string()))?;
        buckets.insert(number, (bucket, Arc::new(proven)));
    }
    Ok(buckets)
}

type Documents = BTreeMap<QualifiedName, (Bytes, Document)>;

/// Reads documents, and refuses what no registry answers an anonymous caller with.
fn read_documents(raw: &[Box<RawValue>]) -> Result<Documents, Trouble> {
    let mut documents = Documents::new();
    for raw in raw {
        let document: Document = serde_json::from_str(raw.get()).map_err(|error| {
            Trouble::log(format!("a document cannot be read: {}", escape(&error.to_string())))
        })?;
        let refused = |reason: &str| Err(Trouble::lie(document.name.to_string(), reason));
        if document.private {
            return refused("its document says that it is private");
        }
        let versions: BTreeSet<_> = document.versions.iter().map(|entry| &entry.version).collect();
        if versions.len() != document.versions.len() || versions.len() > MAX_VERSIONS {
            return refused("its document names a version twice, or too many");
        }
        let bytes = Bytes::copy_from_slice(raw.get().as_bytes());
        documents.insert(document.name.clone(), (bytes, document));
    }
    Ok(documents)
}

/// A cache of the documents that are asked for often.
pub(super) type HeldCache = Cache<QualifiedName, Held, ByLength>;

/// Weighs a document by its length.
#[derive(Debug, Clone)]
pub(super) struct ByLength;

impl quick_cache::Weighter<QualifiedName, Held> for ByLength {
    fn weight(&self, _: &QualifiedName, held: &Held) -> u64 {
        held.bytes.len() as u64 + 256
    }
}
