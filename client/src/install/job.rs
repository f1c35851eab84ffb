//! One skill of a goal, how it is had, and what it is to be.

use skillpkg_schema::signature::KeyId;
use skillpkg_schema::{ContentAddress, QualifiedName, Version};
use url::Url;

use super::candidate::Candidate;
use super::goal::GoalSkill;
use super::prepare::Expected;
use super::session::Session;
use crate::project::{Locked, ProjectArchive, Source};
use crate::registry::Registry;

/// How a skill's archive is had.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// It is in the store, and the key that signed it is known.
    Store,
    /// From a file.
    File(ProjectArchive),
    /// From a registry, with the archive's length.
    Registry(Registry, u64),
}

/// One skill of a goal, and how it is had.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) goal: GoalSkill,
    pub(super) origin: Origin,
    pub(super) expected: Expected,
    /// What the lockfile will say of where it comes from.
    pub(super) source: Source,
    pub(super) log_index: Option<u64>,
    /// Why it was yanked, where it was.
    pub(super) yanked: Option<String>,
    /// That newer versions were passed over, and why, as sentences.
    pub(super) passed_over: Vec<String>,
    /// Whether its registry was asked about it just now.
    pub(super) is_asked: bool,
    /// What advisories say of it, as sentences.
    pub(super) advisories: Vec<String>,
    /// The locked version that it takes the place of, and why that was yanked, where it was.
    pub(super) moved_from: Option<(Version, String)>,
}

impl Job {
    /// The registry that it comes from; [`None`] for one from a file.
    pub(super) fn registry(&self) -> Option<&Url> {
        self.source.registry()
    }
}

/// What a skill is to be that is kept as it is locked.
pub(super) fn expected_of(
    session: &Session<'_>,
    skill: &GoalSkill,
    keep: &Locked,
    candidates: Vec<Candidate>,
) -> Expected {
    Expected {
        name: Some(keep.name.clone()),
        version: Some(keep.version.clone()),
        address: Some(keep.address),
        archive: Some(keep.archive),
        key: Some(keep.key),
        candidates,
        visible: skill.visible,
        seen: seen(session, &keep.name),
        verified: verified(session, keep),
        held: None,
        source: keep.source.clone(),
        published: None,
        present: present(session, &keep.name),
    }
}

/// The snapshot of a skill that the project has now: what agents see, else what is locked.
pub(super) fn present(session: &Session<'_>, name: &QualifiedName) -> Option<ContentAddress> {
    seen(session, name).or_else(|| session.files.lock.skill(name).map(|locked| locked.address))
}

/// The snapshot of a skill that agents see now.
pub(super) fn seen(session: &Session<'_>, name: &QualifiedName) -> Option<ContentAddress> {
    session.remembered.active(name).map(|active| active.address)
}

/// The key with which what is to be kept was verified, where it is what agents see now.
pub(super) fn verified(session: &Session<'_>, keep: &Locked) -> Option<KeyId> {
    let active = session.remembered.active(&keep.name)?;
    active.key.filter(|_| active.address == keep.address)
}
