//! What the registry counts of itself.

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing;
use skillpkg_schema::wire::Problem;

use crate::metrics::MEDIA_TYPE;
use crate::problem::Refusal;
use crate::state::Registry;

/// What the registry counts of itself since it began, as Prometheus reads it.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "operation",
    responses(
        (status = 200, content_type = "text/plain", description = "Text format 0.0.4"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn get(State(registry): State<Registry>) -> Response {
    let mut response = registry.metrics.text().into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    headers.insert(header::VARY, HeaderValue::from_static("authorization"));
    response
}

/// The metrics alone and for anybody: for an address that only those who watch can reach.
pub(super) fn unguarded(registry: &Registry) -> Router {
    Router::new()
        .route("/metrics", routing::get(get))
        .fallback(async || Refusal::not_found())
        .with_state(registry.clone())
}
