//! A log as clients ask about it: who it is, a view of it that proves documents, and proofs that
//! records are in it.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::address::{DIGEST_BYTES, text_serde};
use crate::log::{Hash, Sealed};
use crate::signature::Envelope;

/// Most leaves that one request asks proofs of.
pub const MAX_PROOFS: usize = 1_000;

/// Hashes one behind the other, as one base64 text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hashes(pub Vec<Hash>);

/// A text that is no base64 of whole hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected the base64 of whole SHA-256 hashes")]
pub struct HashesError;

impl fmt::Display for Hashes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: Vec<u8> = self.0.iter().flat_map(|hash| *hash.as_bytes()).collect();
        f.write_str(&STANDARD.encode(bytes))
    }
}

impl FromStr for Hashes {
    type Err = HashesError;

    fn from_str(text: &str) -> Result<Self, HashesError> {
        let bytes = STANDARD.decode(text).map_err(|_| HashesError)?;
        let (hashes, rest) = bytes.as_chunks::<DIGEST_BYTES>();
        if !rest.is_empty() {
            return Err(HashesError);
        }
        Ok(Self(hashes.iter().map(|hash| Hash::from_bytes(*hash)).collect()))
    }
}

text_serde!(Hashes);

/// The logs of a registry: its own, and on a mirror the one that it relays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Logs {
    /// Its own first.
    pub logs: Vec<LogInfo>,
}

/// Who a log is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogInfo {
    /// Its origin.
    pub origin: String,
    /// Where its checkpoint and tiles lie beneath the registry's URL, such as `log`: append
    /// `/checkpoint` or `/tile/…` (C2SP tlog-tiles).
    pub prefix: String,
    /// Whether it is another registry's, and only relayed.
    pub relayed: bool,
    /// All its identities from the first on, each a DSSE envelope.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub identities: Vec<Envelope>,
    /// Its newest checkpoint, a signed note.
    pub checkpoint: String,
}

/// What a client knows of a log already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KnownLog {
    /// The log's origin.
    pub origin: String,
    /// Leaves in the newest checkpoint that the client has; 0 where it has none.
    pub size: u64,
}

/// One moment of one log: all documents of an answer that are this log's are of this moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct View {
    /// The log's origin.
    pub origin: String,
    /// The signed checkpoint.
    pub checkpoint: String,
    /// That it continues the checkpoint that the client has (RFC 9162), where it has one.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub consistency: Hashes,
    /// The last leaf: the root of the heads tree.
    pub heads: Proven,
    /// The buckets of the names that were asked for, those of names that are missing among them;
    /// each once. On a mirror, those of names that are not its own.
    pub buckets: Vec<ProvenBucket>,
    /// Of private documents, and of missing names of scopes that the caller may read: statements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub statements: Vec<Envelope>,
    /// Where the log is another registry's and only relayed: when that one last said that this is
    /// so, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refreshed: Option<String>,
}

/// A record with the proof that it is in a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Proven {
    /// Its leaf.
    pub index: u64,
    /// The record, and its salt where the leaf is blinded.
    pub sealed: Sealed,
    /// Its inclusion proof.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub proof: Hashes,
}

/// A bucket of the heads tree with the proof that it is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProvenBucket {
    /// Its number.
    pub bucket: u16,
    /// Its bytes: pairs of the hash of a name and that of a document, sorted.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub heads: Hashes,
    /// Its inclusion proof in the heads tree.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub proof: Hashes,
}

/// Asks for inclusion proofs of leaves in the tree of one size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProofsRequest {
    /// The log's origin.
    pub origin: String,
    /// Leaves in the tree that the proofs are to lead to: at most those of the newest checkpoint.
    pub size: u64,
    /// At most [`MAX_PROOFS`].
    pub indices: Vec<u64>,
}

/// The proofs that there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProofsAnswer {
    /// In the order of the request.
    pub records: Vec<Proven>,
    /// Leaves that are outside the tree, or whose record one may not read.
    pub missing: Vec<u64>,
}
