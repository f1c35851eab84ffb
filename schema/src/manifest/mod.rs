//! The manifest: the canonical JSON that lists a snapshot, whose digest is the snapshot's address.

mod derive;

pub use derive::{Derived, Identity, derive, verify_derived};

use serde::{Deserialize, Serialize};

use crate::address::{Blake3Digest, ContentAddress, Digests, Sha256Digest};
use crate::diagnostic::escape;
use crate::limits::{MAX_FILES, MAX_MANIFEST_BYTES, MAX_MANIFEST_VALUES, MAX_UNPACKED_BYTES};
use crate::name::QualifiedName;
use crate::path::{PathSetError, SkillPath, check_path_set};
use crate::skill::{Dialect, Program};
use crate::version::Version;

/// The value of a manifest's `schema` field that this crate reads and writes.
pub const MANIFEST_SCHEMA: &str = "skillpkg.manifest/1";

/// The greatest integer that every reader of JSON holds exactly.
const GREATEST_NUMBER: u64 = (1 << 53) - 1;

/// Bytes that are no manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// Longer than [`MAX_MANIFEST_BYTES`].
    #[error("the manifest is {0} bytes long; the most is {MAX_MANIFEST_BYTES}")]
    TooLong(usize),
    /// More values than [`MAX_MANIFEST_VALUES`].
    #[error("the manifest holds more than {MAX_MANIFEST_VALUES} values")]
    TooManyValues,
    /// Not JSON of a manifest's shape.
    #[error("the manifest does not have the shape of one: {0}")]
    Shape(String),
    /// Written by another version of the format.
    #[error("the manifest is of `{}`; this version reads `{MANIFEST_SCHEMA}`", escape(.0))]
    Schema(String),
    /// JSON, but not in the one canonical form of RFC 8785.
    #[error("the manifest is not in canonical form (RFC 8785)")]
    NotCanonical,
    /// A number, a truth value or a null in [`Manifest::metadata`], where scalars are texts.
    #[error("the manifest's metadata holds something else than texts, lists and mappings")]
    Metadata,
    /// Files out of order, or one twice.
    #[error("the manifest's files are not sorted: `{0}` does not come after `{1}`")]
    NotSorted(SkillPath, SkillPath),
    /// Some file system cannot hold the files side by side.
    #[error(transparent)]
    Paths(#[from] PathSetError),
    /// More than [`MAX_FILES`].
    #[error("the manifest lists {0} files; the most is {MAX_FILES}")]
    TooManyFiles(usize),
    /// Files of more than [`MAX_UNPACKED_BYTES`] together.
    #[error("the files are {0} bytes together; the most is {MAX_UNPACKED_BYTES}")]
    TooManyBytes(u64),
    /// A number that another reader of JSON may round.
    #[error("the manifest holds the number {0}; the greatest is {GREATEST_NUMBER}, 2^53 - 1")]
    NumberTooGreat(u64),
    /// No `SKILL.md` among the files.
    #[error("the manifest lists no `SKILL.md`")]
    NoSkillFile,
}

/// Whether a file is executable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Mode {
    /// Read by all, written by its owner.
    #[serde(rename = "644")]
    Regular,
    /// Executed by all, too.
    #[serde(rename = "755")]
    Executable,
}

impl Mode {
    /// The permission bits in an archive's header.
    pub fn bits(self) -> u32 {
        match self {
            Self::Regular => 0o644,
            Self::Executable => 0o755,
        }
    }

    /// The mode of a file that is executable, or is not.
    pub fn of(executable: bool) -> Self {
        if executable { Self::Executable } else { Self::Regular }
    }
}

/// One file of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// Where it lies.
    pub path: SkillPath,
    /// Whether it is executable.
    pub mode: Mode,
    /// Its length in bytes.
    pub size: u64,
    /// SHA-256 of its bytes.
    pub sha256: Sha256Digest,
    /// BLAKE3 of its bytes.
    pub blake3: Blake3Digest,
}

