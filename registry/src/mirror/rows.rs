//! The rows of documents that are held.

use std::collections::BTreeMap;

use skillpkg_schema::log::{Hash, bucket_of, head_key};
use skillpkg_schema::wire::{Document, ProvenBucket, VersionEntry};
use skillpkg_schema::{QualifiedName, Sha256Digest};

use crate::clock;
use crate::database::{Write, placeholders};
use crate::words::{Index, Texts};

/// Rows inserted by one statement.
const ROWS: usize = 300;

/// Version, and the address, the BLAKE3 address and the archive that it has for good.
type VersionRow = (String, String, String, String);

/// What of a version never changes, as a row holds it.
fn fixed(entry: &VersionEntry) -> [String; 3] {
    [entry.address.hex(), entry.blake3.hex(), entry.archive.hex()]
}

/// How a document changes what may not: a version that was there with other content, or by other
/// signers.
pub(super) async fn changed(
    write: &mut Write,
    name: &QualifiedName,
    document: &Document,
) -> Result<Option<String>, sqlx::Error> {
    let known: Vec<VersionRow> = sqlx::query_as(
        "SELECT v.version, v.address, v.blake3, v.archive FROM mirrored_versions v
         JOIN mirrored_skills k ON k.id = v.skill_id WHERE k.scope = $1 AND k.name = $2",
    )
    .bind(name.wire_scope())
    .bind(name.name().as_str())
    .fetch_all(&mut **write)
    .await?;
    let known: BTreeMap<String, [String; 3]> = known
        .into_iter()
        .map(|(version, address, blake3, archive)| (version, [address, blake3, archive]))
        .collect();
    for entry in &document.versions {
        let before = known.get(&entry.version.to_string());
        if before.is_some_and(|before| *before != fixed(entry)) {
            return Ok(Some(format!(
                "upstream has version {} with other content than before; what was there is kept",
                entry.version
            )));
        }
    }
    let held: Option<Vec<u8>> =
        sqlx::query_scalar("SELECT document FROM mirrored_skills WHERE scope = $1 AND name = $2")
            .bind(name.wire_scope())
            .bind(name.name().as_str())
            .fetch_optional(&mut **write)
            .await?;
    // What was kept was read before it was: one that is not understood names nobody.
    let held = held.and_then(|bytes| serde_json::from_slice::<Document>(&bytes).ok());
    Ok(held.and_then(|held| signed_otherwise(&held, document)))
}

/// The version of which a document names other signers than the one before did: the archive, in
/// which the signatures lie, is still the same.
fn signed_otherwise(before: &Document, document: &Document) -> Option<String> {
    let known: BTreeMap<_, _> =
        before.versions.iter().map(|entry| (&entry.version, &entry.key_ids)).collect();
    let changed = document
        .versions
        .iter()
        .find(|entry| known.get(&entry.version).is_some_and(|before| **before != entry.key_ids))?;
    Some(format!(
        "upstream names other signers of version {} than before; what was there is kept",
        changed.version
    ))
}

/// A document to keep.
#[derive(Debug)]
pub(super) struct NewDocument<'a> {
    pub(super) name: &'a QualifiedName,
    pub(super) document: &'a Document,
    pub(super) bytes: &'a [u8],
    pub(super) digest: &'a Sha256Digest,
    pub(super) origin: String,
    pub(super) heads: &'a Hash,
}

