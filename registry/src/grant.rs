//! What a token allows.

use std::fmt;
use std::str::FromStr;

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::name::EMPTY_SCOPE;
use skillpkg_schema::{QualifiedName, Scope};

/// Most grants of one token.
pub const MAX_GRANTS: usize = 32;

/// A text that is no grant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a grant; expected `read`, `admin`, `publish:PATTERN` or `yank:PATTERN`, where PATTERN is `*`, `SCOPE/*`, `_/*` for all bare names, or one whole name", escape(.0))]
pub struct GrantError(pub String);

/// Names that a grant is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// Every name: `*`.
    All,
    /// Every name of a scope, or every bare name: `acme/*`, `_/*`.
    Within(Option<Scope>),
    /// One name: `acme/waitlist`, `waitlist`.
    One(QualifiedName),
}

impl Pattern {
    /// Whether `name` is among them.
    pub fn holds(&self, name: &QualifiedName) -> bool {
        match self {
            Self::All => true,
            Self::Within(scope) => scope.as_ref() == name.scope(),
            Self::One(one) => one == name,
        }
    }

    /// Whether every name of `other` is among them.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (_, Self::One(name)) => self.holds(name),
            (Self::Within(scope), Self::Within(other)) => scope == other,
            _ => false,
        }
    }
}

impl FromStr for Pattern {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.strip_suffix("/*") {
            _ if text == "*" => Ok(Self::All),
            Some(EMPTY_SCOPE) => Ok(Self::Within(None)),
            Some(scope) => scope.parse().map(|scope| Self::Within(Some(scope))).map_err(|_| ()),
            None => text.parse().map(Self::One).map_err(|_| ()),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Within(scope) => {
                write!(f, "{}/*", scope.as_ref().map_or(EMPTY_SCOPE, Scope::as_str))
            }
            Self::One(name) => name.fmt(f),
        }
    }
}

/// One thing that a token allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// Reads what the account may read.
    Read,
    /// Publishes these names, where the account may.
    Publish(Pattern),
    /// Yanks versions of these names, where the account may.
    Yank(Pattern),
    /// Manages the account's own keys and tokens, what it is invited to, the owners of its skills,
    /// and the members of its scopes.
    Admin,
}

impl Grant {
    /// What the first token of an account allows: everything that the account may do.
    pub fn everything() -> Vec<Self> {
        vec![Self::Read, Self::Publish(Pattern::All), Self::Yank(Pattern::All), Self::Admin]
    }

    /// Whether whoever has this has `other`.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Publish(pattern), Self::Publish(other))
            | (Self::Yank(pattern), Self::Yank(other)) => pattern.covers(other),
            _ => self == other,
        }
    }
}

impl FromStr for Grant {
    type Err = GrantError;

    fn from_str(text: &str) -> Result<Self, GrantError> {
        let refused = |()| GrantError(text.to_owned());
        match text.split_once(':') {
            None if text == "read" => Ok(Self::Read),
            None if text == "admin" => Ok(Self::Admin),
            Some(("publish", pattern)) => pattern.parse().map(Self::Publish).map_err(refused),
            Some(("yank", pattern)) => pattern.parse().map(Self::Yank).map_err(refused),
            _ => Err(refused(())),
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read => f.write_str("read"),
            Self::Admin => f.write_str("admin"),
            Self::Publish(pattern) => write!(f, "publish:{pattern}"),
            Self::Yank(pattern) => write!(f, "yank:{pattern}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(text: &str) -> Grant {
        text.parse().unwrap()
    }

    #[test]
    fn grants_are_read_as_they_are_written() {
        for text in ["read", "admin", "publish:*", "publish:acme/*", "yank:_/*", "yank:acme/w"] {
            assert_eq!(grant(text).to_string(), text);
        }
        for text in ["", "write", "publish", "publish:", "publish:*/*", "publish:a/b/c", "read:*"] {
            assert_eq!(text.parse::<Grant>(), Err(GrantError(text.to_owned())));
        }
    }

    #[test]
    fn a_grant_covers_what_is_no_more_than_itself() {
        for (wide, narrow, covers) in [
            ("publish:*", "publish:acme/*", true),
            ("publish:acme/*", "publish:acme/w", true),
            ("publish:acme/*", "publish:*", false),
            ("publish:acme/*", "publish:acme-two/w", false),
            ("publish:acme/*", "publish:w", false),
            ("publish:_/*", "publish:w", true),
            ("publish:*", "yank:*", false),
            ("publish:w", "publish:w", true),
            ("admin", "read", false),
            ("read", "read", true),
        ] {
            assert_eq!(grant(wide).covers(&grant(narrow)), covers, "{wide} and {narrow}");
        }
    }
}
