//! Advisories: what is known to be wrong with versions of a skill.

use serde::{Deserialize, Serialize};

use crate::version::Version;

/// What an advisory asks of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Effect {
    /// Tell: wherever the version is installed, listed, verified or called.
    Warn,
    /// Refuse: it is not installed, restored or called.
    Forbid,
}

/// Asks that an advisory be published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewAdvisory {
    /// The versions that it is about: a semver requirement as Cargo reads it, `*` for all.
    pub versions: String,
    /// What it asks of clients.
    pub effect: Effect,
    /// What is wrong: 1 to 500 characters, one line.
    pub summary: String,
}

impl Advisory {
    /// Whether it is about a version. One whose requirement cannot be read is about all.
    pub fn covers(&self, version: &Version) -> bool {
        let Ok(requirement) = semver::VersionReq::parse(&self.versions) else { return true };
        let version = version.semver();
        let release = semver::Version { pre: semver::Prerelease::EMPTY, ..version.clone() };
        requirement.matches(version) || requirement.matches(&release)
    }
}

/// An advisory about versions of the skill in whose document it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Advisory {
    /// What it is referred to by: `SKA-2026-0001`.
    pub id: String,
    /// The versions that it is about: a semver requirement as Cargo reads it, `*` for all. A
    /// pre-release is covered where its release would be.
    pub versions: String,
    /// What it asks of clients.
    pub effect: Effect,
    /// What is wrong, in one line.
    pub summary: String,
    /// When it was published, RFC 3339 in UTC.
    pub published: String,
    /// Its leaf in the registry's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_index: Option<u64>,
}
