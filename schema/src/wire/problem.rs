//! What a registry answers when it does not do what was asked: RFC 9457.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;

/// A problem document, `application/problem+json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// `urn:skillpkg:problem:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The same for every problem of the code.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// Stable, in `snake_case`: what clients match on.
    pub code: String,
    /// What was wrong this time, and what to do.
    pub detail: String,
    /// Every fault found in what was sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Diagnostic>,
}
