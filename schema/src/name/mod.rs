//! Names of skills and scopes.

use std::fmt;
use std::str::FromStr;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::address::text_serde;
use crate::diagnostic::escape;

/// Longest name of a skill or a scope, in bytes.
pub const MAX_NAME_BYTES: usize = 64;

/// How the empty scope is written on the wire.
pub const EMPTY_SCOPE: &str = "_";

/// Words no skill and no scope may be called: they would read as ours or as a command's.
const OUR_WORDS: [&str; 8] =
    ["skillpkg", "skillpkg-registry", "registry", "admin", "api", "latest", "log", "node_modules"];

/// A text that is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Not of the grammar.
    #[error("`{}` is not a name: use lowercase letters and digits in words joined by `-` or `_`, at most {MAX_NAME_BYTES} in all{}", escape(.text), offer(.nearest.as_deref()))]
    Grammar {
        /// The text as given.
        text: String,
        /// The nearest legal name, if one can be made.
        nearest: Option<String>,
    },
    /// A whole name that is written as something else is elsewhere.
    #[error("`{}` is not a name: {reason}{}", escape(.text), offer(.nearest.as_deref()))]
    Written {
        /// The text as given.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
        /// What was likely meant, if that can be told.
        nearest: Option<String>,
    },
    /// A Windows device or one of our own words.
    #[error("`{0}` is reserved; choose another name")]
    Reserved(String),
}

fn offer(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; `{name}` would be"))
}

fn check(text: &str) -> Result<(), NameError> {
    let words = |text: &str| {
        text.split(['-', '_']).all(|word| {
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
    };
    if text.len() > MAX_NAME_BYTES || !words(text) {
        return Err(NameError::Grammar { text: text.to_owned(), nearest: nearest_legal(text) });
    }
    if OUR_WORDS.contains(&text) || crate::path::is_windows_device(text) {
        return Err(NameError::Reserved(text.to_owned()));
    }
    Ok(())
}

/// The nearest legal name to `text`: lower case, words of letters and digits joined by `-`, accents
/// left out.
pub fn nearest_legal(text: &str) -> Option<String> {
    let mut name = String::new();
    let plain: String = text.nfd().filter(|character| !is_combining_mark(*character)).collect();
    for word in plain.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(&word.to_ascii_lowercase());
    }
    name.truncate(MAX_NAME_BYTES);
    let name = name.trim_end_matches('-').to_owned();
    (!name.is_empty() && name != text && check(&name).is_ok()).then_some(name)
}

macro_rules! name {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        ///
        /// `[a-z0-9]+([-_][a-z0-9]+)*`, at most [`MAX_NAME_BYTES`], neither a Windows device nor
        /// one of our own words.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// What two names that a reader would take for one another share: a registry gives a
            /// key to one name only.
            ///
            /// `_` reads as `-`, `0` as `o`, `1` as `l`.
            pub fn collision_key(&self) -> String {
                self.0.replace('_', "-").replace('0', "o").replace('1', "l")
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                check(text).map(|()| Self(text.to_owned()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        text_serde!($name);
    };
}

name!(SkillName, "The name of a skill within its scope.");
name!(Scope, "The name of a scope: the `acme` of `acme/waitlist`.");

/// A skill's whole name, `[scope/]name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QualifiedName {
    scope: Option<Scope>,
    name: SkillName,
}

impl QualifiedName {
    /// A whole name from its parts.
    pub fn new(scope: Option<Scope>, name: SkillName) -> Self {
        Self { scope, name }
    }

    /// Reads the two parts of a wire path, where the empty scope is [`EMPTY_SCOPE`].
    pub fn from_wire(scope: &str, name: &str) -> Result<Self, NameError> {
        let scope = if scope == EMPTY_SCOPE { None } else { Some(scope.parse()?) };
        Ok(Self::new(scope, name.parse()?))
    }

    /// The scope, if there is one.
    pub fn scope(&self) -> Option<&Scope> {
        self.scope.as_ref()
    }

    /// The scope as a wire path writes it.
    pub fn wire_scope(&self) -> &str {
        self.scope.as_ref().map_or(EMPTY_SCOPE, Scope::as_str)
    }

    /// The name within the scope.
    pub fn name(&self) -> &SkillName {
        &self.name
    }
}

impl From<SkillName> for QualifiedName {
    fn from(name: SkillName) -> Self {
        Self::new(None, name)
    }
}

/// That a text is written as a name is elsewhere, or as what is found there, where it is.
pub(crate) fn written_elsewhere(text: &str) -> Option<NameError> {
    let written = |reason, nearest| NameError::Written { text: text.to_owned(), reason, nearest };
    let starts = ["git@", "github.com/", "gitlab.com/", "www."];
    if text.contains("://") || starts.iter().any(|start| text.starts_with(start)) {
        let reason = "it is a place on the web, and what is published at a registry is meant by \
                      `name` or `scope/name`";
        return Some(written(reason, named_by_address(text)));
    }
    if let Some(rest) = text.strip_prefix('@') {
        let name = rest.split_once('@').map_or(rest, |(name, _)| name);
        let is_name = name.parse::<QualifiedName>().is_ok();
        return Some(written("a scope is written without `@`", is_name.then(|| rest.to_owned())));
    }
    let (scope, name) = text.split_once('/')?;
    let reason = match (scope, name) {
        (_, "") => "no name stands behind its `/`",
        ("", _) => "no scope stands before its `/`",
        (_, name) if name.contains('/') => "it has more than one `/`; expected `scope/name`",
        _ => return None,
    };
    Some(written(reason, None))
}

/// The name that the address of a page of a registry, or of one of its faces, ends in.
fn named_by_address(text: &str) -> Option<String> {
    let (_, path) = text.split_once("://")?;
    let path = path.split(['?', '#']).next()?;
    let mut parts = path.split('/').skip(1).skip_while(|part| !matches!(*part, "s" | "skills"));
    let (_, scope, name) = (parts.next()?, parts.next()?, parts.next()?);
    // `tree` and `blob` are what stands behind a repository that is called `skills`.
    let name = QualifiedName::from_wire(scope, name).ok()?;
    (!matches!(scope, "tree" | "blob")).then(|| name.to_string())
}

impl FromStr for QualifiedName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if let Some(error) = written_elsewhere(text) {
            return Err(error);
        }
        match text.split_once('/') {
            Some((scope, name)) => Ok(Self::new(Some(scope.parse()?), name.parse()?)),
            None => Ok(Self::new(None, text.parse()?)),
        }
    }
}

