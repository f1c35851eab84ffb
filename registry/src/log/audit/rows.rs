//! Whether the database says what the log says.

use std::collections::HashMap;

use skillpkg_schema::log::{Bucket, Entries, Hash, HeadsTree, Record, Sealed, Subject, head_key};
use skillpkg_schema::{QualifiedName, address::ContentAddress};
use sqlx::{Any, Transaction};

use super::Report;
use super::leaves::leaf;
use crate::data::Data;
use crate::database::Truth;
use crate::documents;
use crate::log::buckets::read_bucket;
use crate::log::counters::Counters;
use crate::log::{LogError, stored_index};
use crate::upkeep::DamageKind;

/// Skills looked at at a time.
const PAGE: i64 = 200;

/// One snapshot of the database.
pub(super) struct Rows {
    read: Transaction<'static, Any>,
    counters: Counters,
    /// Whether the checkpoint is signed and not settled: the heads are what the rows say once it is.
    is_ahead: bool,
    /// Versions whose leaf was found.
    found: i64,
}

/// A version as its row has it.
struct Version {
    id: i64,
    name: String,
    address: String,
    archive: String,
    account: String,
}

type VersionRow = (i64, i64, String, String, String, String, String, String);

impl Rows {
    /// A snapshot of now.
    pub(super) async fn begin(data: &Data) -> Result<Self, LogError> {
        let mut read = data.database.readers().begin().await?;
        let counters = Counters::read(&mut *read).await?;
        Ok(Self { read, counters, is_ahead: false, found: 0 })
    }

    /// Leaves that the database says are covered.
    pub(super) fn covered(&self) -> u64 {
        self.counters.covered
    }

    /// Leaves that the database says are sealed: no tile holds more.
    pub(super) fn leaves_sealed(&self) -> u64 {
        self.counters.sealed
    }

    /// Whether this snapshot is the one of a checkpoint of so many leaves: settled, or since its
    /// signer was killed, sealed.
    pub(super) fn are_of(&mut self, size: u64) -> bool {
        self.is_ahead = size > self.counters.covered && size == self.counters.sealed;
        self.is_ahead || size == self.counters.covered
    }

    /// Holds the leaves of one bundle against the rows that are theirs.
    pub(super) async fn compare(
        &mut self,
        first: u64,
        entries: &Entries,
        records: &[Option<Record>],
        report: &mut Report,
    ) -> Result<(), LogError> {
        let end = first + records.len() as u64;
        let mut versions = self.versions(first, end).await?;
        let mut sealed = self.sealed(first, end).await?;
        for ((index, entry), record) in (first..).zip(entries.iter()).zip(records) {
            let Some(record) = record else { continue };
            let mut subject = record.subject.clone();
            if let Subject::Blinded { .. } = subject {
                match sealed.remove(&index).map(|json| serde_json::from_str::<Sealed>(&json)) {
                    Some(Ok(sealed)) if sealed.entry() == entry => subject = sealed.record.subject,
                    _ => {
                        let detail = "is blinded, and what it stands for is not kept";
                        report.damage(DamageKind::Missing, &leaf(index), detail);
                        continue;
                    }
                }
            }
            if let Subject::Publish { name, version, address, archive, account, keys } = subject {
                let what = format!("{name}@{version}");
                let same = match versions.remove(&index) {
                    Some(row) => {
                        self.found += 1;
                        let of_row = self.keys(row.id).await?;
                        let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
                        row.name == what
                            && row.address == address.hex()
                            && row.archive == archive.hex()
                            && row.account == account
                            && of_row == keys
                    }
                    None => self.was_deleted(&name, &version.to_string(), &address).await?,
                };
                if !same {
                    let detail = format!("publishes {what}, of which the database says otherwise");
                    report.damage(DamageKind::Row, &leaf(index), detail);
                }
            }
        }
        for (index, row) in versions {
            self.found += 1;
            let detail = format!("its leaf is said to be {index}, which is another's");
            report.damage(DamageKind::Row, &row.name, detail);
        }
        Ok(())
    }

