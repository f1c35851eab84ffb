//! The rows of a version.

use std::collections::BTreeMap;

use skillpkg_schema::{Blake3Digest, Manifest, Sha256Digest};

use super::verify::Verified;
use crate::auth::Credential;
use crate::clock;
use crate::database::{Write, placeholders};
use crate::documents::stored;
use crate::problem::{Answer, Code, Refusal};
use crate::skills::{Skill, versions};

/// Most versions of one skill, deleted ones among them: its document stays within what a client reads.
const MAX_VERSIONS: i64 = 10_000;
/// Rows inserted by one statement.
const ROWS: usize = 300;
/// Most bytes of text that search finds one version by.
const MAX_SEARCH_TEXT: usize = 64 * 1024;
/// Most capabilities of a version that a search answers with.
const MAX_CAPABILITIES: usize = 100;

/// Inserts the row of a version and those of the keys that signed it; answers with the former.
pub(super) async fn insert_version(
    write: &mut Write,
    credential: &Credential,
    skill: Skill,
    verified: &Verified,
) -> Answer<i64> {
    let manifest = &verified.manifest;
    let versions: i64 = sqlx::query_scalar(
        "SELECT (SELECT count(*) FROM versions WHERE skill_id = $1)
         + (SELECT count(*) FROM deleted_versions WHERE skill_id = $1)",
    )
    .bind(skill.id)
    .fetch_one(&mut **write)
    .await?;
    if versions >= MAX_VERSIONS {
        let detail = format!("`{}` has {MAX_VERSIONS} versions, which is the most", manifest.name);
        return Err(Refusal::new(Code::TooMany, detail));
    }
    let envelope = String::from_utf8(verified.envelope.to_bytes())
        .map_err(|error| Refusal::internal(&error))?;
    let findings =
        serde_json::to_string(&verified.findings).map_err(|error| Refusal::internal(&error))?;
    let id: i64 = sqlx::query_scalar(
        "INSERT INTO versions (skill_id, version, version_key, publisher_id, published, address,
         blake3, archive, size, unpacked_size, manifest_size, envelope, description, capabilities,
         search_text, findings)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
         RETURNING id",
    )
    .bind(skill.id)
    .bind(manifest.version.to_string())
    .bind(versions::key(&manifest.version))
    .bind(credential.account_id)
    .bind(clock::now())
    .bind(verified.manifest_digests.sha256.to_string())
    .bind(verified.manifest_digests.blake3.to_string())
    .bind(verified.archive_digests.sha256.to_string())
    .bind(length(verified.archive_digests.size))
    .bind(length(manifest.unpacked_size()))
    .bind(length(verified.manifest_digests.size))
    .bind(envelope)
    .bind(&manifest.description)
    .bind(capabilities(manifest))
    .bind(search_text(manifest))
    .bind(findings)
    .fetch_one(&mut **write)
    .await?;
    for key in &verified.key_ids {
        sqlx::query("INSERT INTO version_keys (version_id, key_id) VALUES ($1, $2)")
            .bind(id)
            .bind(key.to_string())
            .execute(&mut **write)
            .await?;
    }
    Ok(id)
}

/// A length as the database holds it; every bound is far below.
fn length(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Inserts the rows of a version's files, each content once; answers with those that no row named.
pub(super) async fn insert_blobs(
    write: &mut Write,
    version: i64,
    manifest: &Manifest,
) -> Answer<Vec<Sha256Digest>> {
    let blobs: BTreeMap<Sha256Digest, (Blake3Digest, u64)> =
        manifest.files.iter().map(|file| (file.sha256, (file.blake3, file.size))).collect();
    let blobs: Vec<(String, String, i64)> = blobs
        .into_iter()
        .map(|(sha256, (blake3, size))| (sha256.to_string(), blake3.to_string(), length(size)))
        .collect();
    let mut fresh = Vec::new();
    for rows in blobs.chunks(ROWS) {
        let head = "INSERT INTO blobs (sha256, blake3, size) VALUES ";
        let tail = " ON CONFLICT (sha256) DO NOTHING RETURNING sha256";
        let mut query = sqlx::query_scalar(placeholders(head, rows.len(), 3, tail));
        for (sha256, blake3, size) in rows {
            query = query.bind(sha256).bind(blake3).bind(size);
        }
        let inserted: Vec<String> = query.fetch_all(&mut **write).await?;
        for digest in &inserted {
            fresh.push(stored(digest)?);
        }
        let head = "INSERT INTO version_blobs (version_id, sha256) VALUES ";
        let mut query = sqlx::query(placeholders(head, rows.len(), 2, ""));
        for (sha256, _, _) in rows {
            query = query.bind(version).bind(sha256);
        }
        query.execute(&mut **write).await?;
    }
    Ok(fresh)
}

/// The ids of tools and the names of scripts, as a JSON list.
pub(crate) fn capabilities(manifest: &Manifest) -> String {
    let tools = manifest.tools.iter().map(|tool| tool.id.as_str());
    let scripts = manifest.scripts.iter().map(|script| script.name.as_str());
    let names: Vec<&str> = tools.chain(scripts).take(MAX_CAPABILITIES).collect();
    // A list of texts: nothing in it that serialisation can refuse.
    serde_json::to_string(&names).unwrap_or_default()
}

/// Names and descriptions of everything that the skill can do, up to a bound.
pub(crate) fn search_text(manifest: &Manifest) -> String {
    let tools = manifest.tools.iter().flat_map(|tool| [&tool.id, &tool.description]);
    let scripts = manifest.scripts.iter().flat_map(|script| [&script.name, &script.description]);
    let resources =
        manifest.resources.iter().flat_map(|resource| [&resource.name, &resource.description]);
    let mut text = String::new();
    for part in tools.chain(scripts).chain(resources) {
        if text.len() + part.len() >= MAX_SEARCH_TEXT {
            break;
        }
        text.push_str(part);
        text.push('\n');
    }
    text
}
