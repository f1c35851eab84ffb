//! Compares every row that names content with the bytes of that content.

use std::collections::BTreeSet;

use futures_util::TryStreamExt as _;
use serde::Serialize;
use skillpkg_schema::address::{Digests, Hasher};
use skillpkg_schema::limits::MAX_MANIFEST_BYTES;
use skillpkg_schema::signature::{Envelope, PublicKey, verify_release};
use skillpkg_schema::{Manifest, Sha256Digest};

use super::UpkeepError;
use crate::blobs::Kind;
use crate::data::Data;
use crate::log::audit;

/// Rows read at a time.
const PAGE: i64 = 200;

/// What is wrong with something that a row names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DamageKind {
    /// It is not there.
    Missing,
    /// Its bytes are not those that its digest names.
    Digest,
    /// The signature does not vouch for it.
    Signature,
    /// The row says something else than the bytes.
    Row,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// What kind of wrong.
    pub kind: DamageKind,
    /// A version, or `blob` and a digest.
    pub subject: String,
    /// What is wrong with it.
    pub detail: String,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Objects read and hashed.
    pub checked: u64,
    /// Leaves of the log that were read.
    pub leaves: u64,
    /// In the order found.
    pub problems: Vec<Damage>,
}

impl Report {
    fn damage(&mut self, kind: DamageKind, subject: &str, detail: impl Into<String>) {
        self.problems.push(Damage { kind, subject: subject.to_owned(), detail: detail.into() });
    }
}

/// Row, scope, name, version, address by SHA-256 and by BLAKE3, archive, its size, the manifest's
/// size, envelope.
type VersionRow = (i64, String, String, String, String, String, String, i64, i64, String);

/// Reads and hashes everything that a row names, and audits the log; changes nothing.
///
/// Versions that are published or deleted meanwhile may be left out. Needs memory for one manifest.
pub async fn verify(data: &Data) -> Result<Report, UpkeepError> {
    let mut report = Report::default();
    let mut last = 0;
    loop {
        let rows: Vec<VersionRow> = sqlx::query_as(
            "SELECT v.id, s.name, k.name, v.version, v.address, v.blake3, v.archive, v.size,
             v.manifest_size, v.envelope
             FROM versions v JOIN skills k ON k.id = v.skill_id JOIN scopes s ON s.id = k.scope_id
             WHERE v.id > $1 ORDER BY v.id LIMIT $2",
        )
        .bind(last)
        .bind(PAGE)
        .fetch_all(data.database.readers())
        .await?;
        let Some((id, ..)) = rows.last() else { break };
        last = *id;
        for row in &rows {
            let before = report.problems.len();
            verify_version(data, row, &mut report).await?;
            let still = "SELECT count(*) FROM versions WHERE id = $1";
            if report.problems.len() > before && is_gone(data, still, row.0).await? {
                report.problems.truncate(before);
            }
        }
    }
    verify_blobs(data, &mut report).await?;
    verify_renderings(data, &mut report).await?;
    verify_mirrored(data, &mut report).await?;
    let log = audit::audit_data(data).await?;
    report.leaves = log.leaves;
    report.problems.extend(log.problems);
    Ok(report)
}

/// Whether a row, counted by `still`, was deleted since it was read: what it named may be gone.
async fn is_gone<'q, T>(data: &Data, still: &'static str, key: T) -> Result<bool, sqlx::Error>
where
    T: 'q + sqlx::Encode<'q, sqlx::Any> + sqlx::Type<sqlx::Any> + Send,
{
    let rows: i64 = sqlx::query_scalar(still).bind(key).fetch_one(data.database.readers()).await?;
    Ok(rows == 0)
}