/// Keeps a document in the place of the one that was held; its versions stay what they were.
pub(super) async fn store(write: &mut Write, new: &NewDocument<'_>) -> Result<(), sqlx::Error> {
    let NewDocument { name, document, bytes, digest, origin, heads } = new;
    let unchanged = sqlx::query(
        "UPDATE mirrored_skills SET heads = $1 WHERE scope = $2 AND name = $3 AND digest = $4",
    )
    .bind(heads.to_string())
    .bind(name.wire_scope())
    .bind(name.name().as_str())
    .bind(digest.to_string())
    .execute(&mut **write)
    .await?;
    if unchanged.rows_affected() > 0 {
        return Ok(());
    }
    let current = newest(document);
    let skill: i64 = sqlx::query_scalar(
        "INSERT INTO mirrored_skills (origin, scope, name, document, digest, heads, bucket,
         description, current_version, used) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (scope, name) DO UPDATE SET document = excluded.document,
         digest = excluded.digest, heads = excluded.heads, bucket = excluded.bucket,
         description = excluded.description, current_version = excluded.current_version
         RETURNING id",
    )
    .bind(origin)
    .bind(name.wire_scope())
    .bind(name.name().as_str())
    .bind(*bytes)
    .bind(digest.to_string())
    .bind(heads.to_string())
    .bind(i64::from(bucket_of(&head_key(name))))
    .bind(&document.description)
    .bind(current.map(|entry| entry.version.to_string()))
    .bind(clock::this_hour())
    .fetch_one(&mut **write)
    .await?;
    sqlx::query("UPDATE mirrored_versions SET listed = FALSE WHERE skill_id = $1")
        .bind(skill)
        .execute(&mut **write)
        .await?;
    for entries in document.versions.chunks(ROWS) {
        let head =
            "INSERT INTO mirrored_versions (skill_id, version, address, blake3, archive, size,
            listed) VALUES ";
        let tail = " ON CONFLICT (skill_id, version) DO UPDATE SET listed = TRUE";
        let mut query = sqlx::query(placeholders(head, entries.len(), 7, tail));
        for entry in entries {
            let [address, blake3, archive] = fixed(entry);
            query = query
                .bind(skill)
                .bind(entry.version.to_string())
                .bind(address)
                .bind(blake3)
                .bind(archive)
                .bind(entry.size.cast_signed())
                .bind(true);
        }
        query.execute(&mut **write).await?;
    }
    refresh_text(write, skill, name).await
}

/// What search finds a skill by: what its document says, and what its current version can do where
/// that is held.
pub(super) async fn refresh_text(
    write: &mut Write,
    skill: i64,
    name: &QualifiedName,
) -> Result<(), sqlx::Error> {
    let texts: Option<(String, String)> = sqlx::query_as(
        "SELECT k.description, coalesce(v.search_text, '') FROM mirrored_skills k
         LEFT JOIN mirrored_versions v ON v.skill_id = k.id AND v.version = k.current_version
         WHERE k.id = $1 AND k.current_version IS NOT NULL",
    )
    .bind(skill)
    .fetch_optional(&mut **write)
    .await?;
    let texts =
        texts.as_ref().map(|(description, capabilities)| Texts { name, description, capabilities });
    Index::Mirrored.put(write, skill, texts.as_ref()).await
}

/// Keeps a bucket that proves documents of a moment.
pub(super) async fn store_bucket(
    write: &mut Write,
    heads: &Hash,
    bucket: &ProvenBucket,
) -> Result<(), sqlx::Error> {
    let bytes =
        |hashes: &[Hash]| -> Vec<u8> { hashes.iter().flat_map(|hash| *hash.as_bytes()).collect() };
    sqlx::query(
        "INSERT INTO relayed_buckets (heads, number, bytes, proof)
         SELECT $1, $2, $3, $4 WHERE EXISTS (SELECT 1 FROM mirrored_skills
           WHERE heads = $1 AND bucket = $2)
         ON CONFLICT (heads, number) DO NOTHING",
    )
    .bind(heads.to_string())
    .bind(i64::from(bucket.bucket))
    .bind(bytes(&bucket.heads.0))
    .bind(bytes(&bucket.proof.0))
    .execute(&mut **write)
    .await?;
    Ok(())
}

/// The newest release that is not yanked, else the newest pre-release that is not.
fn newest(document: &Document) -> Option<&VersionEntry> {
    document.versions.iter().filter(|entry| entry.yanked.is_none()).max_by(|one, other| {
        let order = |entry: &VersionEntry| (!entry.version.is_prerelease(), entry.version.clone());
        order(one).cmp(&order(other))
    })
}