impl FileEntry {
    /// The entry of a file with these digests.
    pub fn new(path: SkillPath, mode: Mode, digests: Digests) -> Self {
        let Digests { size, sha256, blake3 } = digests;
        Self { path, mode, size, sha256, blake3 }
    }
}

/// One tool: a `tool` fence, run as argv.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolEntry {
    /// The fence's `id`.
    pub id: String,
    /// The fence's `description`.
    pub description: String,
    /// The words of `run` as written, `$` not yet replaced.
    pub run: Vec<String>,
    /// The JSON Schema of its arguments, as canonical text.
    pub schema: String,
}

/// One resource: read-only content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceEntry {
    /// The capability's name, `read_…`.
    pub name: String,
    /// What a model is told it holds.
    pub description: String,
    /// The file.
    pub path: SkillPath,
}

/// One script: runs behind a runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ScriptEntry {
    /// The capability's name.
    pub name: String,
    /// What a model is told it does.
    pub description: String,
    /// The file.
    pub path: SkillPath,
    /// Which kind of runner it needs, such as `python`.
    pub runtime: String,
    /// The input contract's schema, as canonical text.
    pub contract: String,
    /// Lowercase hex SHA-256 of `contract`.
    pub fingerprint: Sha256Digest,
    /// Whether permission is asked before each call.
    pub requires_permission: bool,
    /// Longest run, in seconds.
    pub timeout_seconds: u64,
    /// Most bytes of output.
    pub maximum_output_bytes: u64,
}

/// What a skill needs on the machine beside the programs its tools name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requires {
    /// Programs that must all be on PATH.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub all: Vec<String>,
    /// Programs of which one must be on PATH.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any: Vec<String>,
    /// Environment variables that must be set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Operating systems of which this must be one; empty means any. `linux`, `macos`, `windows`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub os: Vec<String>,
}

impl Requires {
    /// Whether nothing is required.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The list of one snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`MANIFEST_SCHEMA`].
    pub schema: String,
    /// The whole name, `[scope/]name`.
    pub name: QualifiedName,
    /// The version.
    pub version: Version,
    /// The frontmatter's description.
    pub description: String,
    /// The frontmatter's licence, if it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// Which kind of `SKILL.md` it is.
    pub dialect: Dialect,
    /// Every file, sorted by the bytes of its path.
    pub files: Vec<FileEntry>,
    /// In order of appearance.
    pub tools: Vec<ToolEntry>,
    /// Sorted by name.
    pub resources: Vec<ResourceEntry>,
    /// Sorted by name.
    pub scripts: Vec<ScriptEntry>,
    /// In order of first appearance.
    pub programs: Vec<Program>,
    /// From `metadata.openclaw.requires` and its kin.
    pub requires: Requires,
    /// The other frontmatter: scalars as texts, nesting kept.
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

impl Manifest {
    /// The canonical bytes, RFC 8785.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Every field is a text, an integer below 2^53 or a collection of them: nothing in it that
        // serialisation can refuse.
        serde_json_canonicalizer::to_vec(self).unwrap_or_default()
    }

    /// The SHA-256 address of the canonical bytes: the snapshot's address.
    pub fn address(&self) -> ContentAddress {
        Sha256Digest::of(&self.to_bytes()).address()
    }

    /// The SHA-256 and the BLAKE3 address of the canonical bytes.
    pub fn addresses(&self) -> (ContentAddress, ContentAddress) {
        let bytes = self.to_bytes();
        (Sha256Digest::of(&bytes).address(), Blake3Digest::of(&bytes).address())
    }

