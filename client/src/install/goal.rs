//! What a command wants a project to become.

use std::collections::BTreeMap;
use std::path::PathBuf;

use skillpkg_schema::finding::Findings;
use skillpkg_schema::{QualifiedName, Version};

use super::directories::Places;
use crate::merge::MergedCopy;
use crate::project::{Locked, Wanted};
use crate::state::Foreign;

/// One skill that the project is to have.
#[derive(Debug, Clone)]
pub(super) struct GoalSkill {
    /// What is asked for.
    pub(super) wanted: Wanted,
    /// The snapshot to have; [`None`] where it is to be resolved.
    pub(super) keep: Option<Locked>,
    /// What `skillpkg.toml` is to say of it.
    pub(super) entry: Entry,
    /// Whether agents are to see it.
    pub(super) visible: bool,
}

/// What `skillpkg.toml` is to say of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// What it says.
    Unchanged,
    /// What is asked for.
    AsAsked,
    /// The caret of what was resolved, as nobody asked for more.
    CaretOfResolved,
    /// These versions, whatever else was asked for to find the one.
    Versions(semver::VersionReq),
}

/// What a command wants a project to become.
#[derive(Debug, Clone, Default)]
pub(super) struct Goal {
    /// The skills to have, each once; those of the project that are not among them stay as they
    /// are.
    pub(super) skills: Vec<GoalSkill>,
    /// The skills to have no more.
    pub(super) removed: Vec<QualifiedName>,
    /// Whether what is added to approved versions is approved by a flag of its own.
    pub(super) is_update: bool,
    /// Whether a skill that cannot be had from its registry any more stays as it is, and the others
    /// go on.
    pub(super) spares_lost: bool,
    /// Whether registries are asked once an hour what they say of skills that are here.
    pub(super) refreshes: bool,
    /// What other tools placed and is taken over, by its path, as it was found.
    pub(super) adopted: BTreeMap<PathBuf, Foreign>,
    /// Directories that skills are placed in beside those that are chosen otherwise, with the agents
    /// that each is for.
    pub(super) beside: BTreeMap<QualifiedName, Places>,
}

/// What became of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What the lockfile says of it.
    pub locked: Locked,
    /// The version before; [`None`] where the project did not have it.
    pub before: Option<Version>,
    /// Where agents see it; where they do not, where its tree would lie.
    pub path: std::path::PathBuf,
    /// Everywhere that it is placed, that path first.
    pub paths: Vec<std::path::PathBuf>,
    /// Whether agents see it.
    pub active: bool,
    /// Whether anything was changed for it.
    pub changed: bool,
    /// What is worth an eye in its files; [`None`] where nobody looked in this run.
    pub findings: Option<Findings>,
}

/// What became of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The skills that were asked about, sorted by name.
    pub skills: Vec<Outcome>,
    /// The skills that are gone, with the version that was there.
    pub removed: Vec<(QualifiedName, Option<Version>)>,
    /// Skills that were not updated, and why.
    pub kept: Vec<Kept>,
    /// Copies that hold the edits of those that they took the place of.
    pub merged: Vec<MergedCopy>,
    /// Whether copies that were edited stay so, of skills that are as they were asked for.
    pub has_edits: bool,
    /// Whether `skillpkg.toml` says something else than before.
    pub rewrote_project: bool,
}

/// A skill that was not updated, since a copy of it was edited, or its registry does not have it any
/// more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The skill.
    pub name: QualifiedName,
    /// The version that is there.
    pub version: Option<Version>,
    /// The version that there would be, of one whose copy was edited.
    pub offered: Option<Version>,
    /// Which copy, and the files, or why it cannot be had; safe to print.
    pub reason: String,
}

impl Report {
    /// Whether anything was changed.
    pub fn has_changes(&self) -> bool {
        !self.removed.is_empty() || self.skills.iter().any(|skill| skill.changed)
    }
}
