//! The answer to a publish.

use serde::{Deserialize, Serialize};

use crate::address::ContentAddress;
use crate::diagnostic::Diagnostic;
use crate::finding::FindingCount;
use crate::name::QualifiedName;
use crate::signature::KeyId;
use crate::version::Version;

/// The header in which a publish offers the public key that the archive is signed with, as the
/// base64 of its SPKI DER; an account's first publish registers it.
pub const PUBLIC_KEY_HEADER: &str = "skillpkg-public-key";

/// The header in which a publish shows that its account holds the key in [`PUBLIC_KEY_HEADER`], as
/// the base64 of the envelope ([`crate::signature::key_proof`]). Needed where the key is yet to be
/// registered: an archive that somebody else signed could be sent by anybody.
pub const KEY_PROOF_HEADER: &str = "skillpkg-key-proof";

/// A version that is published: 201 where it is new, 200 where the same manifest was there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PublishAnswer {
    /// The whole name.
    pub name: QualifiedName,
    /// The version.
    pub version: Version,
    /// The snapshot's SHA-256 address.
    pub address: ContentAddress,
    /// The snapshot's BLAKE3 address.
    pub blake3: ContentAddress,
    /// The archive that is served: the first one's digest where the manifest was there already.
    pub archive: ContentAddress,
    /// Length of that archive, in bytes.
    pub size: u64,
    /// Its leaf in the registry's log, where there is one.
    pub log_index: Option<u64>,
    /// That its record is in the log: a C2SP tlog-proof whose extra data is the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_proof: Option<String>,
    /// Whether this request made it.
    pub created: bool,
    /// The key that this request registered, where it was the account's first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_registered: Option<KeyId>,
    /// How much was found in the files that is worth an eye, by kind: what the document says of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingCount>,
    /// What is worth telling, though nothing was refused for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Diagnostic>,
}
