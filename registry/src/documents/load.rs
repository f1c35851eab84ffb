//! Reads skills' documents from the database.

use skillpkg_schema::finding::FindingCount;
use skillpkg_schema::wire::{DeletedVersion, Document, SignerKey, VersionEntry, Yank};
use skillpkg_schema::{Blake3Digest, QualifiedName, Sha256Digest};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow, Row as _};

use super::stored;
use crate::advisories;
use crate::database::Truth;
use crate::problem::{Answer, Refusal};

/// A key's id, its account, the public key, whether it is held here, when it was revoked, why, and the
/// leaf of that.
type KeyRow = (String, String, String, Truth, Option<String>, Option<String>, Option<i64>);

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

impl FromRow<'_, AnyRow> for VersionRow {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
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

/// Reads the document of a skill as a transaction sees it: the versions and their keys are of one
/// moment. With `private`, that of a skill of this visibility alone: one of the other takes the time
/// of one that is not there.
pub async fn load(
    read: &mut AnyConnection,
    name: &QualifiedName,
    private: Option<bool>,
) -> Answer<Option<Document>> {
    let found: Option<(i64, Option<String>, Truth)> = sqlx::query_as(
        "SELECT k.id, k.current_version, s.private = TRUE FROM skills k
         JOIN scopes s ON s.id = k.scope_id WHERE s.name = $1 AND k.name = $2 AND ($3 IS NULL OR s.private = $3)",
    )
    .bind(name.wire_scope())
    .bind(name.name().as_str())
    .bind(private)
    .fetch_optional(&mut *read)
    .await?;
    let Some((skill, current, Truth(private))) = found else { return Ok(None) };
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
        "SELECT DISTINCT k.id, a.name, k.pem, k.held = TRUE AS held, coalesce(f.revoked, k.revoked) AS revoked,
         coalesce(f.revoke_reason, k.revoke_reason) AS reason, r.log_index,
         f.key_id IS NULL AS present
         FROM keys k JOIN version_keys vk ON vk.key_id = k.id JOIN versions v ON v.id = vk.version_id
         LEFT JOIN former_keys f ON f.key_id = k.id AND f.account_id = v.publisher_id
         JOIN accounts a ON a.id = coalesce(f.account_id, k.account_id)
         LEFT JOIN log_revocations r ON r.key_id = k.id AND r.account_id = a.id
         WHERE v.skill_id = $1 ORDER BY k.id, present, revoked, a.name",
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
    let mut document = document(name, private, current.as_deref(), rows, &signed, keys)?;
    document.deleted = deleted
        .into_iter()
        .map(|(version, address, reason, deleted)| {
            let address = stored::<Sha256Digest>(&address)?.address();
            Ok(DeletedVersion { version: stored(&version)?, address, reason, deleted })
        })
        .collect::<Answer<_>>()?;
    document.advisories = advisories::of_skill(read, skill).await?;
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
        .map(|(id, account, pem, Truth(held), revoked, reason, index)| {
            let revoked_index = index.map(i64::unsigned_abs);
            Ok(SignerKey { id: stored(&id)?, account, pem, held, revoked, revoked_index, reason })
        })
        .collect::<Answer<_>>()?;
    let (name, deleted, advisories) = (name.clone(), Vec::new(), Vec::new());
    Ok(Document { name, description, private, versions, keys, deleted, advisories })
}

/// Reads how much was found in a version.
fn counts(text: &str) -> Answer<Vec<FindingCount>> {
    serde_json::from_str(text).map_err(|error| Refusal::internal(&error))
}