async fn verify_version(
    data: &Data,
    row: &VersionRow,
    report: &mut Report,
) -> Result<(), UpkeepError> {
    let (id, scope, name, version, address, blake3, archive, size, manifest_size, envelope) = row;
    let subject = if scope == "_" {
        format!("{name}@{version}")
    } else {
        format!("{scope}/{name}@{version}")
    };
    let archived = Expected { digest: archive, blake3: None, size: *size };
    verify_object(data, Kind::Archive, &archived, &subject, "its archive", report).await?;

    let listed = Expected { digest: address, blake3: Some(blake3), size: *manifest_size };
    if !verify_object(data, Kind::Manifest, &listed, &subject, "its manifest", report).await? {
        return Ok(());
    }
    let Ok(digest) = address.parse::<Sha256Digest>() else { return Ok(()) };
    let bytes = data.blobs.read_whole(Kind::Manifest, &digest, MAX_MANIFEST_BYTES as u64).await?;
    let manifest = match bytes.map(|bytes| Manifest::from_bytes(&bytes)) {
        Some(Ok(manifest)) => manifest,
        Some(Err(error)) => {
            report.damage(DamageKind::Row, &subject, error.to_string());
            return Ok(());
        }
        None => return Ok(()),
    };
    if format!("{}@{}", manifest.name, manifest.version) != subject {
        let detail = format!("its manifest is of {}@{}", manifest.name, manifest.version);
        report.damage(DamageKind::Row, &subject, detail);
    }
    verify_files(data, *id, &manifest, &subject, report).await?;
    verify_signature(data, *id, &manifest, envelope, &subject, report).await
}

/// The rows of the files are those of the manifest.
async fn verify_files(
    data: &Data,
    version: i64,
    manifest: &Manifest,
    subject: &str,
    report: &mut Report,
) -> Result<(), UpkeepError> {
    let rows: Vec<String> =
        sqlx::query_scalar("SELECT sha256 FROM version_blobs WHERE version_id = $1")
            .bind(version)
            .fetch_all(data.database.readers())
            .await?;
    let rows: BTreeSet<String> = rows.into_iter().collect();
    let files: BTreeSet<String> =
        manifest.files.iter().map(|file| file.sha256.to_string()).collect();
    for digest in rows.symmetric_difference(&files) {
        let detail = format!("blob {digest} is in its rows or in its manifest alone");
        report.damage(DamageKind::Row, subject, detail);
    }
    Ok(())
}

async fn verify_signature(
    data: &Data,
    version: i64,
    manifest: &Manifest,
    envelope: &str,
    subject: &str,
    report: &mut Report,
) -> Result<(), UpkeepError> {
    let pems: Vec<String> = sqlx::query_scalar(
        "SELECT k.pem FROM version_keys v JOIN keys k ON k.id = v.key_id WHERE v.version_id = $1",
    )
    .bind(version)
    .fetch_all(data.database.readers())
    .await?;
    let keys: Vec<PublicKey> =
        pems.iter().filter_map(|pem| PublicKey::from_pem(pem).ok()).collect();
    let verified = match Envelope::from_bytes(envelope.as_bytes()) {
        Ok(envelope) => {
            let (name, version) = (&manifest.name, &manifest.version);
            verify_release(&envelope, name, version, &manifest.address(), &keys)
                .map_err(|error| error.to_string())
        }
        Err(error) => Err(error.to_string()),
    };
    match verified {
        Ok(verified) if verified.len() == pems.len() => {}
        Ok(_) => {
            let detail = "a key that its rows name has not signed it";
            report.damage(DamageKind::Signature, subject, detail);
        }
        Err(error) => report.damage(DamageKind::Signature, subject, error),
    }
    Ok(())
}

async fn verify_blobs(data: &Data, report: &mut Report) -> Result<(), UpkeepError> {
    let mut last = String::new();
    loop {
        let rows: Vec<(String, String, i64)> = sqlx::query_as(
            "SELECT sha256, blake3, size FROM blobs WHERE sha256 > $1 ORDER BY sha256 LIMIT $2",
        )
        .bind(&last)
        .bind(PAGE)
        .fetch_all(data.database.readers())
        .await?;
        let Some((digest, ..)) = rows.last() else { return Ok(()) };
        last.clone_from(digest);
        for (digest, blake3, size) in &rows {
            let expected = Expected { digest, blake3: Some(blake3), size: *size };
            let subject = format!("blob {digest}");
            let before = report.problems.len();
            let is_sound =
                verify_object(data, Kind::File, &expected, &subject, "it", report).await?;
            let still = "SELECT count(*) FROM blobs WHERE sha256 = $1";
            if !is_sound && is_gone(data, still, digest).await? {
                report.problems.truncate(before);
            }
        }
    }
}

