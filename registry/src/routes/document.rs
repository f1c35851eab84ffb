//! A skill's document.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use skillpkg_schema::wire::{Document, Problem};

use super::content::{caching, none_match};
use super::extract::Named;
use super::relayed::{Passage, tell_age};
use crate::auth::Caller;
use crate::problem::{Answer, Refusal};
use crate::state::Registry;

/// Everything about one skill that a client resolves with.
#[utoipa::path(
    get,
    path = "/v1/skills/{scope}/{name}",
    tag = "skills",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
    ),
    responses(
        (status = 200, body = Document),
        (status = 304, description = "`If-None-Match` names the document's `ETag`"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security((), ("token" = [])),
)]
pub(super) async fn get(
    State(registry): State<Registry>,
    caller: Caller,
    passage: Passage,
    Named(name): Named,
    asked: HeaderMap,
) -> Answer<Response> {
    if let Some(prepared) = registry.documents.get(&caller, &name).await? {
        return Ok(answer(&prepared.bytes, &prepared.etag, prepared.private, &asked));
    }
    let (held, age) = passage.skill(&name).await?.ok_or_else(Refusal::not_found)?;
    let mut response = answer(&held.bytes, &held.etag, false, &asked);
    tell_age(response.headers_mut(), &age);
    Ok(response)
}

fn answer(bytes: &Bytes, etag: &HeaderValue, private: bool, asked: &HeaderMap) -> Response {
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(header::ETAG, etag.clone());
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // It may be kept, and is asked for again each time: a yank is seen at once.
    caching(headers, private, "public, no-cache");
    if none_match(asked, etag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        *response.body_mut() = Body::from(bytes.clone());
    }
    response
}
