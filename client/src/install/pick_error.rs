//! Why no version of a skill will do, and what to do instead.

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::wire::Advisory;
use skillpkg_schema::{QualifiedName, Requirement, Version};

use crate::project::requirement_text;
use crate::{Error, Kind};

/// Why no version will do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PickError {
    /// There is no version at all.
    #[error("`{0}` has no version yet")]
    Empty(QualifiedName),
    /// None is what was asked for.
    #[error("no version of `{name}` is `{}`{}", requirement_text(requirement), nearest_text(nearest.as_ref()))]
    None {
        /// The skill.
        name: QualifiedName,
        /// What was asked for.
        requirement: Requirement,
        /// The nearest there is.
        nearest: Option<Version>,
    },
    /// Only pre-releases are there, and none was asked for.
    #[error("`{name}` has pre-releases only, the newest of them `{newest}`")]
    PreReleases {
        /// The skill.
        name: QualifiedName,
        /// The newest.
        newest: Version,
    },
    /// The newest version that would have done was deleted, and no other will.
    #[error("{}", told_deleted(name, version, reason))]
    Deleted {
        /// The skill.
        name: QualifiedName,
        /// The newest that would have done.
        version: Version,
        /// Why it was deleted.
        reason: String,
    },
    /// Every version that would do was yanked.
    #[error(
        "every version of `{name}` that is `{}` was yanked; of `{version}` it says: {}",
        requirement_text(requirement),
        escape(reason)
    )]
    Yanked {
        /// The skill.
        name: QualifiedName,
        /// What was asked for.
        requirement: Requirement,
        /// The newest that would do.
        version: Version,
        /// Why it was yanked.
        reason: String,
        /// The newest that is picked where nothing is asked for, if there is one.
        free: Option<Version>,
    },
    /// An advisory forbids every version that would do.
    #[error(
        "every version of `{name}` that is `{}` is forbidden by an advisory; of `{version}` {} \
         says: {}",
        requirement_text(requirement),
        escape(&advisory.id),
        escape(&advisory.summary)
    )]
    Forbidden {
        /// The skill.
        name: QualifiedName,
        /// What was asked for.
        requirement: Requirement,
        /// The newest that would do.
        version: Version,
        /// The advisory.
        advisory: Box<Advisory>,
        /// The newest that is picked where nothing is asked for, if there is one.
        free: Option<Version>,
    },
}

fn nearest_text(nearest: Option<&Version>) -> String {
    nearest.map_or_else(String::new, |version| format!("; the nearest is `{version}`"))
}

/// What is said of a version that its registry's operator deleted.
pub(super) fn told_deleted(name: &QualifiedName, version: &Version, reason: &str) -> String {
    format!("`{name}@{version}` was deleted from the registry, which says: {}", escape(reason))
}

impl PickError {
    /// This failure, with the advice to try `command`, which takes a reference, with another one.
    pub(crate) fn advising(self, command: &str) -> Error {
        let hint = match &self {
            Self::Empty(_) => None,
            Self::None { name, nearest: Some(version), .. } => {
                Some(format!("`{command} {name}@{version}`"))
            }
            Self::Deleted { name, .. } | Self::None { name, nearest: None, .. } => {
                Some(format!("`skillpkg show {name}` tells the versions that there are"))
            }
            Self::PreReleases { name, newest } => {
                Some(format!("`{command} {name}@{newest}` takes it"))
            }
            Self::Yanked { name, version, free: Some(free), .. } => Some(format!(
                "`{command} {name}@{free}` takes the newest that was not yanked; \
                 `{command} {name}@={version}` takes this one all the same"
            )),
            Self::Yanked { name, version, free: None, .. } => Some(format!(
                "no version of it is left that was not yanked; `{command} {name}@={version}` takes \
                 this one all the same"
            )),
            Self::Forbidden { name, free, .. } => {
                Some(instead_of_forbidden(name, free.as_ref(), command))
            }
        };
        let (kind, code) = match &self {
            Self::Deleted { .. } => (Kind::Failed, "version_deleted"),
            Self::Forbidden { .. } => (Kind::Refused, "advisory_forbids"),
            _ => (Kind::Failed, "version_not_found"),
        };
        let error = Error::new(kind, code, self.to_string());
        match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

impl From<PickError> for Error {
    fn from(error: PickError) -> Self {
        error.advising("skillpkg install")
    }
}

/// What to do where an advisory forbids a version and `free` is the newest that may be used.
pub(super) fn instead_of_forbidden(
    name: &QualifiedName,
    free: Option<&Version>,
    command: &str,
) -> String {
    match free {
        Some(version) => {
            format!("`{command} {name}@{version}` takes the newest that no advisory forbids")
        }
        None => format!(
            "nothing of `{name}` is left to take instead until a version is published that no \
             advisory forbids; `skillpkg show {name}` tells what they say"
        ),
    }
}
