//! What may be called without a question, as a flag or the user's configuration says.

use std::fmt;
use std::str::FromStr;

use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;

use crate::host::PermissionRequest;

/// What may be called without a question: `[scope/]name`, `[scope/]name:capability`, or `*` for
/// everything that is approved and active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowed {
    /// Every script of every active skill.
    Everything,
    /// Every script of a skill.
    Skill(QualifiedName),
    /// One script of a skill.
    Capability(QualifiedName, String),
}

/// A text that allows nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is neither `[scope/]name`, `[scope/]name:capability` nor `*`", escape(.0))]
pub struct AllowedError(String);

impl Allowed {
    /// Whether it allows this call.
    pub(super) fn allows(&self, request: &PermissionRequest) -> bool {
        match self {
            Self::Everything => true,
            Self::Skill(skill) => *skill == request.skill,
            Self::Capability(skill, capability) => {
                *skill == request.skill && *capability == request.capability
            }
        }
    }
}

impl FromStr for Allowed {
    type Err = AllowedError;

    fn from_str(text: &str) -> Result<Self, AllowedError> {
        let refused = || AllowedError(text.to_owned());
        if text == "*" {
            return Ok(Self::Everything);
        }
        match text.split_once(':') {
            Some((_, "")) => Err(refused()),
            Some((skill, capability)) => {
                let skill = skill.parse().map_err(|_| refused())?;
                Ok(Self::Capability(skill, capability.to_owned()))
            }
            None => text.parse().map(Self::Skill).map_err(|_| refused()),
        }
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => f.write_str("*"),
            Self::Skill(skill) => skill.fmt(f),
            Self::Capability(skill, capability) => write!(f, "{skill}:{capability}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::CapabilityKind;
    use skillpkg_schema::Sha256Digest;

    fn request(skill: &str, capability: &str) -> PermissionRequest {
        PermissionRequest {
            skill: skill.parse().unwrap(),
            version: "1.0.0".parse().unwrap(),
            address: Sha256Digest::of(b"snapshot").address(),
            capability: capability.to_owned(),
            kind: CapabilityKind::Script,
            runs: Vec::new(),
            input: "{}".to_owned(),
            approved: false,
        }
    }

    #[test]
    fn what_is_allowed_is_exactly_what_is_named() {
        for (text, acme, other, bare) in [
            ("*", true, true, true),
            ("acme/waitlist", true, true, false),
            ("acme/waitlist:go", true, false, false),
            ("waitlist", false, false, true),
        ] {
            let allowed: Allowed = text.parse().unwrap();
            assert_eq!(allowed.to_string(), text);
            assert_eq!(allowed.allows(&request("acme/waitlist", "go")), acme, "{text}");
            assert_eq!(allowed.allows(&request("acme/waitlist", "other")), other, "{text}");
            assert_eq!(allowed.allows(&request("waitlist", "go")), bare, "{text}");
        }
        for text in ["", "acme/", "acme/*", "waitlist:", "Wait", "**", "a/b/c"] {
            assert_eq!(text.parse::<Allowed>(), Err(AllowedError(text.to_owned())), "{text}");
        }
    }
}