    async fn versions(&mut self, first: u64, end: u64) -> Result<HashMap<u64, Version>, LogError> {
        let rows: Vec<VersionRow> = sqlx::query_as(
            "SELECT v.log_index, v.id, s.name, k.name, v.version, v.address, v.archive, a.name
             FROM versions v JOIN skills k ON k.id = v.skill_id JOIN scopes s ON s.id = k.scope_id
             JOIN accounts a ON a.id = v.publisher_id WHERE v.log_index >= $1 AND v.log_index < $2",
        )
        .bind(stored_index(first))
        .bind(stored_index(end))
        .fetch_all(&mut *self.read)
        .await?;
        let version = |(index, id, scope, name, version, address, archive, account): VersionRow| {
            let name = match scope.as_str() {
                "_" => format!("{name}@{version}"),
                scope => format!("{scope}/{name}@{version}"),
            };
            (index.unsigned_abs(), Version { id, name, address, archive, account })
        };
        Ok(rows.into_iter().map(version).collect())
    }

    async fn sealed(&mut self, first: u64, end: u64) -> Result<HashMap<u64, String>, LogError> {
        let rows: Vec<(i64, String)> = sqlx::query_as(
            "SELECT log_index, sealed FROM log_records WHERE log_index >= $1 AND log_index < $2",
        )
        .bind(stored_index(first))
        .bind(stored_index(end))
        .fetch_all(&mut *self.read)
        .await?;
        Ok(rows.into_iter().map(|(index, sealed)| (index.unsigned_abs(), sealed)).collect())
    }

    async fn keys(&mut self, version: i64) -> Result<Vec<String>, LogError> {
        let keys = "SELECT key_id FROM version_keys WHERE version_id = $1 ORDER BY key_id";
        Ok(sqlx::query_scalar(keys).bind(version).fetch_all(&mut *self.read).await?)
    }

    async fn was_deleted(
        &mut self,
        name: &QualifiedName,
        version: &str,
        address: &ContentAddress,
    ) -> Result<bool, LogError> {
        let found: Option<i64> = sqlx::query_scalar(
            "SELECT 1 FROM deleted_versions d JOIN skills k ON k.id = d.skill_id
             JOIN scopes s ON s.id = k.scope_id
             WHERE s.name = $1 AND k.name = $2 AND d.version = $3 AND d.address = $4",
        )
        .bind(name.wire_scope())
        .bind(name.name().as_str())
        .bind(version)
        .bind(address.hex())
        .fetch_optional(&mut *self.read)
        .await?;
        Ok(found.is_some())
    }

