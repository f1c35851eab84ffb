//! Whether the registry lives, and whether it can serve.

use axum::extract::State;
use axum::http::StatusCode;
use skillpkg_schema::wire::Problem;

use crate::problem::{Answer, Refusal};
use crate::state::Registry;

/// That the process answers.
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "operation",
    responses((status = 204, description = "It lives")),
)]
pub(super) async fn healthz() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// That the database and the blob storage answer.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "operation",
    responses(
        (status = 204, description = "It can serve"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn readyz(State(registry): State<Registry>) -> Answer<StatusCode> {
    let one: i64 =
        sqlx::query_scalar("SELECT 1").fetch_one(registry.data.database.readers()).await?;
    // An object that cannot be there: absent is the answer of a storage that works.
    registry.data.blobs.meta(&object_store::path::Path::from("readyz")).await?;
    if one == 1 {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Refusal::unavailable("the database does not answer", 5))
    }
}
