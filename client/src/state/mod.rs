//! What this machine remembers beside its store: what was placed where, what is active, what was
//! approved, whose signature was seen first. All of it lies beneath `$SKILLPKG_HOME/state`, written
//! to a file of another name and renamed into place.

mod approvals;
mod document;
mod error;
mod journal;
mod live;
mod lock;
mod releases;
mod signers;

pub use approvals::Provenance;
pub(crate) use document::{Durable, Stored};
pub use error::StateError;
pub use journal::{Foreign, Journal, Occupant, Step, TextChange};
pub use live::Live;
pub use lock::ProjectLock;
pub(crate) use lock::{PATIENCE, lock_file};
pub use signers::{Pinned, SignerKeyPem, Signers};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::{Blake3Digest, ContentAddress, QualifiedName, SkillName, Version};

use crate::Error;
use crate::project::{Locked, Source};
use crate::settings::registry_text;

/// The format of the files that this version reads and writes.
pub const STATE_VERSION: u64 = 1;

/// How a skill was placed in an agent's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// A link to the snapshot's tree.
    Link,
    /// A copy, which its user may edit.
    Copy,
}

/// One thing that we placed. Only what is listed, and only while unchanged, is ever replaced or
/// removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// Where, absolute.
    pub path: PathBuf,
    /// The skill.
    pub name: QualifiedName,
    /// The snapshot.
    pub address: ContentAddress,
    /// How.
    pub placement: Placement,
    /// For which agents, by id.
    pub agents: Vec<String>,
}

/// One skill of a project that agent hosts may see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Active {
    /// The whole name.
    pub name: QualifiedName,
    /// The directory name that agents see.
    pub placed_as: SkillName,
    /// The version.
    pub version: Version,
    /// The snapshot.
    pub address: ContentAddress,
    /// The key whose signature over that address was verified when the skill was placed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyId>,
    /// The archive and the leaf of its registry's log that the lockfile named when they were
    /// verified; [`None`] where an earlier version placed the skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proven: Option<ProvenOf>,
    /// Where each program was found on PATH when the skill was activated, absolute: calls start
    /// that one, whatever PATH holds by then.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<String, PathBuf>,
}

impl Active {
    /// Whether a lockfile says of the skill just what was verified when it was placed; [`None`] where
    /// that is not remembered.
    ///
    /// What is said against a version, and what a policy says of its source, is looked up by what the
    /// lockfile says: it counts for nothing until it is what was verified.
    pub(crate) fn is_as_locked(&self, locked: &Locked) -> Option<bool> {
        let proven = self.proven.as_ref()?;
        let named = ProvenOf::of(locked);
        let is_same_key = self.key.is_none_or(|key| key == locked.key);
        let is_same_source = proven.source.is_none() || proven.source == named.source;
        let is_same_place = proven.archive == named.archive && proven.log_index == named.log_index;
        let is_same_version = self.version == locked.version && self.address == locked.address;
        Some(is_same_version && is_same_key && is_same_source && is_same_place)
    }
}

/// Which archive a skill came in and from where, and where its record is in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvenOf {
    /// Its registry's URL, or `file`; [`None`] where an earlier version placed the skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The archive's digest.
    pub archive: ContentAddress,
    /// Its leaf, where it is in a log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_index: Option<u64>,
}

impl ProvenOf {
    /// What a lockfile names.
    pub(crate) fn of(locked: &Locked) -> Self {
        let source = match &locked.source {
            Source::Registry(url) => registry_text(url).to_owned(),
            Source::File(_) => "file".to_owned(),
        };
        Self { source: Some(source), archive: locked.archive, log_index: locked.log_index }
    }
}

/// What is remembered of one project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectState {
    /// The ledger, sorted by path.
    pub placed: Vec<Placed>,
    /// The active set, sorted by name.
    pub active: Vec<Active>,
    /// Skills that are installed and that agents are not to see: `sync` leaves them so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inactive: Vec<QualifiedName>,
    /// Those of them that were placed as copies, and are again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<QualifiedName>,
    /// The agents, by id, that were found on this machine when a skill was first placed: a directory
    /// that somebody makes later brings no skill there. [`None`] where nothing was placed yet, or
    /// whoever placed it named agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<String>>,
}

