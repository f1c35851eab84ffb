//! A project: what it asks for (`skillpkg.toml`) and what it got (`skillpkg.lock`).

mod archive;
mod conflict;
mod directory;
mod edit;
mod fault;
mod file;
mod lock;

pub(crate) use archive::ProjectArchive;
pub use directory::{ProjectDirectory, ProjectFiles, io_error, io_hint};
pub use edit::ProjectDocument;
pub use file::{AgentsTable, ProjectFile};
pub use lock::LockFile;

use skillpkg_schema::signature::KeyId;
use skillpkg_schema::{ContentAddress, QualifiedName, Requirement, SkillName, Version};
use url::Url;

/// The name of the file that says what a project asks for.
pub const PROJECT_FILE: &str = "skillpkg.toml";
/// The name of the file that says what a project got.
pub const LOCK_FILE: &str = "skillpkg.lock";
/// The format of lockfiles that this version reads and writes.
pub const LOCK_VERSION: u64 = 1;
/// Most bytes of either file.
pub const MAX_PROJECT_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Most skills of either file.
pub const MAX_PROJECT_SKILLS: usize = 10_000;

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

impl Wanted {
    /// The directory name that agents see.
    pub fn directory_name(&self) -> &SkillName {
        self.placed_as.as_ref().unwrap_or_else(|| self.name.name())
    }

    /// Whether a locked skill is what is asked for here.
    ///
    /// A requirement that is a BLAKE3 address is never met by a lock's SHA-256 address: whoever
    /// has the manifest at hand compares it.
    pub fn is_met_by(&self, locked: &Locked) -> bool {
        self.name == locked.name
            && match (&self.file, &locked.source) {
                (Some(wanted), Source::File(file)) => wanted == file,
                (None, Source::Registry(_)) => match &self.requirement {
                    // A pre-release is locked only where one was asked for.
                    Requirement::Latest => true,
                    other => other.matches(&locked.version, &locked.address),
                },
                _ => false,
            }
    }
}

/// Where a locked skill comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A registry.
    Registry(Url),
    /// An archive; relative to the project, `/`-separated.
    File(String),
}

impl Source {
    /// The registry; [`None`] for an archive.
    pub fn registry(&self) -> Option<&Url> {
        match self {
            Self::Registry(url) => Some(url),
            Self::File(_) => None,
        }
    }
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

/// A requirement as `skillpkg.toml` writes it: a lone caret is left out, as people write it.
pub fn requirement_text(requirement: &Requirement) -> String {
    let text = requirement.to_string();
    match requirement {
        Requirement::Semver(semver) if semver.comparators.len() == 1 => {
            text.strip_prefix('^').map_or(text.clone(), str::to_owned)
        }
        _ => text,
    }
}
