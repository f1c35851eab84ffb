//! What a page is about: a skill's document, a version's manifest, the bytes of files.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Collected, Limited};
use skillpkg_schema::limits::MAX_MANIFEST_BYTES;
use skillpkg_schema::manifest::FileEntry;
use skillpkg_schema::wire::{Advisory, Document, VersionEntry};
use skillpkg_schema::{ContentAddress, Manifest, QualifiedName, Sha256Digest, Version};

use super::visitor::Visitor;
use crate::blobs::Kind;
use crate::problem::{Answer, Refusal};
use crate::routes::content::locate;
use crate::routes::relayed::Passage;
use crate::state::Registry;

/// A skill that is there and that the visitor may see.
pub(super) struct Found {
    /// Its document.
    pub(super) document: Document,
    /// The digest of its document's bytes.
    pub(super) digest: Sha256Digest,
    /// Whether its leaves are in this registry's own log: what is mirrored is in another's.
    pub(super) is_own: bool,
}

/// What reads content for one visitor.
pub(super) struct Reader {
    pub(super) registry: Registry,
    pub(super) visitor: Visitor,
    pub(super) passage: Passage,
}

impl Reader {
    /// A skill's document.
    pub(super) async fn skill(&self, name: &QualifiedName) -> Answer<Arc<Found>> {
        let registry = &self.registry;
        if let Some(prepared) = registry.documents.get(&self.visitor.caller, name).await? {
            let document = read(&prepared.bytes)?;
            return Ok(Arc::new(Found { document, digest: prepared.digest, is_own: true }));
        }
        let (held, _) = self.passage.skill(name).await?.ok_or_else(Refusal::not_found)?;
        let (document, digest) = (read(&held.bytes)?, Sha256Digest::of(&held.bytes));
        Ok(Arc::new(Found { document, digest, is_own: false }))
    }

    /// The manifest of a snapshot.
    pub(super) async fn manifest(&self, address: &ContentAddress) -> Answer<Manifest> {
        let limit = MAX_MANIFEST_BYTES as u64;
        let bytes = self.bytes(Kind::Manifest, address, limit).await?;
        let bytes = bytes.ok_or_else(|| Refusal::internal(&"a manifest over its bound"))?;
        Manifest::from_canonical_bytes(&bytes).map_err(|error| Refusal::internal(&error))
    }

    /// The bytes of a file; [`None`] where it is longer than `limit`.
    pub(super) async fn file(&self, file: &FileEntry, limit: u64) -> Answer<Option<Bytes>> {
        if file.size > limit {
            return Ok(None);
        }
        self.bytes(Kind::File, &file.sha256.address(), limit).await
    }

    /// The first bytes of a file.
    pub(super) async fn start_of_file(&self, file: &FileEntry, most: u64) -> Answer<Bytes> {
        let address = file.sha256.address();
        let located = self.located(Kind::File, &address).await?;
        let range = (located.size > most).then_some(0..most);
        let body = self.registry.contents.body(&located, range).await?;
        collect(body, most).await
    }

    async fn bytes(
        &self,
        kind: Kind,
        address: &ContentAddress,
        limit: u64,
    ) -> Answer<Option<Bytes>> {
        let located = self.located(kind, address).await?;
        if located.size > limit {
            return Ok(None);
        }
        let body = self.registry.contents.body(&located, None).await?;
        collect(body, limit).await.map(Some)
    }

    async fn located(
        &self,
        kind: Kind,
        address: &ContentAddress,
    ) -> Answer<crate::contents::Located> {
        locate(&self.registry, &self.visitor.caller, &self.passage, kind, address).await
    }
}

async fn collect(body: axum::body::Body, limit: u64) -> Answer<Bytes> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let collected = Limited::new(body, limit).collect().await;
    collected.map(Collected::to_bytes).map_err(|error| Refusal::internal(&error))
}

fn read(bytes: &[u8]) -> Answer<Document> {
    serde_json::from_slice(bytes).map_err(|error| Refusal::internal(&error))
}

impl Found {
    /// The version that an install takes: the newest release that is not yanked, else the newest
    /// pre-release that is not, else the newest.
    pub(super) fn newest(&self) -> Option<&VersionEntry> {
        let order = |entry: &&VersionEntry| {
            (entry.yanked.is_none(), !entry.version.is_prerelease(), entry.version.clone())
        };
        self.document.versions.iter().max_by_key(order)
    }

    /// A version.
    pub(super) fn version(&self, version: &Version) -> Answer<&VersionEntry> {
        self.document.version(version).ok_or_else(Refusal::not_found)
    }

    /// The versions, newest first.
    pub(super) fn by_age(&self) -> Vec<&VersionEntry> {
        let mut versions: Vec<&VersionEntry> = self.document.versions.iter().collect();
        versions.sort_by(|one, other| other.version.cmp(&one.version));
        versions
    }

    /// The version before this one by its number.
    pub(super) fn before(&self, version: &Version) -> Option<&VersionEntry> {
        let earlier = self.document.versions.iter().filter(|entry| entry.version < *version);
        earlier.max_by(|one, other| one.version.cmp(&other.version))
    }

    /// The advisories about a version; one whose requirement cannot be read is about all.
    pub(super) fn advisories<'f>(
        &'f self,
        version: &'f Version,
    ) -> impl Iterator<Item = &'f Advisory> {
        self.document.advisories.iter().filter(|advisory| covers(advisory, version))
    }
}

/// Whether an advisory is about a version: a pre-release is covered where its release would be.
fn covers(advisory: &Advisory, version: &Version) -> bool {
    let Ok(requirement) = semver::VersionReq::parse(&advisory.versions) else { return true };
    let version = version.semver();
    let release = semver::Version { pre: semver::Prerelease::EMPTY, ..version.clone() };
    requirement.matches(version) || requirement.matches(&release)
}
