//! A change being made to a project: written before the first thing changes, so that whoever comes
//! after a kill can finish it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillpkg_schema::{ContentAddress, QualifiedName};

use super::document::Durable;
use super::{Placement, ProjectState, State};
use crate::Error;

/// What stands at a place, as far as it is ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupant {
    /// The snapshot.
    pub address: ContentAddress,
    /// How it is there.
    pub placement: Placement,
    /// Whether it goes even where its user has edited it.
    #[serde(default)]
    pub discard_edits: bool,
}

/// One thing that changes in an agent's directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Where, absolute.
    pub path: PathBuf,
    /// The skill.
    pub name: QualifiedName,
    /// What is there before; [`None`] where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Occupant>,
    /// What is there after; [`None`] where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Occupant>,
}

/// What becomes of one of the project's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextChange {
    /// The text before; [`None`] where there is no file. Whoever finishes the change leaves a file
    /// alone that says neither this nor what is to come: somebody else wrote it since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The text afterwards.
    pub after: String,
}

/// A change: every step of it, the project's files and the state as they are afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// In the order in which they are made.
    pub steps: Vec<Step>,
    /// What becomes of `skillpkg.toml`; [`None`] where it does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<TextChange>,
    /// What becomes of `skillpkg.lock`; [`None`] where it does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<TextChange>,
    /// What is remembered afterwards.
    pub state: ProjectState,
}

impl State {
    /// The change that was begun in the project at `root` and not ended; [`None`] where none was.
    pub fn journal(&self, root: &Path) -> Result<Option<Journal>, Error> {
        Ok(self.record(root, "journal").read()?)
    }

    /// Writes down a change before it is begun. On disk when this answers: the machine may stop
    /// at any moment after it, and the change is finished by whoever opens the project next.
    pub fn begin(&self, root: &Path, journal: &Journal) -> Result<(), Error> {
        Ok(self.record(root, "journal").write_as(journal, Durable::Yes)?)
    }

    /// Forgets a change that was made whole, or taken back whole.
    pub fn end(&self, root: &Path) -> Result<(), Error> {
        Ok(self.record(root, "journal").remove()?)
    }
}