impl ProjectState {
    /// Sorts what is listed and drops what is listed twice, as it is written.
    pub fn normalise(&mut self) {
        self.placed.sort_by(|left, right| left.path.cmp(&right.path));
        self.placed.dedup_by(|left, right| left.path == right.path);
        self.active.sort_by_cached_key(|active| active.name.to_string());
        self.active.dedup_by(|left, right| left.name == right.name);
        self.inactive.sort_by_cached_key(ToString::to_string);
        self.inactive.dedup();
        self.copies.sort_by_cached_key(ToString::to_string);
        self.copies.dedup();
    }

    /// What was placed of `name`.
    pub fn placed_of<'a>(&'a self, name: &'a QualifiedName) -> impl Iterator<Item = &'a Placed> {
        self.placed.iter().filter(move |placed| placed.name == *name)
    }

    /// Whether a skill is placed as copies, or was when it was last seen.
    pub fn is_copied(&self, name: &QualifiedName) -> bool {
        self.copies.contains(name)
            || self.placed_of(name).any(|placed| placed.placement == Placement::Copy)
    }

    /// The active entry of `name`.
    pub fn active(&self, name: &QualifiedName) -> Option<&Active> {
        self.active.iter().find(|active| active.name == *name)
    }
}

/// A project's state as its file holds it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(from = "ProjectFields")]
struct ProjectRecord {
    root: PathBuf,
    #[serde(flatten)]
    state: ProjectState,
}

/// The same fields side by side: what is flattened is held in memory twice before it is read.
#[derive(Deserialize)]
struct ProjectFields {
    root: PathBuf,
    placed: Vec<Placed>,
    active: Vec<Active>,
    #[serde(default)]
    inactive: Vec<QualifiedName>,
    #[serde(default)]
    copies: Vec<QualifiedName>,
    #[serde(default)]
    agents: Option<Vec<String>>,
}

impl From<ProjectFields> for ProjectRecord {
    fn from(fields: ProjectFields) -> Self {
        let ProjectFields { root, placed, active, inactive, copies, agents } = fields;
        Self { root, state: ProjectState { placed, active, inactive, copies, agents } }
    }
}

/// The machine's memory, beneath one home. Cheap to clone.
#[derive(Debug, Clone)]
pub struct State {
    directory: PathBuf,
}

impl State {
    /// The state beneath `home`; nothing is read or made yet.
    pub fn new(home: &Path) -> Self {
        Self { directory: home.join("state") }
    }

    /// Where it lies.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What is remembered of the project at `root`; nothing where it was never seen.
    pub fn project(&self, root: &Path) -> Result<ProjectState, Error> {
        let record = self.record(root, "json").read::<ProjectRecord>()?;
        Ok(record.map(|record| record.state).unwrap_or_default())
    }

    /// Remembers what became of the project at `root`. Atomic; whoever calls holds its lock.
    pub fn set_project(&self, root: &Path, state: &ProjectState) -> Result<(), Error> {
        let mut state = state.clone();
        state.normalise();
        self.record(root, "json").write(&ProjectRecord { root: canonical(root), state })?;
        Ok(())
    }

    /// The file that remembers the project at `root`, whether or not it is there.
    pub(crate) fn project_file(&self, root: &Path) -> PathBuf {
        self.record(root, "json").path().to_owned()
    }

    /// One of a project's files, by its extension.
    fn record(&self, root: &Path, extension: &str) -> Stored {
        Stored::new(self.projects().join(format!("{}.{extension}", project_key(root))))
    }

    fn projects(&self) -> PathBuf {
        self.directory.join("projects")
    }
}

/// A project's root with every link resolved; as it is where it cannot be.
fn canonical(root: &Path) -> PathBuf {
    crate::real_path::of(root).unwrap_or_else(|_| root.to_owned())
}

/// What a project's files are called: the first 32 digits of the BLAKE3 of its canonical root.
fn project_key(root: &Path) -> String {
    let root = canonical(root);
    let mut key = Blake3Digest::of(root.as_os_str().as_encoded_bytes()).to_string();
    key.truncate(32);
    key
}
