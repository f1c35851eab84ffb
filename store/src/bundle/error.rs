//! Why bytes are no bundle.

use std::io;

use skillpkg_schema::bundle::BundleIndexError;
use skillpkg_schema::diagnostic::escape;

/// Why bytes are no bundle. Texts from outside are escaped when shown.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It does not start as a bundle does.
    #[error("it does not start as a bundle does ({field} differs)")]
    NotBundle {
        /// The first field of the header that differs.
        field: &'static str,
    },
    /// The index.
    #[error(transparent)]
    Index(#[from] BundleIndexError),
    /// It ends early.
    #[error("it is cut short in `{}`", escape(entry))]
    Truncated {
        /// The entry in which it ends.
        entry: String,
    },
    /// A header is not the one that the index calls for.
    #[error(
        "the header of `{}` is not the one its index calls for ({field} differs)",
        escape(entry)
    )]
    Header {
        /// The entry, as the index names it.
        entry: String,
        /// The first field of the header that differs.
        field: &'static str,
    },
    /// Something other than zeros where padding or the end belongs.
    #[error("something stands after `{}` where zeros belong", escape(entry))]
    Padding {
        /// The entry before it.
        entry: String,
    },
    /// A file's bytes do not have the digest in the index.
    #[error("the content of `{}` is not what the index says", escape(entry))]
    Content {
        /// The entry.
        entry: String,
    },
    /// Something after the end.
    #[error("something follows its end")]
    Trailing,
    /// A file was added that is not the next one, or is none.
    #[error("`{}` is not the file that comes next", escape(entry))]
    NotNext {
        /// The entry.
        entry: String,
    },
    /// Reading or writing failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl BundleError {
    /// The reason as a stable word in `snake_case`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotBundle { .. } => "not_a_bundle",
            Self::Index(error) => error.code(),
            Self::Truncated { .. } => "bundle_truncated",
            Self::Header { .. } => "bundle_header",
            Self::Padding { .. } => "bundle_padding",
            Self::Content { .. } => "bundle_content",
            Self::Trailing => "bundle_trailing",
            Self::NotNext { .. } => "bundle_order",
            Self::Io(_) => "bundle_io",
        }
    }

    /// The entry in which it is wrong, where it is in one.
    pub fn entry(&self) -> Option<&str> {
        match self {
            Self::Truncated { entry }
            | Self::Header { entry, .. }
            | Self::Padding { entry }
            | Self::Content { entry }
            | Self::NotNext { entry } => Some(entry),
            Self::NotBundle { .. } | Self::Index(_) | Self::Trailing | Self::Io(_) => None,
        }
    }
}