    /// After the last leaf: every version has one, and the heads are those of the documents.
    pub(super) async fn finish(
        mut self,
        size: u64,
        heads: Option<Hash>,
        report: &mut Report,
    ) -> Result<(), LogError> {
        let versions: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM versions WHERE log_index IS NULL OR log_index < $1",
        )
        .bind(stored_index(size))
        .fetch_one(&mut *self.read)
        .await?;
        if versions != self.found {
            let detail =
                format!("{versions} versions are there, and {} leaves of them", self.found);
            report.damage(DamageKind::Row, "log", detail);
        }
        let listed = self.documents(report).await?;
        let rows: i64 =
            sqlx::query_scalar("SELECT count(*) FROM log_heads").fetch_one(&mut *self.read).await?;
        if rows != listed {
            let detail = format!("{rows} documents are listed, and {listed} are there");
            report.damage(DamageKind::Row, "log_heads", detail);
        }
        let root = self.root().await?;
        if heads.is_some_and(|heads| heads != root) {
            let last = leaf(size.saturating_sub(1));
            let detail = "tells another root of the heads than the database has";
            report.damage(DamageKind::Digest, &last, detail);
        }
        Ok(())
    }

    /// Holds every public document against its head, but those that are to change; answers how many
    /// must be listed.
    async fn documents(&mut self, report: &mut Report) -> Result<i64, LogError> {
        let (mut last, mut listed) = (0, 0);
        loop {
            let skills: Vec<(i64, String, String, Truth)> = sqlx::query_as(
                "SELECT k.id, s.name, k.name,
                 EXISTS (SELECT 1 FROM log_touched t WHERE t.skill_id = k.id)
                 FROM skills k JOIN scopes s ON s.id = k.scope_id
                 WHERE k.id > $1 AND s.private = FALSE ORDER BY k.id LIMIT $2",
            )
            .bind(last)
            .bind(PAGE)
            .fetch_all(&mut *self.read)
            .await?;
            let Some((id, ..)) = skills.last() else { return Ok(listed) };
            last = *id;
            for (_, scope, name, Truth(is_pending)) in skills {
                let name =
                    QualifiedName::from_wire(&scope, &name).map_err(|_| LogError::Row("skills"))?;
                let key = head_key(&name);
                let bucket: Option<Vec<u8>> = sqlx::query_scalar(
                    "SELECT digest FROM log_heads WHERE bucket = $1 AND key = $2",
                )
                .bind(i64::from(skillpkg_schema::log::bucket_of(&key)))
                .bind(key.as_bytes().as_slice())
                .fetch_optional(&mut *self.read)
                .await?;
                if is_pending {
                    listed += i64::from(bucket.is_some());
                    continue;
                }
                listed += 1;
                let document = documents::load(&mut self.read, &name, Some(false)).await;
                let prepared = document.and_then(|document| {
                    document.map(|document| documents::prepare(&document)).transpose()
                });
                let digest = match prepared {
                    Ok(prepared) => prepared.map(|prepared| prepared.digest),
                    Err(refusal) => {
                        let detail = format!("has no document: {}", refusal.told_in_full());
                        report.damage(DamageKind::Row, &name.to_string(), detail);
                        continue;
                    }
                };
                if digest.as_ref().map(|digest| digest.as_bytes().as_slice()) != bucket.as_deref() {
                    let detail = "its document is another than the heads say";
                    report.damage(DamageKind::Digest, &name.to_string(), detail);
                }
            }
        }
    }

    /// The root of the heads tree of the rows, whatever hashes are kept of it.
    async fn root(&mut self) -> Result<Hash, LogError> {
        let numbers: Vec<i64> = sqlx::query_scalar(
            "SELECT bucket FROM log_heads UNION SELECT bucket FROM log_sealed_heads WHERE $1",
        )
        .bind(self.is_ahead)
        .fetch_all(&mut *self.read)
        .await?;
        let mut buckets = Vec::with_capacity(numbers.len());
        for number in numbers {
            let number = u16::try_from(number).map_err(|_| LogError::Row("log_heads"))?;
            let mut bucket = read_bucket(&mut self.read, number).await?;
            if self.is_ahead {
                self.apply_sealed(number, &mut bucket).await?;
            }
            buckets.push((number, bucket.leaf_hash()));
        }
        Ok(HeadsTree::new(buckets).root())
    }

    /// What the sealed leaves change in a bucket.
    async fn apply_sealed(&mut self, number: u16, bucket: &mut Bucket) -> Result<(), LogError> {
        let changes: Vec<(Vec<u8>, Option<Vec<u8>>)> =
            sqlx::query_as("SELECT key, digest FROM log_sealed_heads WHERE bucket = $1")
                .bind(i64::from(number))
                .fetch_all(&mut *self.read)
                .await?;
        let hash = |bytes: Vec<u8>| {
            bytes.try_into().map(Hash::from_bytes).map_err(|_| LogError::Row("log_sealed_heads"))
        };
        for (key, digest) in changes {
            bucket.set(hash(key)?, digest.map(hash).transpose()?);
        }
        Ok(())
    }
}
