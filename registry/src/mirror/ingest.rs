//! Takes an archive of upstream's in: verified as a publish is, held against its document, kept.

use std::collections::BTreeMap;
use std::path::Path;

use skillpkg_schema::address::Digests;
use skillpkg_schema::signature::PublicKey;
use skillpkg_schema::wire::{Document, VersionEntry};
use skillpkg_schema::{Blake3Digest, ContentAddress, Sha256Digest};
use tempfile::TempDir;

use super::content::Known;
use super::relay::Through;
use super::trouble::Trouble;
use super::{Mirror, rows};
use crate::blobs::Kind;
use crate::clock;
use crate::database::{Write, placeholders};
use crate::problem::{Code, Refusal};
use crate::skills::publish::{
    Received, Request, SigningKeys, Verified, capabilities, put, search_text, still_there, verify,
};
use crate::state::Registry;
use crate::upstream::{Ask, Bound};

/// Rows inserted by one statement.
const ROWS: usize = 300;

impl Mirror {
    /// Fetches the archive of a version, verifies it and keeps it.
    ///
    /// Returned, it is held and has survived a crash; cut short, it is not held.
    pub(super) async fn ingest(
        &self,
        registry: &Registry,
        known: &Known,
        through: Through<'_>,
    ) -> Result<(), Trouble> {
        let (_, entry) = self.entry(known).await?;
        let size = Bound::declared(entry.size);
        let received = self.download(&entry.archive, size, through).await?;
        self.take_in(registry, known, received, through).await
    }

    /// Fetches an archive to a directory of its own, unverified.
    pub(super) async fn download(
        &self,
        archive: &ContentAddress,
        bound: Bound,
        through: Through<'_>,
    ) -> Result<Received, Trouble> {
        let _turn = self.0.downloads.acquire().await;
        let received = Received::empty(&self.0.data.temporary())?;
        let route = ["v1", "archives", &archive.to_string()];
        let ask = Ask::get(self.0.upstream.route(&route), through.clone());
        let mut file = tokio::fs::File::create_new(&received.archive).await?;
        self.0.upstream.download(&ask, bound, &mut file).await?;
        Ok(received)
    }

    pub(super) fn temporary(&self) -> std::io::Result<TempDir> {
        tempfile::Builder::new().prefix("mirror-").tempdir_in(self.0.data.temporary())
    }

    /// What the document says of a version.
    async fn entry(&self, known: &Known) -> Result<(Document, VersionEntry), Trouble> {
        let internal = |error: &dyn std::fmt::Display| Trouble::Ours(Refusal::internal(error));
        let held = self.held(&known.name).await?;
        let held = held.ok_or_else(|| internal(&"the document of a version is not held"))?;
        let document: Document =
            serde_json::from_slice(&held.bytes).map_err(|error| internal(&error))?;
        let entry = document
            .versions
            .iter()
            .find(|entry| entry.version.to_string() == known.version)
            .cloned();
        let entry = entry.ok_or_else(|| internal(&"a listed version is not in its document"))?;
        Ok((document, entry))
    }

    /// Verifies an archive that came, and keeps it.
    pub(super) async fn take_in(
        &self,
        registry: &Registry,
        known: &Known,
        received: Received,
        through: Through<'_>,
    ) -> Result<(), Trouble> {
        let (document, entry) = self.entry(known).await?;
        let verified = {
            let _permit = registry.verification_permit().await?;
            let version = entry.version.clone();
            let request = Request { name: known.name.clone(), version, offered: None };
            let keys = signers(&document, &entry)
                .map_err(|detail| Trouble::lie(known.subject(), detail))?;
            verify(received, request, keys).await.map_err(|refusal| refused(known, refusal))?
        };
        differs(&verified, &entry).map_or(Ok(()), |what| {
            let detail = format!("the archive is not the one that its document names: {what}");
            Err(Trouble::lie(known.subject(), detail))
        })?;
        put(registry, &verified).await?;
        let mut write = self.0.data.database.write().await?;
        let files = insert(&mut write, known, &verified).await?;
        still_there(registry, &verified, files).await?;
        write.commit().await?;
        self.settle(&known.subject()).await?;
        self.note_use(known.row);
        self.prove(&document, &entry, through).await;
        // Thousands of files are removed where it holds up nobody.
        tokio::task::spawn_blocking(move || drop(verified));
        self.make_room_behind(known.row);
        Ok(())
    }

    /// Fetches the records that a client asks proofs of, so that they are there when upstream is
    /// not; without them it can be asked for them later.
    async fn prove(&self, document: &Document, entry: &VersionEntry, through: Through<'_>) {
        let keys = document.keys.iter().filter(|key| entry.key_ids.contains(&key.id));
        let revoked = keys.filter_map(|key| key.revoked_index);
        let advisories = document.advisories.iter().filter_map(|advisory| advisory.log_index);
        let indices: Vec<u64> =
            entry.log_index.into_iter().chain(revoked).chain(advisories).collect();
        if let Err(trouble) = self.fetch_records(&indices, through).await {
            tracing::debug!(%trouble, "the records of a version were not fetched");
        }
    }

