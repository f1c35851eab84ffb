//! What a user asks for: `[scope/]name[@requirement]`.

use std::fmt;
use std::str::FromStr;

use crate::address::{AddressError, ContentAddress, text_serde};
use crate::diagnostic::escape;
use crate::name::{NameError, QualifiedName, written_elsewhere};
use crate::version::Version;

/// Longest requirement text, in bytes.
pub const MAX_REQUIREMENT_BYTES: usize = 256;

/// A text that is no reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The part before `@`.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The part after `@` starts as an address does.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The part after `@` is no requirement.
    #[error("`{}` is not a requirement: {reason}; expected one such as `1.2`, `=1.2.0`, `>=1, <3`, `latest` or an address", escape(.text))]
    Requirement {
        /// The text as given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Which version of a skill will do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Requirement {
    /// The newest that is neither a pre-release nor yanked.
    Latest,
    /// What a semver requirement allows, as Cargo reads it: `1.2` is `^1.2`.
    Semver(semver::VersionReq),
    /// Exactly the snapshot with this address.
    Address(ContentAddress),
}

impl Requirement {
    /// Whether a version, with its address, will do.
    pub fn matches(&self, version: &Version, address: &ContentAddress) -> bool {
        match self {
            Self::Latest => !version.is_prerelease(),
            Self::Semver(requirement) => requirement.matches(version.semver()),
            Self::Address(wanted) => wanted == address,
        }
    }

    /// Whether this names `version` and nothing else, so that a yanked one may be picked.
    pub fn names_exactly(&self, version: &Version) -> bool {
        match self {
            Self::Latest => false,
            Self::Address(_) => true,
            Self::Semver(requirement) => match requirement.comparators.as_slice() {
                [one] => {
                    one.op == semver::Op::Exact
                        && one.minor.is_some()
                        && one.patch.is_some()
                        && requirement.matches(version.semver())
                }
                _ => false,
            },
        }
    }
}

impl FromStr for Requirement {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        if text == "latest" {
            return Ok(Self::Latest);
        }
        if text.starts_with("sha256:") || text.starts_with("blake3:") {
            return Ok(Self::Address(text.parse()?));
        }
        let refused =
            |reason: String| ReferenceError::Requirement { text: text.to_owned(), reason };
        if text.trim().is_empty() {
            return Err(refused("nothing is there".to_owned()));
        }
        if text.len() > MAX_REQUIREMENT_BYTES {
            return Err(refused(format!("longer than {MAX_REQUIREMENT_BYTES} bytes")));
        }
        semver::VersionReq::parse(text)
            .map(Self::Semver)
            .map_err(|error| refused(error.to_string()))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Semver(requirement) => requirement.fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

text_serde!(Requirement);

/// A skill and which version of it: `[scope/]name[@requirement]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The skill.
    pub name: QualifiedName,
    /// The version; [`None`] where the text has no `@`.
    pub requirement: Option<Requirement>,
}

/// That a text is no reference but a place on the web, or has an `@` before its scope.
fn theirs(text: &str) -> Option<NameError> {
    let has_requirement = !text.starts_with('@') && !text.starts_with("git@");
    match text.split_once('@').filter(|_| has_requirement && !text.contains("://")) {
        // What stands behind the name has slashes of its own, or none.
        Some((name, _)) => written_elsewhere(name),
        None => written_elsewhere(text),
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        // Before anything is split at an `@` of theirs.
        if let Some(error) = theirs(text) {
            return Err(error.into());
        }
        match text.split_once('@') {
            Some((name, requirement)) => {
                Ok(Self { name: name.parse()?, requirement: Some(requirement.parse()?) })
            }
            None => Ok(Self { name: text.parse()?, requirement: None }),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)?;
        match &self.requirement {
            Some(requirement) => write!(f, "@{requirement}"),
            None => Ok(()),
        }
    }
}

text_serde!(Reference);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_reference_is_written_so_that_it_reads_the_same(
            text in "([a-z]{1,3}/)?[a-z0-9]{1,4}(@([\\^~=<>]{0,2} ?[0-9*x]{1,2}(\\.[0-9*]{1,2}){0,2}(-[a-z0-9]{1,3})?(, ?<[0-9])?|latest))?|\\PC{0,20}",
        ) {
            if let Ok(reference) = text.parse::<Reference>() {
                prop_assert_eq!(reference.to_string().parse(), Ok(reference));
            }
        }
    }

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn a_reference_is_read_as_it_is_written() {
        let address = format!("sha256:{}", "0".repeat(64));
        for text in ["waitlist", "acme/waitlist@^1.2", "w@latest", &format!("w@{address}")] {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), text);
        }
        for text in ["", "@1", "w@", "w@sha256:00", "w@one", "a/b/c@1", "W@1"] {
            assert!(text.parse::<Reference>().is_err(), "{text} parsed");
        }
    }

    #[test]
    fn a_bare_requirement_is_a_caret_one() {
        let address = crate::Sha256Digest::of(b"").address();
        let requirement: Requirement = "1.2".parse().unwrap();
        assert!(requirement.matches(&version("1.3.0"), &address));
        assert!(!requirement.matches(&version("2.0.0"), &address));
        assert!(!requirement.matches(&version("1.3.0-rc.1"), &address));
    }

    #[test]
    fn only_a_whole_exact_requirement_names_a_version() {
        let one = version("1.2.0");
        assert!("=1.2.0".parse::<Requirement>().unwrap().names_exactly(&one));
        for text in ["1.2.0", "=1.2", "latest", ">=1.2.0, <=1.2.0"] {
            assert!(!text.parse::<Requirement>().unwrap().names_exactly(&one), "{text}");
        }
    }
}
