//! Skills' documents, as bytes that are ready to be sent.

use std::sync::Arc;

use axum::http::HeaderValue;
use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use skillpkg_schema::finding::FindingCount;
use skillpkg_schema::wire::{DeletedVersion, Document, SignerKey, VersionEntry, Yank};
use skillpkg_schema::{Blake3Digest, QualifiedName, Sha256Digest};

use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row as _};

use crate::auth::Caller;
use crate::database::Database;
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
    public: Documents,
    private: Documents,
    counts: metrics::Cache,
}

impl DocumentCache {
    /// An empty one over `database`, which counts how often it helps.
    pub fn new(database: Database, counts: metrics::Cache) -> Self {
        let cache = || Cache::with_weighter(CACHE_ITEMS, CACHE_BYTES, ByLength);
        Self { database, public: cache(), private: cache(), counts }
    }

    /// The document of `name`, where it is there and `caller` may read it.
    pub async fn get(&self, caller: &Caller, name: &QualifiedName) -> Answer<Known> {
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
        let known = self.load(name, private).await?;
        // Refused where the name was forgotten since the load began: then this may be what was.
        let _ = guard.insert(known.clone());
        Ok(known)
    }

    /// Forgets a document that was changed; called once the change is committed.
    pub fn forget(&self, name: &QualifiedName) {
        self.public.remove(name);
        self.private.remove(name);
    }

    async fn load(&self, name: &QualifiedName, private: bool) -> Answer<Known> {
        let document = load(&self.database, name, private).await?;
        let Some(document) = document else { return Ok(None) };
        let bytes = serde_json::to_vec(&document).map_err(|error| Refusal::internal(&error))?;
        let etag = etag(&Sha256Digest::of(&bytes).to_string())?;
        let (bytes, private) = (bytes.into(), document.private);
        Ok(Some(Arc::new(Prepared { bytes, etag, private })))
    }
}

/// A strong entity tag.
pub fn etag(text: &str) -> Answer<HeaderValue> {
    HeaderValue::try_from(format!("\"{text}\"")).map_err(|error| Refusal::internal(&error))
}

/// A key's id, its account, the public key, when it was revoked, and why.
type KeyRow = (String, String, String, Option<String>, Option<String>);

/// Version, address, reason, and when it was deleted.
type DeletedRow = (String, String, String, String);

struct VersionRow {
    id: i64,
    version: String,
    address: String,
    blake3: String,
    archive: String,
    size: i64,
    unpacked_size: i64,
    published: String,
    description: String,
    yank_reason: Option<String>,
    log_index: Option<i64>,
    findings: Option<String>,
}

impl FromRow<'_, SqliteRow> for VersionRow {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: row.try_get("id")?,
            version: row.try_get("version")?,
            address: row.try_get("address")?,
            blake3: row.try_get("blake3")?,
            archive: row.try_get("archive")?,
            size: row.try_get("size")?,
            unpacked_size: row.try_get("unpacked_size")?,
            published: row.try_get("published")?,
            description: row.try_get("description")?,
            yank_reason: row.try_get("yank_reason")?,
            log_index: row.try_get("log_index")?,
            findings: row.try_get("findings")?,
        })
    }
}

