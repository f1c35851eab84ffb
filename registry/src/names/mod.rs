//! What an operator decides about names: deletion, and whose a name is.

pub mod deletion;
pub mod transfer;

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{QualifiedName, Version};

use crate::problem::Refusal;

/// Why an operator's change to names is not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// There is no skill of this name.
    #[error("there is no skill `{0}`")]
    UnknownName(QualifiedName),
    /// The skill has no such version.
    #[error("there is no version {version} of `{name}`")]
    UnknownVersion {
        /// The skill.
        name: QualifiedName,
        /// The version asked for.
        version: Version,
    },
    /// It was deleted before.
    #[error("`{what}` was deleted on {deleted}: {}", escape(reason))]
    Deleted {
        /// The name, or the name and the version.
        what: String,
        /// When.
        deleted: String,
        /// Why.
        reason: String,
    },
    /// A scoped name is its scope's.
    #[error("`{0}` is the members' of its scope; `scope member` changes who they are")]
    OfScope(QualifiedName),
    /// There is no account of this name.
    #[error("there is no account `{}`; `user list` shows those there are", escape(.0))]
    UnknownAccount(String),
    /// A reason that is none, or a fault of the registry's own.
    #[error("{0}")]
    Refused(String),
    /// The database.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
}

impl From<Refusal> for ChangeError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal.told_in_full())
    }
}
