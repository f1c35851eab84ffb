//! Where a rule stands.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use skillpkg_schema::diagnostic::escape;

/// Where a rule stands: a policy's file, and the line in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The file.
    #[serde(serialize_with = "as_text")]
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
}

fn as_text<S: serde::Serializer>(file: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(file)
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", escape(&self.file), self.line)
    }
}

/// A value of a policy, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Placed<T> {
    pub(super) value: T,
    pub(super) place: Place,
}
