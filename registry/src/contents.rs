//! Which content a caller may read, and the bytes of small content that is asked for often.

use std::ops::Range;

use axum::body::Body;
use bytes::Bytes;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use skillpkg_schema::{Algorithm, ContentAddress, Sha256Digest};

use crate::auth::Caller;
use crate::blobs::{Blobs, Kind};
use crate::database::{Database, Truth};
use crate::documents::stored;
use crate::metrics;
use crate::problem::{Answer, Refusal};

/// Content up to this many bytes is kept in memory while it is asked for.
const SMALL_BYTES: u64 = 256 * 1024;
/// Most bytes of content in memory.
const CACHE_BYTES: u64 = 32 * 1024 * 1024;
/// About how many pieces of content that is.
const CACHE_ITEMS: usize = 8_192;
/// Addresses of public content that are remembered.
const REMEMBERED: usize = 100_000;

/// Content that is there and that the caller may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Located {
    /// Of what kind.
    pub kind: Kind,
    /// The SHA-256 of its bytes, which its object is named by.
    pub digest: Sha256Digest,
    /// Its length in bytes.
    pub size: u64,
    /// Whether anybody may read it.
    pub public: bool,
}

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<(Kind, Sha256Digest), Bytes> for ByLength {
    fn weight(&self, _: &(Kind, Sha256Digest), bytes: &Bytes) -> u64 {
        bytes.len() as u64 + 128
    }
}

/// Content by its address.
///
/// Content is readable where some version that holds it is. What is public stays so until a version
/// is deleted: its addresses are remembered until then, and hot reads ask no database. What is
/// private is asked for each time, by one query that is the same for what is not there.
#[derive(Debug)]
pub struct Contents {
    database: Database,
    blobs: Blobs,
    public: Cache<(Kind, ContentAddress), Located>,
    small: Cache<(Kind, Sha256Digest), Bytes, ByLength>,
    counts: metrics::Cache,
}

impl Contents {
    /// Nothing remembered yet; counts how often what is helps.
    pub fn new(database: Database, blobs: Blobs, counts: metrics::Cache) -> Self {
        let public = Cache::new(REMEMBERED);
        let small = Cache::with_weighter(CACHE_ITEMS, CACHE_BYTES, ByLength);
        Self { database, blobs, public, small, counts }
    }

    /// The content at `address`, where it is there and `caller` may read it.
    pub async fn locate(
        &self,
        caller: &Caller,
        kind: Kind,
        address: &ContentAddress,
    ) -> Answer<Option<Located>> {
        if let Some(located) = self.public.get(&(kind, *address)) {
            return Ok(Some(located));
        }
        caller.known()?;
        let row: Option<(String, i64, Truth, Truth)> = sqlx::query_as(query(kind, address))
            .bind(address.hex())
            .bind(caller.reader())
            .fetch_optional(self.database.readers())
            .await?;
        let Some((digest, size, Truth(public), Truth(member))) = row else { return Ok(None) };
        if !public && !member {
            return Ok(None);
        }
        let located = Located { kind, digest: stored(&digest)?, size: size.unsigned_abs(), public };
        if public {
            self.public.insert((kind, *address), located);
        }
        Ok(Some(located))
    }

    /// Forgets which content is public; called once a deletion is committed.
    ///
    /// What was being looked up meanwhile may come to be remembered after this: whoever deletes
    /// calls it again a while later.
    pub fn forget_public(&self) {
        self.public.clear();
    }

    /// The bytes of located content, or of a range of it: from memory, or as they are read.
    pub async fn body(&self, located: &Located, range: Option<Range<u64>>) -> Answer<Body> {
        let (kind, digest) = (located.kind, located.digest);
        if located.size <= SMALL_BYTES {
            let bytes = self.small(located).await?;
            let slice = |range: Range<u64>| {
                let start = usize::try_from(range.start).ok()?;
                let end = usize::try_from(range.end).ok()?;
                (start <= end && end <= bytes.len()).then(|| bytes.slice(start..end))
            };
            let part = range.map_or_else(|| Some(bytes.clone()), slice);
            return part.map(Body::from).ok_or_else(|| damaged(located));
        }
        let content = self.blobs.read(kind, &digest, range).await?;
        content.map(Body::from_stream).ok_or_else(|| damaged(located))
    }