/// Reads the document of a skill of this visibility.
async fn load(
    database: &Database,
    name: &QualifiedName,
    private: bool,
) -> Answer<Option<Document>> {
    // One connection and one snapshot: the versions and their keys are of one moment.
    let mut read = database.readers().begin().await?;
    let found: Option<(i64, Option<String>)> = sqlx::query_as(
        "SELECT k.id, k.current_version FROM skills k JOIN scopes s ON s.id = k.scope_id
         WHERE s.name = $1 AND k.name = $2 AND s.private = $3",
    )
    .bind(name.wire_scope())
    .bind(name.name().as_str())
    .bind(private)
    .fetch_optional(&mut *read)
    .await?;
    let Some((skill, current)) = found else { return Ok(None) };
    let rows: Vec<VersionRow> = sqlx::query_as(
        "SELECT id, version, address, blake3, archive, size, unpacked_size, published, description,
         yank_reason, log_index, findings FROM versions WHERE skill_id = $1 ORDER BY id",
    )
    .bind(skill)
    .fetch_all(&mut *read)
    .await?;
    let signed: Vec<(i64, String)> = sqlx::query_as(
        "SELECT vk.version_id, vk.key_id FROM version_keys vk
         JOIN versions v ON v.id = vk.version_id
         WHERE v.skill_id = $1 ORDER BY vk.version_id, vk.key_id",
    )
    .bind(skill)
    .fetch_all(&mut *read)
    .await?;
    // Under a registration that was taken over a key is still the account's that published with it,
    // which is told before the one that has it now.
    let mut keys: Vec<KeyRow> = sqlx::query_as(
        "SELECT DISTINCT k.id, a.name, k.pem, coalesce(f.revoked, k.revoked) AS revoked,
         coalesce(f.revoke_reason, k.revoke_reason) AS reason, f.key_id IS NULL AS present
         FROM keys k JOIN version_keys vk ON vk.key_id = k.id JOIN versions v ON v.id = vk.version_id
         LEFT JOIN former_keys f ON f.key_id = k.id AND f.account_id = v.publisher_id
         JOIN accounts a ON a.id = coalesce(f.account_id, k.account_id)
         WHERE v.skill_id = $1 ORDER BY k.id, present, f.revoked, a.name",
    )
    .bind(skill)
    .fetch_all(&mut *read)
    .await?;
    keys.dedup_by(|later, first| later.0 == first.0);
    let deleted: Vec<DeletedRow> = sqlx::query_as(
        "SELECT version, address, reason, deleted FROM deleted_versions WHERE skill_id = $1
         ORDER BY id",
    )
    .bind(skill)
    .fetch_all(&mut *read)
    .await?;
    read.rollback().await?;
    let mut document = document(name, private, current.as_deref(), rows, &signed, keys)?;
    document.deleted = deleted
        .into_iter()
        .map(|(version, address, reason, deleted)| {
            let address = stored::<Sha256Digest>(&address)?.address();
            Ok(DeletedVersion { version: stored(&version)?, address, reason, deleted })
        })
        .collect::<Answer<_>>()?;
    Ok(Some(document))
}

fn document(
    name: &QualifiedName,
    private: bool,
    current: Option<&str>,
    rows: Vec<VersionRow>,
    signed: &[(i64, String)],
    keys: Vec<KeyRow>,
) -> Answer<Document> {
    let description = rows
        .iter()
        .find(|row| current == Some(row.version.as_str()))
        .or(rows.last())
        .map_or_else(String::new, |row| row.description.clone());
    let mut signed = signed.iter().peekable();
    let mut versions = Vec::with_capacity(rows.len());
    for row in rows {
        let mut key_ids = Vec::new();
        while let Some((_, key)) = signed.next_if(|(version, _)| *version == row.id) {
            key_ids.push(stored(key)?);
        }
        versions.push(VersionEntry {
            version: stored(&row.version)?,
            address: stored::<Sha256Digest>(&row.address)?.address(),
            blake3: stored::<Blake3Digest>(&row.blake3)?.address(),
            archive: stored::<Sha256Digest>(&row.archive)?.address(),
            size: row.size.unsigned_abs(),
            unpacked_size: row.unpacked_size.unsigned_abs(),
            key_ids,
            published: row.published,
            yanked: row.yank_reason.map(|reason| Yank { reason }),
            log_index: row.log_index.map(i64::unsigned_abs),
            findings: row.findings.as_deref().map(counts).transpose()?,
        });
    }
    let keys = keys
        .into_iter()
        .map(|(id, account, pem, revoked, reason)| {
            Ok(SignerKey { id: stored(&id)?, account, pem, revoked, revoked_index: None, reason })
        })
        .collect::<Answer<_>>()?;
    let (name, deleted, advisories) = (name.clone(), Vec::new(), Vec::new());
    Ok(Document { name, description, private, versions, keys, deleted, advisories })
}

/// Reads how much was found in a version.
fn counts(text: &str) -> Answer<Vec<FindingCount>> {
    serde_json::from_str(text).map_err(|error| Refusal::internal(&error))
}

/// Reads a text that the registry has written; anything else in its place is a fault of its own.
pub fn stored<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Answer<T> {
    text.parse().map_err(|error: T::Err| Refusal::internal(&error))
}
