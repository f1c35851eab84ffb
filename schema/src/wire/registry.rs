//! What a registry says of itself.

use serde::{Deserialize, Serialize};

/// The registry that answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RegistryInformation {
    /// What tells it from every other registry, wherever it is reached: what is signed for one
    /// registry names it.
    pub identity: String,
}
