//! What a bundle holds: one file with archives, documents, proofs and checkpoints, for machines that
//! no registry reaches. `docs/wire/bundle.md` specifies it.
//!
//! A bundle says nothing that a registry did not say: whoever reads one verifies it as a registry's
//! answers are verified.

mod check;
mod error;

pub use error::BundleIndexError;

use serde::{Deserialize, Serialize};

use crate::address::{Algorithm, ContentAddress};
use crate::log::{Hash, TilePath};
use crate::name::QualifiedName;
use crate::signature::Envelope;
use crate::version::Version;
use crate::wire::{Proven, View};

/// What the index says that it is.
pub const BUNDLE_SCHEMA: &str = "skillpkg.bundle/1";
/// The path of the index, the first entry.
pub const INDEX_PATH: &str = "bundle.json";
/// Most bytes of an index.
pub const MAX_INDEX_BYTES: usize = 32 * 1024 * 1024;
/// Most bytes of all files together.
pub const MAX_BUNDLE_BYTES: u64 = 16 * 1024 * 1024 * 1024;
/// Most files beside the index.
pub const MAX_BUNDLED_FILES: usize = 20_000;
/// Most registries.
pub const MAX_BUNDLED_REGISTRIES: usize = 64;

/// What a bundle holds, and the files that follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleIndex {
    /// [`BUNDLE_SCHEMA`].
    pub schema: String,
    /// By registry; sorted by URL.
    pub registries: Vec<BundledRegistry>,
    /// The files in the order in which they follow: sorted by the bytes of their paths.
    pub files: Vec<BundledFile>,
}

/// One file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundledFile {
    /// Where it is in the bundle; never a path of a file system.
    pub path: String,
    /// SHA-256 of its bytes.
    pub sha256: Hash,
    /// Its length in bytes.
    pub size: u64,
}

/// What a bundle holds of one registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundledRegistry {
    /// Its base URL, without a trailing `/`.
    pub url: String,
    /// Its logs; sorted by origin.
    pub logs: Vec<BundledLog>,
    /// Its skills; sorted by name.
    pub skills: Vec<BundledSkill>,
}

/// A log, and what its newest checkpoint proves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundledLog {
    /// Whether it is another registry's, and only relayed.
    pub relayed: bool,
    /// All its identities from the first on.
    pub identities: Vec<Envelope>,
    /// As a registry answers it, of the names that the bundle holds. That it continues an earlier
    /// checkpoint the tiles prove: its consistency proof is empty.
    pub view: View,
}

/// What a bundle holds of one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundledSkill {
    /// Its whole name.
    pub name: QualifiedName,
    /// SHA-256 of its document, as the registry serves it.
    pub document: Hash,
    /// The versions whose archives are there; sorted.
    pub versions: Vec<BundledVersion>,
}

/// A version whose archive a bundle holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundledVersion {
    /// The version.
    pub version: Version,
    /// SHA-256 of the archive's bytes.
    pub archive: ContentAddress,
    /// The origin of the log that it is in.
    pub origin: String,
    /// Its record, proven in the tree of that log's checkpoint. Of a private scope with its salt.
    pub proof: Proven,
}

/// Where a document is in a bundle.
pub fn document_path(document: &Hash) -> String {
    format!("documents/{document}.json")
}

/// Where an archive is in a bundle; [`None`] where it is not named by its SHA-256.
pub fn archive_path(archive: &ContentAddress) -> Option<String> {
    (archive.algorithm() == Algorithm::Sha256)
        .then(|| format!("archives/{}.skill.tar.zst", archive.hex()))
}

/// Where a tile of a log is in a bundle.
pub fn tile_path(origin: &str, tile: &TilePath) -> String {
    format!("logs/{}/{tile}", log_directory(origin))
}

/// The first 32 digits of the SHA-256 of a log's origin.
fn log_directory(origin: &str) -> String {
    let mut directory = Hash::of(origin.as_bytes()).to_string();
    directory.truncate(32);
    directory
}

impl BundleIndex {
    /// The index of these registries and files.
    pub fn new(registries: Vec<BundledRegistry>, files: Vec<BundledFile>) -> Self {
        Self { schema: BUNDLE_SCHEMA.to_owned(), registries, files }
    }

    /// The canonical bytes, RFC 8785.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json_canonicalizer::to_vec(self).unwrap_or_default()
    }

    /// Reads the bytes of an index, in canonical form and no other, and holds what it says against
    /// itself: everything once and in order, every file there that is spoken of, and no other.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BundleIndexError> {
        #[derive(Deserialize)]
        struct OnlySchema {
            schema: String,
        }
        if bytes.len() > MAX_INDEX_BYTES {
            return Err(BundleIndexError::TooLong(bytes.len() as u64));
        }
        let shape = |error: serde_json::Error| BundleIndexError::Shape(error.to_string());
        let OnlySchema { schema } = serde_json::from_slice(bytes).map_err(shape)?;
        if schema != BUNDLE_SCHEMA {
            return Err(BundleIndexError::Schema(schema));
        }
        let index: Self = serde_json::from_slice(bytes).map_err(shape)?;
        if index.to_bytes() != bytes {
            return Err(BundleIndexError::Canonical);
        }
        index.check()?;
        Ok(index)
    }

    /// The file at a path of the bundle, and its place among the files.
    pub fn file(&self, path: &str) -> Option<(usize, &BundledFile)> {
        let place = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(place).map(|file| (place, file))
    }
}
