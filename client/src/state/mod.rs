//! What this machine remembers beside its store: what was placed where, what is active, what was
//! approved, whose signature was seen first. All of it lies beneath `$SKILLPKG_HOME/state`, written
//! to a file of another name and renamed into place.

use std::path::{Path, PathBuf};

use skillpkg_schema::{ContentAddress, QualifiedName, SkillName, Version};

use crate::Error;

/// How a skill was placed in an agent's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// A link to the snapshot's tree.
    Link,
    /// A copy, which its user may edit.
    Copy,
}

/// One thing that we placed. Only what is listed, and only while unchanged, is ever replaced or
/// removed.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Active {
    /// The whole name.
    pub name: QualifiedName,
    /// The directory name that agents see.
    pub placed_as: SkillName,
    /// The version.
    pub version: Version,
    /// The snapshot.
    pub address: ContentAddress,
}

/// What is remembered of one project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectState {
    /// The ledger, sorted by path.
    pub placed: Vec<Placed>,
    /// The active set, sorted by name.
    pub active: Vec<Active>,
}

/// The machine's memory, beneath one home.
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
        let _ = root;
        todo!()
    }

    /// Whether what the snapshot runs was approved on this machine.
    pub fn is_approved(&self, snapshot: &ContentAddress) -> Result<bool, Error> {
        let _ = snapshot;
        todo!()
    }

    /// Remembers that what the snapshot of `name` runs was approved. Atomic.
    pub fn approve(
        &self,
        name: &QualifiedName,
        version: &Version,
        snapshot: &ContentAddress,
    ) -> Result<(), Error> {
        let _ = (name, version, snapshot);
        todo!()
    }

    /// The snapshot of `name` that was approved last, if any was.
    pub fn last_approved(&self, name: &QualifiedName) -> Result<Option<ContentAddress>, Error> {
        let _ = name;
        todo!()
    }

    /// Every snapshot that some project on this machine locks or has active: what `gc` keeps.
    pub fn live(&self) -> Result<Vec<ContentAddress>, Error> {
        todo!()
    }
}
