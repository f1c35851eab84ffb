//! The OpenAPI document, made of the routes themselves.

use axum::Extension;
use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, OpenApi, OpenApiBuilder};

/// The document's bytes, as they are sent.
#[derive(Debug, Clone)]
pub(super) struct Prepared(Bytes);

/// The document before any route is in it.
pub(super) fn base() -> OpenApi {
    let info = InfoBuilder::new()
        .title("skillpkg registry")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("Skills by name, by version and by content."));
    let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("skp_…").build();
    let components =
        ComponentsBuilder::new().security_scheme("token", SecurityScheme::Http(token)).build();
    OpenApiBuilder::new().info(info.build()).components(Some(components)).build()
}

/// Writes the document once.
pub(super) fn prepared(document: &OpenApi) -> Prepared {
    // Texts, lists and maps of texts: nothing in it that serialisation can refuse.
    Prepared(document.to_pretty_json().unwrap_or_default().into())
}

/// What this registry takes and answers, as an OpenAPI 3.1 document.
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "operation",
    responses((status = 200, content_type = "application/json", description = "This document")),
)]
pub(super) async fn document(Extension(Prepared(bytes)): Extension<Prepared>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
