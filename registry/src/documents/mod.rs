//! Skills' documents, as bytes that are ready to be sent.
//!
//! A document shows what the newest checkpoint of the log covers, and nothing else: what is committed
//! and not yet covered is not in it.

mod form;
mod load;

use std::sync::Arc;

use axum::http::HeaderValue;
use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use skillpkg_schema::wire::Document;
use skillpkg_schema::{QualifiedName, Sha256Digest};
use sqlx::AnyConnection;

pub use form::form;
pub use load::load;

use crate::auth::Caller;
use crate::database::Database;
use crate::log::Progress;
use crate::metrics;
use crate::problem::{Answer, Refusal};

/// Most bytes of documents in memory, of public and of private ones each.
const CACHE_BYTES: u64 = 32 * 1024 * 1024;
/// About how many documents that is.
const CACHE_ITEMS: usize = 16_384;

/// A document that is ready to be sent.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// Its JSON.
    pub bytes: Bytes,
    /// Their SHA-256: what the log's heads tree lists.
    pub digest: Sha256Digest,
    /// A strong validator of those bytes.
    pub etag: HeaderValue,
    /// Whether members alone may read it.
    pub private: bool,
}

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<QualifiedName, Known> for ByLength {
    fn weight(&self, _: &QualifiedName, known: &Known) -> u64 {
        known.as_ref().map_or(0, |prepared| prepared.bytes.len() as u64) + 256
    }
}

/// What is known of a name: its document, or that there is none.
pub type Known = Option<Arc<Prepared>>;

type Documents = Cache<QualifiedName, Known, ByLength>;

/// The documents, the hot ones in memory.
///
/// Private ones are kept apart: a caller who may not read them takes the path of one who asks for
/// what is not there, and its time. That there is none is remembered as well, since clients ask for
/// names on several registries; a publish forgets it.
#[derive(Debug)]
pub struct DocumentCache {
    database: Database,
    progress: Arc<Progress>,
    public: Documents,
    private: Documents,
    counts: metrics::Cache,
}

impl DocumentCache {
    /// An empty one over `database`, which counts how often it helps; `progress` tells of checkpoints.
    pub fn new(database: Database, progress: Arc<Progress>, counts: metrics::Cache) -> Self {
        let cache = || Cache::with_weighter(CACHE_ITEMS, CACHE_BYTES, ByLength);
        Self { database, progress, public: cache(), private: cache(), counts }
    }

    /// The document of `name`, where it is there and `caller` may read it.
    pub async fn get(&self, caller: &Caller, name: &QualifiedName) -> Answer<Known> {
        if let Err(refusal) = caller.known() {
            let prepared = self.public.get(name).flatten().ok_or(refusal)?;
            self.counts.hits.one();
            return Ok(Some(prepared));
        }
        if !caller.reads_private(name) {
            return self.through(&self.public, name, false).await;
        }
        if let Some(Some(prepared)) = self.public.get(name) {
            self.counts.hits.one();
            return Ok(Some(prepared));
        }
        match self.through(&self.private, name, true).await? {
            Some(prepared) => Ok(Some(prepared)),
            // Not there, or of a public scope.
            None => self.through(&self.public, name, false).await,
        }
    }

    /// What is known of a name of this visibility, asking the database where that is nothing.
    async fn through(
        &self,
        cache: &Documents,
        name: &QualifiedName,
        private: bool,
    ) -> Answer<Known> {
        let guard = match cache.get_value_or_guard_async(name).await {
            Ok(known) => {
                self.counts.hits.one();
                return Ok(known);
            }
            Err(guard) => guard,
        };
        self.counts.misses.one();
        let known = self.load(cache, name, private).await?;
        // Refused where the name was forgotten since the load began: then this may be what was.
        let _ = guard.insert(known.clone());
        Ok(known)
    }

    /// Forgets a document that was changed; called once the change is committed.
    pub fn forget(&self, name: &QualifiedName) {
        self.public.remove(name);
        self.private.remove(name);
    }

    /// Puts a document that a checkpoint covers in the place of the one before; [`None`] leaves it
    /// to whoever asks to load it.
    pub fn replace(&self, name: &QualifiedName, ready: Option<Arc<Prepared>>) {
        // What is being loaded by now is of a moment before: it is not remembered.
        self.forget(name);
        if let Some(prepared) = ready {
            let cache = if prepared.private { &self.private } else { &self.public };
            cache.insert(name.clone(), Some(prepared));
        }
    }

    /// Loads the document of a name of this visibility, as the newest checkpoint has it.
    async fn load(&self, cache: &Documents, name: &QualifiedName, private: bool) -> Answer<Known> {
        loop {
            let next = self.progress.next();
            let mut read = self.database.readers().begin().await?;
            if !is_pending(&mut read, name, private).await? {
                let document = load(&mut read, name, Some(private)).await?;
                read.rollback().await?;
                return document.map(|document| prepare(&document).map(Arc::new)).transpose();
            }
            read.rollback().await?;
            // It is committed and not yet covered: the checkpoint that covers it is being made.
            next.come().await?;
            // It may come with that, and be changed again by then.
            if let Some(known) = cache.get(name) {
                return Ok(known);
            }
        }
    }
}

/// Whether a change of the document of a skill of this visibility is committed that no checkpoint
/// covers.
pub async fn is_pending(
    read: &mut AnyConnection,
    name: &QualifiedName,
    private: bool,
) -> Answer<bool> {
    let pending: Option<i64> = sqlx::query_scalar(
        "SELECT 1 FROM log_touched t JOIN skills k ON k.id = t.skill_id
         JOIN scopes s ON s.id = k.scope_id WHERE s.name = $1 AND k.name = $2 AND s.private = $3
         LIMIT 1",
    )
    .bind(name.wire_scope())
    .bind(name.name().as_str())
    .bind(private)
    .fetch_optional(read)
    .await?;
    Ok(pending.is_some())
}

/// A document's bytes, as they are sent and as the log has their digest.
pub fn prepare(document: &Document) -> Answer<Prepared> {
    let bytes = serde_json::to_vec(document).map_err(|error| Refusal::internal(&error))?;
    let digest = Sha256Digest::of(&bytes);
    let etag = etag(&digest.to_string())?;
    Ok(Prepared { bytes: bytes.into(), digest, etag, private: document.private })
}

/// A strong entity tag.
pub fn etag(text: &str) -> Answer<HeaderValue> {
    HeaderValue::try_from(format!("\"{text}\"")).map_err(|error| Refusal::internal(&error))
}

/// Reads a text that the registry has written; anything else in its place is a fault of its own.
pub fn stored<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Answer<T> {
    text.parse().map_err(|error: T::Err| Refusal::internal(&error))
}