    /// Keeps a single file that came.
    pub(super) async fn keep_file(
        &self,
        address: &ContentAddress,
        path: &Path,
    ) -> Result<(), Trouble> {
        let file = path.to_owned();
        let digests =
            tokio::task::spawn_blocking(move || Digests::of_reader(std::fs::File::open(file)?));
        let digests = digests.await.map_err(std::io::Error::other)??;
        if ![digests.sha256.address(), digests.blake3.address()].contains(address) {
            return Err(Trouble::lie(address.to_string(), "its bytes hash to something else"));
        }
        let blobs = &self.0.data.blobs;
        blobs.put_file(Kind::File, &digests.sha256, path).await?;
        let mut write = self.0.data.database.write().await?;
        sqlx::query(
            "INSERT INTO mirrored_blobs (sha256, blake3, size, used) VALUES ($1, $2, $3, $4)
             ON CONFLICT (sha256) DO UPDATE SET used = excluded.used",
        )
        .bind(digests.sha256.to_string())
        .bind(digests.blake3.to_string())
        .bind(digests.size.cast_signed())
        .bind(clock::now())
        .execute(&mut *write)
        .await?;
        if !blobs.holds(Kind::File, &digests.sha256).await? {
            return Err(
                Refusal::unavailable("unused blobs were being removed; ask again", 1).into()
            );
        }
        write.commit().await?;
        self.settle(&address.to_string()).await?;
        Ok(())
    }
}

/// The keys that must have signed a version: those that its document names for it.
fn signers(document: &Document, entry: &VersionEntry) -> Result<SigningKeys, String> {
    let mut accepted = Vec::new();
    for id in &entry.key_ids {
        let key = document.keys.iter().find(|key| key.id == *id);
        let key = key.ok_or_else(|| format!("its document does not hold the key {id}"))?;
        let key = PublicKey::from_pem(&key.pem).map_err(|error| error.to_string())?;
        if key.id() != *id {
            return Err(format!("its document has another key under the id {id}"));
        }
        accepted.push(key);
    }
    Ok(SigningKeys::just(accepted))
}

/// A refusal of what came, as against a fault of this registry's own.
fn refused(known: &Known, refusal: Refusal) -> Trouble {
    match refusal.code() {
        Code::ArchiveRefused | Code::SignatureRefused | Code::KeyNotRegistered | Code::TooLarge => {
            Trouble::lie(known.subject(), refusal.problem().detail)
        }
        _ => Trouble::Ours(refusal),
    }
}

/// What of an archive is not as its document says.
fn differs(verified: &Verified, entry: &VersionEntry) -> Option<&'static str> {
    let (archive, manifest) = (&verified.archive_digests, &verified.manifest_digests);
    if archive.sha256.address() != entry.archive || archive.size != entry.size {
        return Some("its bytes");
    }
    if manifest.sha256.address() != entry.address || manifest.blake3.address() != entry.blake3 {
        return Some("its manifest");
    }
    if verified.manifest.unpacked_size() != entry.unpacked_size {
        return Some("the length of its files");
    }
    let all_signed = entry.key_ids.iter().all(|id| verified.key_ids.contains(id));
    if entry.key_ids.is_empty() || !all_signed { Some("its signers") } else { None }
}

/// Notes that all of a version is held; answers with its files.
async fn insert(
    write: &mut Write,
    known: &Known,
    verified: &Verified,
) -> Result<Vec<Sha256Digest>, Trouble> {
    let manifest = &verified.manifest;
    let blobs: BTreeMap<Sha256Digest, (Blake3Digest, u64)> =
        manifest.files.iter().map(|file| (file.sha256, (file.blake3, file.size))).collect();
    let files: u64 = blobs.values().map(|(_, size)| size).sum();
    let takes = verified.archive_digests.size + verified.manifest_digests.size + files;
    let envelope = String::from_utf8(verified.envelope.to_bytes())
        .map_err(|error| Refusal::internal(&error))?;
    sqlx::query(
        "UPDATE mirrored_versions SET manifest_size = $1, envelope = $2, capabilities = $3,
         search_text = $4, takes = $5, used = $6 WHERE id = $7",
    )
    .bind(verified.manifest_digests.size.cast_signed())
    .bind(envelope)
    .bind(capabilities(manifest))
    .bind(search_text(manifest))
    .bind(takes.cast_signed())
    .bind(clock::now())
    .bind(known.row)
    .execute(&mut **write)
    .await?;
    let digests = blobs.keys().copied().collect();
    let blobs: Vec<(String, String, i64)> = blobs
        .into_iter()
        .map(|(sha256, (blake3, size))| {
            (sha256.to_string(), blake3.to_string(), size.cast_signed())
        })
        .collect();
    for chunk in blobs.chunks(ROWS) {
        let head = "INSERT INTO mirrored_blobs (sha256, blake3, size) VALUES ";
        let tail = " ON CONFLICT (sha256) DO NOTHING";
        let mut query = sqlx::query(placeholders(head, chunk.len(), 3, tail));
        for (sha256, blake3, size) in chunk {
            query = query.bind(sha256).bind(blake3).bind(size);
        }
        query.execute(&mut **write).await?;
        let head = "INSERT INTO mirrored_version_blobs (version_id, sha256) VALUES ";
        let tail = " ON CONFLICT (version_id, sha256) DO NOTHING";
        let mut query = sqlx::query(placeholders(head, chunk.len(), 2, tail));
        for (sha256, _, _) in chunk {
            query = query.bind(known.row).bind(sha256);
        }
        query.execute(&mut **write).await?;
    }
    let skill: i64 = sqlx::query_scalar("SELECT skill_id FROM mirrored_versions WHERE id = $1")
        .bind(known.row)
        .fetch_one(&mut **write)
        .await?;
    rows::refresh_text(write, skill, &known.name).await?;
    Ok(digests)
}