    /// Reads canonical bytes, and nothing else.
    ///
    /// Refuses duplicate keys, floats, a byte-order mark, unknown fields and another order or
    /// spacing, since none of them comes out again as it went in; and files that are unsorted,
    /// collide, or are over a bound.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ManifestError> {
        let manifest = Self::from_canonical_bytes(bytes)?;
        if manifest.to_bytes() == bytes { Ok(manifest) } else { Err(ManifestError::NotCanonical) }
    }

    /// [`Manifest::from_bytes`] for bytes of which it is known that they are canonical, such as
    /// those of a digest under which [`Manifest::to_bytes`] was kept. All else is checked.
    ///
    /// Writing a manifest again to compare it costs more than reading it.
    pub fn from_canonical_bytes(bytes: &[u8]) -> Result<Self, ManifestError> {
        if bytes.len() > MAX_MANIFEST_BYTES {
            return Err(ManifestError::TooLong(bytes.len()));
        }
        // Each value is a byte at least.
        if bytes.len() > MAX_MANIFEST_VALUES && values(bytes) > MAX_MANIFEST_VALUES {
            return Err(ManifestError::TooManyValues);
        }
        let manifest: Self = match serde_json::from_slice(bytes) {
            Ok(manifest) => manifest,
            Err(error) => return Err(misshapen(bytes, &error)),
        };
        if manifest.schema != MANIFEST_SCHEMA {
            return Err(ManifestError::Schema(manifest.schema));
        }
        manifest.check_files()?;
        manifest.check_numbers()?;
        if !manifest.metadata.values().all(is_textual) {
            return Err(ManifestError::Metadata);
        }
        Ok(manifest)
    }

    /// Bytes of all files together.
    pub fn unpacked_size(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.size))
    }

    /// The entry of the file at `path`.
    pub fn file(&self, path: &str) -> Option<&FileEntry> {
        self.files
            .binary_search_by(|file| file.path.as_str().as_bytes().cmp(path.as_bytes()))
            .ok()
            .map(|position| &self.files[position])
    }

    /// Sizes are bounded by their sum.
    fn check_numbers(&self) -> Result<(), ManifestError> {
        let numbers = |script: &ScriptEntry| [script.timeout_seconds, script.maximum_output_bytes];
        match self.scripts.iter().flat_map(numbers).find(|number| *number > GREATEST_NUMBER) {
            Some(number) => Err(ManifestError::NumberTooGreat(number)),
            None => Ok(()),
        }
    }

    fn check_files(&self) -> Result<(), ManifestError> {
        if self.files.len() > MAX_FILES {
            return Err(ManifestError::TooManyFiles(self.files.len()));
        }
        for pair in self.files.windows(2) {
            let (left, right) = (&pair[0].path, &pair[1].path);
            if left.as_str().as_bytes() >= right.as_str().as_bytes() {
                return Err(ManifestError::NotSorted(right.clone(), left.clone()));
            }
        }
        check_path_set(self.files.iter().map(|file| &file.path))?;
        if self.unpacked_size() > MAX_UNPACKED_BYTES {
            return Err(ManifestError::TooManyBytes(self.unpacked_size()));
        }
        match self.file("SKILL.md") {
            Some(_) => Ok(()),
            None => Err(ManifestError::NoSkillFile),
        }
    }
}

/// What is wrong with bytes that have not the shape of a manifest: they may be one of another
/// version.
fn misshapen(bytes: &[u8], error: &serde_json::Error) -> ManifestError {
    #[derive(Deserialize)]
    struct OnlySchema {
        schema: String,
    }
    match serde_json::from_slice(bytes) {
        Ok(OnlySchema { schema }) if schema != MANIFEST_SCHEMA => ManifestError::Schema(schema),
        _ => ManifestError::Shape(escape(&error.to_string())),
    }
}

/// How many values JSON holds, or somewhat more: what separates and opens them, outside of texts.
///
/// Counted before they are parsed, since each costs more in memory than in the text.
fn values(json: &[u8]) -> usize {
    let mut count = 0;
    let mut is_text = false;
    let mut is_escaped = false;
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b',' | b':' | b'[' | b'{' if !is_text => count += 1,
            _ => {}
        }
    }
    count
}

/// Whether every scalar of `value` is a text. Parsed JSON is at most 128 deep.
fn is_textual(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::String(_) => true,
        serde_json::Value::Array(items) => items.iter().all(is_textual),
        serde_json::Value::Object(members) => members.values().all(is_textual),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
