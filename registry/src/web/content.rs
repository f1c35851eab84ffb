//! What a page is about: a skill's document, a version's manifest, the bytes of files.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Collected, Limited};
use skillpkg_schema::manifest::FileEntry;
use skillpkg_schema::wire::{Advisory, Document, VersionEntry};
use skillpkg_schema::{ContentAddress, Manifest, QualifiedName, Sha256Digest, Version};

use super::visitor::Visitor;
use crate::blobs::Kind;
use crate::faces::offer::Offer;
use crate::problem::{Answer, Refusal};
use crate::routes::asker::{Asker, Told};
use crate::state::Registry;

/// A skill that is there and that the visitor may see.
pub(super) struct Found {
    /// Its document, and which versions of it are picked.
    pub(super) offer: Offer,
    /// The digest of its document's bytes.
    pub(super) digest: Sha256Digest,
    /// Whether its leaves are in this registry's own log: what is mirrored is in another's.
    pub(super) is_own: bool,
}

/// What reads content for one visitor.
pub(super) struct Reader {
    pub(super) asker: Asker,
    pub(super) visitor: Visitor,
}

impl FromRequestParts<Registry> for Reader {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, registry: &Registry) -> Answer<Self> {
        let visitor = Visitor::from_request_parts(parts, registry).await?;
        Ok(Self { asker: Asker::from_request_parts(parts, registry).await?, visitor })
    }
}

impl Reader {
    /// A skill's document.
    pub(super) async fn skill(&self, name: &QualifiedName) -> Answer<Arc<Found>> {
        let Told { bytes, digest, is_own } = self.asker.document(name).await?;
        Ok(Arc::new(Found { offer: Offer::read(&bytes)?, digest, is_own }))
    }

    /// The manifest of a snapshot.
    pub(super) async fn manifest(&self, address: &ContentAddress) -> Answer<Manifest> {
        self.asker.manifest(address).await
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
        let located = self.asker.locate(Kind::File, &address).await?;
        let range = (located.size > most).then_some(0..most);
        let body = self.asker.registry.contents.body(&located, range).await?;
        collect(body, most).await
    }

    async fn bytes(
        &self,
        kind: Kind,
        address: &ContentAddress,
        limit: u64,
    ) -> Answer<Option<Bytes>> {
        let located = self.asker.locate(kind, address).await?;
        if located.size > limit {
            return Ok(None);
        }
        let body = self.asker.registry.contents.body(&located, None).await?;
        collect(body, limit).await.map(Some)
    }
}

async fn collect(body: axum::body::Body, limit: u64) -> Answer<Bytes> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let collected = Limited::new(body, limit).collect().await;
    collected.map(Collected::to_bytes).map_err(|error| Refusal::internal(&error))
}

impl Found {
    /// Its document.
    pub(super) fn document(&self) -> &Document {
        &self.offer.document
    }

    /// The version that an install takes; where it takes none, the newest.
    pub(super) fn newest(&self) -> Option<&VersionEntry> {
        let versions = &self.document().versions;
        self.offer.latest().or_else(|| versions.iter().max_by(|a, b| a.version.cmp(&b.version)))
    }

    /// A version.
    pub(super) fn version(&self, version: &Version) -> Answer<&VersionEntry> {
        self.document().version(version).ok_or_else(Refusal::not_found)
    }

    /// The versions, newest first.
    pub(super) fn by_age(&self) -> Vec<&VersionEntry> {
        let mut versions: Vec<&VersionEntry> = self.document().versions.iter().collect();
        versions.sort_by(|one, other| other.version.cmp(&one.version));
        versions
    }

    /// The version before this one by its number.
    pub(super) fn before(&self, version: &Version) -> Option<&VersionEntry> {
        let earlier = self.document().versions.iter().filter(|entry| entry.version < *version);
        earlier.max_by(|one, other| one.version.cmp(&other.version))
    }

    /// The advisories about a version; one whose requirement cannot be read is about all.
    pub(super) fn advisories<'f>(
        &'f self,
        version: &'f Version,
    ) -> impl Iterator<Item = &'f Advisory> {
        self.document().advisories.iter().filter(|advisory| advisory.covers(version))
    }
}
