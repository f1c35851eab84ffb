//! A skill's version.

use std::fmt;
use std::str::FromStr;

use crate::address::text_serde;
use crate::diagnostic::escape;

/// Longest version text, in bytes.
pub const MAX_VERSION_BYTES: usize = 64;

/// A text that is no version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a version: {reason}; expected `MAJOR.MINOR.PATCH`, such as `1.2.0`", escape(.text))]
pub struct VersionError {
    /// The text as given.
    pub text: String,
    /// What is wrong with it.
    pub reason: String,
}

/// A semantic version 2.0.0.
///
/// Two versions that differ in build metadata alone are one version to a registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(semver::Version);

impl Version {
    /// Reads a version as frontmatter writes it: `1` and `1.2` stand for `1.0.0` and `1.2.0`.
    pub fn parse_lenient(text: &str) -> Result<Self, VersionError> {
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let parts: Vec<&str> = text.split('.').collect();
        match parts.as_slice() {
            [major] if digits(major) => format!("{major}.0.0").parse(),
            [major, minor] if digits(major) && digits(minor) => {
                format!("{major}.{minor}.0").parse()
            }
            _ => text.parse(),
        }
        .map_err(|error: VersionError| VersionError { text: text.to_owned(), ..error })
    }

    /// The parsed semantic version.
    pub fn semver(&self) -> &semver::Version {
        &self.0
    }

    /// Whether this is a pre-release, which no requirement picks unless it names one.
    pub fn is_prerelease(&self) -> bool {
        !self.0.pre.is_empty()
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let refused = |reason: String| VersionError { text: text.to_owned(), reason };
        if text.len() > MAX_VERSION_BYTES {
            return Err(refused(format!("longer than {MAX_VERSION_BYTES} bytes")));
        }
        semver::Version::parse(text).map(Self).map_err(|error| refused(error.to_string()))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

text_serde!(Version);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_version_is_read_as_it_is_written_and_nothing_panics(
            text in "[0-9]{1,3}(\\.[0-9]{1,20}){0,3}([-+][a-z0-9.-]{0,9}){0,2}|\\PC{0,20}",
        ) {
            if let Ok(version) = text.parse::<Version>() {
                prop_assert_eq!(version.to_string(), text.clone());
            }
            if let Ok(version) = Version::parse_lenient(&text) {
                prop_assert!(version.to_string().starts_with(&text));
                prop_assert_eq!(version.to_string().parse(), Ok(version));
            }
        }
    }

    #[test]
    fn short_versions_are_filled_with_zeros() {
        for (text, version) in [("1", "1.0.0"), ("1.2", "1.2.0"), ("1.10", "1.10.0")] {
            assert_eq!(Version::parse_lenient(text).unwrap().to_string(), version);
        }
        assert_eq!(Version::parse_lenient("2.0.0-rc.1").unwrap().to_string(), "2.0.0-rc.1");
    }

    #[test]
    fn what_is_no_version_is_refused_as_it_was_given() {
        for text in ["", "v1.2.0", "01.2", "1.2.3.4", "latest", "1.-2", "٣.1", "1 .2"] {
            assert_eq!(Version::parse_lenient(text).unwrap_err().text, text);
        }
    }
}
