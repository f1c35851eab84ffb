//! What a finding does to an install.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::diagnostic::escape;

/// What is done about a finding, the mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing: it is recorded, and not told before an approval.
    Allow,
    /// It is told before an approval.
    Warn,
    /// The skill is not installed.
    Refuse,
}

/// A text that is no severity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no severity; there are `allow`, `warn` and `refuse`", escape(.0))]
pub struct UnknownSeverity(pub String);

impl Severity {
    /// Every one, the mildest first.
    pub const ALL: [Self; 3] = [Self::Allow, Self::Warn, Self::Refuse];

    /// The stable text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warn => "warn",
            Self::Refuse => "refuse",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Severity {
    type Err = UnknownSeverity;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let severity = Self::ALL.into_iter().find(|severity| severity.as_str() == text);
        severity.ok_or_else(|| UnknownSeverity(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_severity_is_read_from_its_text_and_the_later_is_the_graver() {
        for severity in Severity::ALL {
            assert_eq!(severity.as_str().parse(), Ok(severity));
            assert_eq!(serde_json::to_value(severity).unwrap(), severity.as_str());
        }
        assert!(Severity::Allow < Severity::Warn && Severity::Warn < Severity::Refuse);
        assert!("deny".parse::<Severity>().is_err());
    }
}
