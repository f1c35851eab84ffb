//! Single files of snapshots.

use axum::extract::State;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use skillpkg_schema::wire::Problem;

use super::content;
use super::extract::Addressed;
use super::relayed::Passage;
use crate::auth::Caller;
use crate::blobs::Kind;
use crate::problem::Answer;
use crate::state::Registry;

/// A file's bytes, where a snapshot that the caller may read holds it.
#[utoipa::path(
    method(get, head),
    path = "/v1/blobs/{address}",
    tag = "content",
    params(("address" = String, Path, description = "The file's address, by either algorithm")),
    responses(
        (status = 200, content_type = "application/octet-stream", description = "The file"),
        (status = 206, description = "The `Range` asked for"),
        (status = 304, description = "`If-None-Match` names its `ETag`"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security((), ("token" = [])),
)]
pub(super) async fn get(
    State(registry): State<Registry>,
    caller: Caller,
    passage: Passage,
    Addressed(address): Addressed,
    method: Method,
    asked: HeaderMap,
) -> Answer<Response> {
    let located = content::locate(&registry, &caller, &passage, Kind::File, &address).await?;
    content::answer(&registry, &located, "application/octet-stream", &method, &asked).await
}
