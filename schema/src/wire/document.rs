//! A skill's document: its versions, where their bytes are, who signed them.

use serde::{Deserialize, Serialize};

use super::{Advisory, KnownLog, View};
use crate::address::ContentAddress;
use crate::finding::FindingCount;
use crate::name::QualifiedName;
use crate::signature::KeyId;
use crate::version::Version;

/// Everything about one skill that a client resolves with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Document {
    /// The whole name.
    pub name: QualifiedName,
    /// The description of the newest version.
    pub description: String,
    /// Whether only members of the scope may read it.
    #[serde(default)]
    pub private: bool,
    /// Every version, in order of publication.
    pub versions: Vec<VersionEntry>,
    /// The keys that signed those versions.
    pub keys: Vec<SignerKey>,
    /// Versions that were there and were deleted, in order of deletion. Their numbers stay taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<DeletedVersion>,
    /// What is known to be wrong with some of them, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advisories: Vec<Advisory>,
}

/// A version that an operator deleted: nothing of it is served any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeletedVersion {
    /// The version.
    pub version: Version,
    /// The snapshot that it was: SHA-256 of the manifest's canonical bytes.
    pub address: ContentAddress,
    /// Why, in the operator's words.
    pub reason: String,
    /// When, RFC 3339 in UTC.
    pub deleted: String,
}

/// One version of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VersionEntry {
    /// The version.
    pub version: Version,
    /// The snapshot: SHA-256 of the manifest's canonical bytes.
    pub address: ContentAddress,
    /// The same snapshot by BLAKE3.
    pub blake3: ContentAddress,
    /// SHA-256 of the archive's bytes.
    pub archive: ContentAddress,
    /// Length of the archive, in bytes.
    pub size: u64,
    /// Length of all files, in bytes.
    pub unpacked_size: u64,
    /// The keys whose signatures the registry verified.
    pub key_ids: Vec<KeyId>,
    /// When it was published, RFC 3339 in UTC.
    pub published: String,
    /// Present where it was yanked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yanked: Option<Yank>,
    /// Its leaf in the registry's log, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_index: Option<u64>,
    /// How much was found in its files that is worth an eye, by kind, when it was published; absent
    /// where that was not looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<FindingCount>>,
}

/// That a version was yanked: never picked anew, still restored where locked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Yank {
    /// Why, in the publisher's words.
    pub reason: String,
}

/// Asks that a version be yanked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct YankRequest {
    /// Why: 1 to 500 characters.
    pub reason: String,
}

/// A key that signed a version, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SignerKey {
    /// The key's id.
    pub id: KeyId,
    /// The account that registered it.
    pub account: String,
    /// The public key, SPKI PEM.
    pub pem: String,
    /// Whether the registry holds the private key and signs with it for the account, which published
    /// through another protocol; false where it is absent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// When its account revoked it, RFC 3339 in UTC; absent where it did not. A revoked key vouches
    /// for the versions of this document that name it, and for nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
    /// The leaf of that in the registry's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_index: Option<u64>,
    /// Why its account revoked it, in the account's words, where it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Asks for many documents at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IndexRequest {
    /// At most [`super::MAX_INDEX_NAMES`].
    pub names: Vec<QualifiedName>,
    /// Asks for views that prove the answer: the logs that the client knows, and a log of which it
    /// knows nothing by its origin and size 0. Absent where no proofs are wanted; empty asks for
    /// a view of every log that the registry has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs: Option<Vec<KnownLog>>,
}

/// The documents that there are, and the names of which there are none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IndexAnswer {
    /// In the order of the request.
    pub documents: Vec<Document>,
    /// Names that are not there, or that one may not read.
    pub missing: Vec<QualifiedName>,
    /// One of each log that speaks for names of the request; absent where none was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<View>,
}

impl Document {
    /// The version with this number.
    pub fn version(&self, version: &Version) -> Option<&VersionEntry> {
        self.versions.iter().find(|entry| entry.version == *version)
    }

    /// The version with this number, where it was deleted.
    pub fn deleted_version(&self, version: &Version) -> Option<&DeletedVersion> {
        self.deleted.iter().find(|entry| entry.version == *version)
    }
}
