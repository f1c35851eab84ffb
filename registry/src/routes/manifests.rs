//! Manifests and the signatures over them.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::Response;
use skillpkg_schema::wire::Problem;

use super::content::{self, caching};
use super::extract::Addressed;
use super::relayed::Passage;
use crate::auth::Caller;
use crate::blobs::Kind;
use crate::problem::{Answer, Refusal};
use crate::state::Registry;

/// The canonical bytes of a snapshot's manifest.
#[utoipa::path(
    method(get, head),
    path = "/v1/manifests/{address}",
    tag = "content",
    params(("address" = String, Path, description = "The snapshot's address, by either algorithm")),
    responses(
        (status = 200, content_type = "application/json", description = "RFC 8785; its digest is the address"),
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
    let located = content::locate(&registry, &caller, &passage, Kind::Manifest, &address).await?;
    content::answer(&registry, &located, "application/json", &method, &asked).await
}

/// The DSSE envelope over a snapshot, as its archive holds it.
#[utoipa::path(
    get,
    path = "/v1/manifests/{address}/signatures",
    tag = "content",
    params(("address" = String, Path, description = "The snapshot's address, by either algorithm")),
    responses(
        (status = 200, content_type = "application/json", description = "A DSSE envelope, RFC 8785"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security((), ("token" = [])),
)]
pub(super) async fn signatures(
    State(registry): State<Registry>,
    caller: Caller,
    passage: Passage,
    Addressed(address): Addressed,
) -> Answer<Response> {
    let located = content::locate(&registry, &caller, &passage, Kind::Manifest, &address).await?;
    let envelope: Option<String> =
        sqlx::query_scalar("SELECT envelope FROM versions WHERE address = $1")
            .bind(located.digest.to_string())
            .fetch_optional(registry.data.database.readers())
            .await?;
    let envelope = match envelope {
        Some(envelope) => Some(envelope),
        None => passage.envelope(&located.digest.to_string()).await?,
    };
    let mut response = Response::new(Body::from(envelope.ok_or_else(Refusal::not_found)?));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    caching(headers, !located.public, "public, max-age=31536000, immutable");
    Ok(response)
}
