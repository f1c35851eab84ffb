//! The log that a mirror relays: its checkpoint and its tiles, as upstream has them.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use skillpkg_schema::log::TilePath;
use skillpkg_schema::wire::Problem;

use super::extract::Identified;
use super::relayed::Passage;
use crate::problem::{Answer, Refusal};

/// Where the files of a relayed log lie beneath the registry's URL.
pub(super) const PREFIX: &str = "relayed/log";

/// The newest checkpoint that was verified, a signed note.
#[utoipa::path(
    get,
    path = "/relayed/log/checkpoint",
    tag = "log",
    responses(
        (status = 200, content_type = "text/plain", description = "C2SP tlog-checkpoint"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn checkpoint(passage: Passage) -> Answer<Response> {
    let checkpoint = passage.checkpoint().ok_or_else(Refusal::not_found)?;
    Ok(answer(checkpoint.into(), "text/plain; charset=utf-8", "public, no-cache"))
}

/// A tile of hashes, or a bundle of entries.
#[utoipa::path(
    get,
    path = "/relayed/log/tile/{*path}",
    tag = "log",
    params(("path" = String, Path, description = "`L/N`, `L/N.p/W`, `entries/N` or `entries/N.p/W`")),
    responses(
        (status = 200, content_type = "application/octet-stream", description = "C2SP tlog-tiles"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn tile(passage: Passage, Identified(path): Identified) -> Answer<Response> {
    let path = TilePath::parse(&format!("tile/{path}")).ok_or_else(Refusal::not_found)?;
    let bytes = passage.tile(path).await?.ok_or_else(Refusal::not_found)?;
    Ok(answer(bytes.into(), "application/octet-stream", "public, max-age=31536000, immutable"))
}

fn answer(body: Body, kind: &'static str, caching: &'static str) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    response
}
