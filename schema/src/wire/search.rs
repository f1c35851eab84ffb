//! Search over names, descriptions and the text of tools.

use serde::{Deserialize, Serialize};

use crate::name::QualifiedName;
use crate::version::Version;

/// One skill found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchHit {
    /// The whole name.
    pub name: QualifiedName,
    /// The newest version that is not yanked.
    pub version: Version,
    /// What it is for.
    pub description: String,
    /// The ids of its tools and the names of its scripts.
    pub capabilities: Vec<String>,
}

/// The skills found, best first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchAnswer {
    /// At most as many as were asked for.
    pub skills: Vec<SearchHit>,
    /// How many there are in all, of those that one may read.
    pub total: u64,
}
