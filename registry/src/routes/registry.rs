//! What the registry says of itself.

use axum::extract::State;
use skillpkg_schema::wire::{Problem, RegistryInformation};

use super::extract::Json;
use crate::problem::Answer;
use crate::state::Registry;

/// Which registry this is.
#[utoipa::path(
    get,
    path = "/v1/registry",
    tag = "operation",
    responses(
        (status = 200, body = RegistryInformation),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn information(
    State(registry): State<Registry>,
) -> Answer<Json<RegistryInformation>> {
    Ok(Json(RegistryInformation { identity: registry.log.origin() }))
}
