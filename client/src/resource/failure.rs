//! Why a resource was not read.

use std::fmt;

use skillpkg_schema::diagnostic::escape;

use crate::{Error, Kind};

/// The six ways in which a read fails. Their `snake_case` names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResourceFailure {
    /// There is nothing.
    NotFound,
    /// It may not be read: it lies outside its root or behind a link, or the system refuses.
    AccessDenied,
    /// It is of a kind that cannot be handed on: a directory, or no text where text is wanted.
    UnsupportedContent,
    /// Where it comes from does not answer.
    SourceUnavailable,
    /// It is longer than the bound.
    ContentTooLarge,
    /// The bytes are not those of the address.
    InvalidVersion,
}

impl ResourceFailure {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::AccessDenied => "access_denied",
            Self::UnsupportedContent => "unsupported_content",
            Self::SourceUnavailable => "source_unavailable",
            Self::ContentTooLarge => "content_too_large",
            Self::InvalidVersion => "invalid_version",
        }
    }

    /// What sort of failure of a command it is.
    pub fn kind(self) -> Kind {
        match self {
            Self::AccessDenied => Kind::Refused,
            Self::InvalidVersion => Kind::Verification,
            Self::NotFound
            | Self::UnsupportedContent
            | Self::SourceUnavailable
            | Self::ContentTooLarge => Kind::Failed,
        }
    }

    fn told(self) -> &'static str {
        match self {
            Self::NotFound => "there is nothing there",
            Self::AccessDenied => "it may not be read",
            Self::UnsupportedContent => "its content is of a kind that cannot be handed on",
            Self::SourceUnavailable => "where it comes from does not answer",
            Self::ContentTooLarge => "it is longer than the bound",
            Self::InvalidVersion => "its bytes are not those of its address",
        }
    }
}

impl fmt::Display for ResourceFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A resource that was not read. The message holds nothing of its content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the resource `{}`: {}", escape(.name), .detail.as_deref().unwrap_or(.failure.told()))]
pub struct ResourceError {
    /// The resource.
    pub name: String,
    /// In which way it failed.
    pub failure: ResourceFailure,
    /// More about it, escaped.
    pub detail: Option<String>,
}

impl ResourceError {
    /// A failure without more about it.
    pub fn new(name: impl Into<String>, failure: ResourceFailure) -> Self {
        Self { name: name.into(), failure, detail: None }
    }

    pub(super) fn with_detail(self, detail: String) -> Self {
        Self { detail: Some(detail), ..self }
    }
}

impl From<ResourceError> for Error {
    fn from(error: ResourceError) -> Self {
        Self::new(error.failure.kind(), error.failure.as_str(), error.to_string())
    }
}
