//! Why an index of a bundle is refused.

use crate::diagnostic::escape;

use super::{BUNDLE_SCHEMA, MAX_BUNDLE_BYTES, MAX_INDEX_BYTES};

/// Why an index of a bundle is refused. Texts from outside are escaped when shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleIndexError {
    /// Longer than [`MAX_INDEX_BYTES`].
    #[error("its index is of {0} bytes; the most is {MAX_INDEX_BYTES}")]
    TooLong(u64),
    /// Not JSON of this shape.
    #[error("its index is not of the shape that one has: {}", escape(.0))]
    Shape(String),
    /// Of another version of the format.
    #[error("it is of the format `{}`, and this skillpkg reads `{BUNDLE_SCHEMA}`", escape(.0))]
    Schema(String),
    /// JSON, but not in the one canonical form of RFC 8785.
    #[error("its index is not in canonical form (RFC 8785)")]
    Canonical,
    /// More of something than is read.
    #[error("it holds {count} {what}; the most is {most}")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many.
        count: usize,
        /// The bound.
        most: usize,
    },
    /// More bytes than [`MAX_BUNDLE_BYTES`].
    #[error("its files are over {MAX_BUNDLE_BYTES} bytes")]
    TooLarge,
    /// Twice, or not where it belongs.
    #[error("the {what} `{}` stands twice, or not in order", escape(name))]
    Order {
        /// What.
        what: &'static str,
        /// Which.
        name: String,
    },
    /// Spoken of and not there.
    #[error("`{}` is spoken of and not there", escape(.0))]
    Missing(String),
    /// There, and nothing speaks of it.
    #[error("nothing speaks of `{}`, which is there", escape(.0))]
    Unexpected(String),
    /// Longer than such a file can be, or not as long as it must be.
    #[error("`{}` is of {size} bytes, which it cannot be", escape(path))]
    Size {
        /// Which file.
        path: String,
        /// What the index says.
        size: u64,
    },
    /// An archive or a document with another digest than the path has.
    #[error("`{}` has another digest than its path says", escape(.0))]
    Digest(String),
    /// A version of a log that its registry does not have.
    #[error("`{name}` is said to be in the log `{}`, which is not there", escape(origin))]
    NoLog {
        /// The skill.
        name: String,
        /// The log's origin.
        origin: String,
    },
}

impl BundleIndexError {
    /// The reason as a stable word in `snake_case`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Schema(_) => "format_too_new",
            Self::TooLong(_) | Self::TooMany { .. } | Self::TooLarge => "bundle_too_large",
            Self::Size { .. } => "bundle_size",
            Self::Missing(_) | Self::NoLog { .. } => "bundle_incomplete",
            Self::Unexpected(_) => "bundle_unexpected",
            Self::Order { .. } => "bundle_order",
            Self::Digest(_) => "bundle_content",
            Self::Shape(_) | Self::Canonical => "bundle_index",
        }
    }
}
