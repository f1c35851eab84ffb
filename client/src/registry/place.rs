//! Who answers for a registry.

use std::fmt;

use url::Url;

use crate::settings::registry_text;

/// Who answers for a registry, as messages tell it; quoted when shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The URL of whoever answers, or in whose place a bundle does; else what was looked at.
    name: String,
    /// The bundle that answers in its place.
    bundle: Option<String>,
}

impl Place {
    /// A registry itself.
    pub(crate) fn registry(url: &Url) -> Self {
        Self::other(registry_text(url).to_owned())
    }

    /// A bundle in the place of the registry at `url`.
    pub(crate) fn bundle(bundle: String, url: &Url) -> Self {
        Self { bundle: Some(bundle), ..Self::registry(url) }
    }

    /// Anything else that shows a log, by a text that is safe to print.
    pub(crate) fn other(name: String) -> Self {
        Self { name, bundle: None }
    }

    /// What commands are told to mean the registry.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.bundle {
            Some(bundle) => write!(f, "the bundle `{bundle}` of `{}`", self.name),
            None => write!(f, "`{}`", self.name),
        }
    }
}