impl fmt::Display for QualifiedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scope) = &self.scope {
            write!(f, "{scope}/")?;
        }
        self.name.fmt(f)
    }
}

text_serde!(QualifiedName);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_name_is_read_as_it_is_written_and_nothing_panics(text in "[a-zA-Z0-9_/@. -]{0,70}|\\PC{0,20}") {
            if let Ok(name) = text.parse::<SkillName>() {
                prop_assert_eq!(name.to_string(), text.clone());
                prop_assert_eq!(nearest_legal(&text), text.contains('_').then(|| text.replace('_', "-")));
            }
            if let Ok(name) = text.parse::<QualifiedName>() {
                prop_assert_eq!(name.to_string(), text.clone());
                let wire = QualifiedName::from_wire(name.wire_scope(), name.name().as_str());
                prop_assert_eq!(wire, Ok(name));
            }
        }

        #[test]
        fn an_offered_name_is_a_legal_one(text in any::<String>()) {
            if let Some(name) = nearest_legal(&text) {
                prop_assert!(name.parse::<SkillName>().is_ok());
            }
        }
    }

    #[test]
    fn names_that_read_alike_share_a_key() {
        let key = |text: &str| text.parse::<SkillName>().unwrap().collision_key();
        for (one, other) in [("a-b", "a_b"), ("t00l", "tool"), ("mai1", "mail")] {
            assert_eq!(key(one), key(other));
        }
        assert_ne!(key("tool-2"), key("tool-3"));
    }

    #[test]
    fn names_are_lowercase_words() {
        for text in ["waitlist", "a-b_c", "0", "x9-9x"] {
            assert!(text.parse::<SkillName>().is_ok(), "{text} was refused");
        }
        for text in ["", "-a", "a-", "a--b", "A", "a b", "naïve", "../x", "con", "lpt1", "skillpkg"]
        {
            assert!(text.parse::<SkillName>().is_err(), "{text} was taken");
        }
        assert!("x".repeat(65).parse::<SkillName>().is_err());
    }

    #[test]
    fn the_nearest_legal_name_is_offered() {
        assert_eq!(nearest_legal("My Skill!"), Some("my-skill".to_owned()));
        assert_eq!(nearest_legal("../../x"), Some("x".to_owned()));
        assert_eq!(nearest_legal("Café ünï"), Some("cafe-uni".to_owned()));
        assert_eq!(nearest_legal("日本"), None);
    }

    #[test]
    fn a_whole_name_has_one_slash_at_most() {
        let name: QualifiedName = "acme/waitlist".parse().unwrap();
        assert_eq!((name.wire_scope(), name.name().as_str()), ("acme", "waitlist"));
        assert_eq!(QualifiedName::from_wire("_", "waitlist").unwrap().to_string(), "waitlist");
        for (text, told) in [
            ("@acme/x", "written without `@`; `acme/x` would be"),
            ("@Acme/x", "written without `@`"),
            ("acme/", "no name stands behind its `/`"),
            ("/x", "no scope stands before its `/`"),
            ("a/b/c", "more than one `/`"),
            ("https://github.com/acme/x", "is a place on the web"),
            ("git@github.com:acme/x.git", "is a place on the web"),
            ("http://127.0.0.1:7770/s/acme/x", "`scope/name`; `acme/x` would be"),
            ("https://a.b/prefix/skills/_/x/1.0.0", "`scope/name`; `x` would be"),
            ("github.com/acme/x", "is a place on the web"),
            ("https://github.com/acme/skills/tree/main", "by `name` or `scope/name`"),
        ] {
            let error = text.parse::<QualifiedName>().unwrap_err().to_string();
            assert!(error.contains(told) && error.contains(&format!("`{text}`")), "{error}");
        }
        assert!("_/b".parse::<QualifiedName>().is_err());
    }
}