/// The containers that faces serve.
async fn verify_renderings(data: &Data, report: &mut Report) -> Result<(), UpkeepError> {
    let mut last = String::new();
    loop {
        let rows: Vec<(String, i64)> = sqlx::query_as(
            "SELECT DISTINCT digest, size FROM renderings
             WHERE held = TRUE AND digest > $1 ORDER BY digest LIMIT $2",
        )
        .bind(&last)
        .bind(PAGE)
        .fetch_all(data.database.readers())
        .await?;
        let Some((digest, _)) = rows.last() else { return Ok(()) };
        last.clone_from(digest);
        for (digest, size) in &rows {
            let expected = Expected { digest, blake3: None, size: *size };
            let subject = format!("rendering {digest}");
            let before = report.problems.len();
            let is_sound =
                verify_object(data, Kind::Rendering, &expected, &subject, "it", report).await?;
            let still = "SELECT count(*) FROM renderings WHERE digest = $1 AND held = TRUE";
            if !is_sound && is_gone(data, still, digest).await? {
                report.problems.truncate(before);
            }
        }
    }
}

/// What a mirror holds of another registry: every object is what its row says. One that is not may
/// be removed: it is fetched again.
async fn verify_mirrored(data: &Data, report: &mut Report) -> Result<(), UpkeepError> {
    const QUERIES: [(Kind, &str); 3] = [
        (
            Kind::Archive,
            "SELECT archive, NULL, size FROM mirrored_versions
             WHERE takes IS NOT NULL AND archive > $1 ORDER BY archive LIMIT $2",
        ),
        (
            Kind::Manifest,
            "SELECT address, blake3, manifest_size FROM mirrored_versions
             WHERE takes IS NOT NULL AND address > $1 ORDER BY address LIMIT $2",
        ),
        (
            Kind::File,
            "SELECT sha256, blake3, size FROM mirrored_blobs
             WHERE sha256 > $1 ORDER BY sha256 LIMIT $2",
        ),
    ];
    for (kind, query) in QUERIES {
        let mut last = String::new();
        loop {
            let rows: Vec<(String, Option<String>, i64)> = sqlx::query_as(query)
                .bind(&last)
                .bind(PAGE)
                .fetch_all(data.database.readers())
                .await?;
            let Some((digest, ..)) = rows.last() else { break };
            last.clone_from(digest);
            for (digest, blake3, size) in &rows {
                let expected = Expected { digest, blake3: blake3.as_ref(), size: *size };
                let subject = format!("mirrored {digest}");
                verify_object(data, kind, &expected, &subject, "it", report).await?;
            }
        }
    }
    Ok(())
}

/// What a row says of an object.
struct Expected<'a> {
    digest: &'a str,
    blake3: Option<&'a String>,
    size: i64,
}

/// Hashes one object; whether it is what the row says.
async fn verify_object(
    data: &Data,
    kind: Kind,
    expected: &Expected<'_>,
    subject: &str,
    what: &str,
    report: &mut Report,
) -> Result<bool, UpkeepError> {
    report.checked += 1;
    let Ok(digest) = expected.digest.parse::<Sha256Digest>() else {
        report.damage(DamageKind::Row, subject, "the row holds no digest");
        return Ok(false);
    };
    let Some(mut content) = data.blobs.read_unjudged(kind, &digest).await? else {
        report.damage(DamageKind::Missing, subject, format!("{what} is missing"));
        return Ok(false);
    };
    let mut hasher = Hasher::new();
    while let Some(piece) = content.try_next().await? {
        hasher.update(&piece);
    }
    let found: Digests = hasher.finish();
    if found.sha256 != digest {
        let detail = format!("{what} hashes to sha256:{}", found.sha256);
        report.damage(DamageKind::Digest, subject, detail);
        return Ok(false);
    }
    let blake3 = found.blake3.to_string();
    if expected.blake3.is_some_and(|expected| *expected != blake3)
        || found.size != expected.size.unsigned_abs()
    {
        let detail =
            format!("{what} is {} bytes with blake3:{blake3}; the row says otherwise", found.size);
        report.damage(DamageKind::Row, subject, detail);
        return Ok(false);
    }
    Ok(true)
}
