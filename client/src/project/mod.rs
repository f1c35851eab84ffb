//! A project: what it asks for (`skillpkg.toml`) and what it got (`skillpkg.lock`).

use skillpkg_schema::signature::KeyId;
use skillpkg_schema::{ContentAddress, QualifiedName, Requirement, SkillName, Version};
use url::Url;

/// The name of the file that says what a project asks for.
pub const PROJECT_FILE: &str = "skillpkg.toml";
/// The name of the file that says what a project got.
pub const LOCK_FILE: &str = "skillpkg.lock";
/// The format of lockfiles that this version reads and writes.
pub const LOCK_VERSION: u64 = 1;

/// One skill that a project asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The whole name.
    pub name: QualifiedName,
    /// Which versions will do.
    pub requirement: Requirement,
    /// The directory name in agents' directories, in place of the skill's own (`--as`).
    pub placed_as: Option<SkillName>,
    /// An archive beside the project, where it does not come from a registry; relative to the
    /// project, `/`-separated.
    pub file: Option<String>,
}

/// Where a locked skill comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A registry.
    Registry(Url),
    /// An archive; relative to the project, `/`-separated.
    File(String),
}

/// One skill that a project got: exactly one snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locked {
    /// The whole name.
    pub name: QualifiedName,
    /// The version.
    pub version: Version,
    /// Where it comes from.
    pub source: Source,
    /// The snapshot's SHA-256 address.
    pub address: ContentAddress,
    /// The archive's digest.
    pub archive: ContentAddress,
    /// The key whose signature was verified.
    pub key: KeyId,
    /// Its leaf in the registry's log, where there is one.
    pub log_index: Option<u64>,
}