    async fn small(&self, located: &Located) -> Answer<Bytes> {
        let key = (located.kind, located.digest);
        if let Some(bytes) = self.small.get(&key) {
            self.counts.hits.one();
            return Ok(bytes);
        }
        self.counts.misses.one();
        let bytes = self.blobs.read_whole(located.kind, &located.digest, SMALL_BYTES).await?;
        let bytes = bytes.filter(|bytes| bytes.len() as u64 == located.size);
        let bytes = bytes.ok_or_else(|| damaged(located))?;
        self.small.insert(key, bytes.clone());
        Ok(bytes)
    }
}

/// A row names it and it is not there: `verify` shows such.
fn damaged(located: &Located) -> Refusal {
    let Located { kind, digest, .. } = located;
    Refusal::internal(&format!("{} {digest} is missing or cut short", kind.prefix()))
}

/// Finds content by its digest (`$1`): its SHA-256, its length, whether it is public, and whether
/// the account (`$2`) is a member of a scope that holds it.
fn query(kind: Kind, address: &ContentAddress) -> &'static str {
    macro_rules! of_file {
        ($column:literal) => {
            concat!(
                "SELECT b.sha256, b.size,
                 EXISTS (SELECT 1 FROM version_blobs h JOIN versions v ON v.id = h.version_id
                   JOIN skills k ON k.id = v.skill_id JOIN scopes s ON s.id = k.scope_id
                   WHERE h.sha256 = b.sha256 AND s.private = FALSE),
                 EXISTS (SELECT 1 FROM version_blobs h JOIN versions v ON v.id = h.version_id
                   JOIN skills k ON k.id = v.skill_id
                   JOIN scope_members m ON m.scope_id = k.scope_id
                   WHERE h.sha256 = b.sha256 AND m.account_id = $2)
                 FROM blobs b WHERE b.",
                $column,
                " = $1"
            )
        };
    }
    macro_rules! of_version {
        ($digest:literal, $size:literal, $column:literal) => {
            concat!(
                "SELECT v.",
                $digest,
                ", v.",
                $size,
                ", s.private = FALSE,
                 EXISTS (SELECT 1 FROM scope_members m
                   WHERE m.scope_id = s.id AND m.account_id = $2)
                 FROM versions v JOIN skills k ON k.id = v.skill_id
                 JOIN scopes s ON s.id = k.scope_id WHERE v.",
                $column,
                " = $1"
            )
        };
    }
    match (kind, address.algorithm()) {
        (Kind::File, Algorithm::Sha256) => of_file!("sha256"),
        (Kind::File, Algorithm::Blake3) => of_file!("blake3"),
        (Kind::Manifest, Algorithm::Sha256) => of_version!("address", "manifest_size", "address"),
        (Kind::Manifest, Algorithm::Blake3) => of_version!("address", "manifest_size", "blake3"),
        // An archive's name is its SHA-256 alone; whoever routes refuses the other.
        (Kind::Archive, _) => of_version!("archive", "size", "archive"),
        // So is a container's.
        (Kind::Rendering, _) => {
            "SELECT r.digest, r.size, s.private = FALSE,
             EXISTS (SELECT 1 FROM scope_members m
               WHERE m.scope_id = s.id AND m.account_id = $2)
             FROM renderings r JOIN versions v ON v.address = r.address
             JOIN skills k ON k.id = v.skill_id JOIN scopes s ON s.id = k.scope_id
             WHERE r.digest = $1 AND r.held = TRUE LIMIT 1"
        }
    }
}
