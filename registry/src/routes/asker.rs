//! Whoever asks about skills, and what it may read of them: this registry's own, or on a mirror
//! upstream's.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use bytes::Bytes;
use skillpkg_schema::limits::MAX_MANIFEST_BYTES;
use skillpkg_schema::{ContentAddress, Manifest, QualifiedName, Sha256Digest};

use super::content::locate;
use super::relayed::Passage;
use crate::auth::Caller;
use crate::blobs::Kind;
use crate::contents::Located;
use crate::problem::{Answer, Refusal};
use crate::state::Registry;

/// Who asks, whom, and by which way.
pub(crate) struct Asker {
    pub(crate) registry: Registry,
    pub(crate) caller: Caller,
    pub(crate) passage: Passage,
}

/// A skill's document.
pub(crate) struct Told {
    /// Its JSON.
    pub(crate) bytes: Bytes,
    /// The SHA-256 of that.
    pub(crate) digest: Sha256Digest,
    /// Whether its leaves are in this registry's own log: what is mirrored is in another's.
    pub(crate) is_own: bool,
}

impl FromRequestParts<Registry> for Asker {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, registry: &Registry) -> Answer<Self> {
        let caller = Caller::from_request_parts(parts, registry).await?;
        let passage = Passage::from_request_parts(parts, registry).await?;
        Ok(Self { registry: registry.clone(), caller, passage })
    }
}

impl Asker {
    /// The document of a skill.
    pub(crate) async fn document(&self, name: &QualifiedName) -> Answer<Told> {
        if let Some(prepared) = self.registry.documents.get(&self.caller, name).await? {
            let (bytes, digest) = (prepared.bytes.clone(), prepared.digest);
            return Ok(Told { bytes, digest, is_own: true });
        }
        let (held, _) = self.passage.skill(name).await?.ok_or_else(Refusal::not_found)?;
        let digest = Sha256Digest::of(&held.bytes);
        Ok(Told { bytes: held.bytes, digest, is_own: false })
    }

    /// Where the content at an address is.
    pub(crate) async fn locate(&self, kind: Kind, address: &ContentAddress) -> Answer<Located> {
        locate(&self.registry, &self.caller, &self.passage, kind, address).await
    }

    /// The manifest of a snapshot.
    pub(crate) async fn manifest(&self, address: &ContentAddress) -> Answer<Manifest> {
        let located = self.locate(Kind::Manifest, address).await?;
        let (blobs, most) = (&self.registry.data.blobs, MAX_MANIFEST_BYTES as u64);
        let bytes = blobs.read_whole(Kind::Manifest, &located.digest, most).await?;
        let bytes = bytes.ok_or_else(|| Refusal::internal(&"a manifest is missing"))?;
        Manifest::from_canonical_bytes(&bytes).map_err(|error| Refusal::internal(&error))
    }
}
