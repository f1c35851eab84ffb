//! The routes, one noun a file, and what stands around them all.

mod advisories;
mod archives;
mod around;
pub(crate) mod asker;
mod blobs;
pub(crate) mod content;
mod document;
mod extract;
mod faces;
mod health;
mod index;
mod invitations;
mod keys;
mod lingering;
mod log;
mod manifests;
mod members;
mod metrics;
mod openapi;
mod owners;
pub(crate) mod place;
mod publish;
mod publishers;
mod registry;
pub(crate) mod relayed;
mod relayed_log;
mod search;
mod tokens;
mod yank;

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use skillpkg_schema::limits::MAX_ARCHIVE_BYTES;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::TimeoutLayer;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::problem::Refusal;
use crate::state::Registry;

/// Most bytes of a body that is no archive: an index request of the most names fits.
const MAX_BODY_BYTES: usize = 512 * 1024;
/// How long a request without an archive may take to be answered.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Every route, and the document that describes them.
pub fn router(registry: &Registry) -> (Router, OpenApi) {
    let on = &registry.options.faces;
    let small = OpenApiRouter::with_openapi(openapi::base())
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(openapi::document))
        .routes(routes!(metrics::get))
        .routes(routes!(registry::information))
        .routes(routes!(document::get))
        .routes(routes!(index::ask))
        .routes(routes!(log::checkpoint))
        .routes(routes!(log::tile))
        .routes(routes!(log::info))
        .routes(routes!(log::proofs))
        .routes(routes!(search::search))
        .routes(routes!(manifests::get))
        .routes(routes!(manifests::signatures))
        .routes(routes!(archives::get))
        .routes(routes!(blobs::get))
        .routes(routes!(relayed_log::checkpoint))
        .routes(routes!(relayed_log::tile))
        .routes(routes!(advisories::publish))
        .routes(routes!(advisories::withdraw))
        .routes(routes!(yank::yank))
        .routes(routes!(yank::unyank))
        .routes(routes!(owners::list, owners::add, owners::remove))
        .routes(routes!(members::list, members::invite, members::set_role, members::remove))
        .routes(routes!(invitations::list))
        .routes(routes!(invitations::accept_skill, invitations::decline_skill))
        .routes(routes!(invitations::accept_scope, invitations::decline_scope))
        .routes(routes!(tokens::whoami))
        .routes(routes!(tokens::list, tokens::mint))
        .routes(routes!(tokens::revoke))
        .routes(routes!(keys::list, keys::add))
        .routes(routes!(keys::revoke))
        .merge(publishers::small(registry))
        .merge(faces::small(on))
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, ANSWER_TIMEOUT))
        .layer(RequestBodyLimitLayer::new(MAX_BODY_BYTES));
    let large =
        OpenApiRouter::default().routes(routes!(publish::publish)).merge(faces::large(on)).layer(
            RequestBodyLimitLayer::new(usize::try_from(MAX_ARCHIVE_BYTES).unwrap_or(usize::MAX)),
        );
    let (router, document) = small.merge(large).split_for_parts();
    let pages = crate::web::router()
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, ANSWER_TIMEOUT))
        .layer(RequestBodyLimitLayer::new(crate::web::MAX_FORM_BYTES));
    let router = router
        .merge(pages)
        .route_layer(from_fn_with_state(registry.clone(), around::authorise))
        .fallback(unrouted)
        .layer(axum::Extension(openapi::prepared(&document)))
        .layer(CatchPanicLayer::custom(around::panicked))
        .layer(from_fn_with_state(registry.clone(), around::dress))
        .with_state(registry.clone());
    (router, document)
}

/// What is answered where no route is.
async fn unrouted(State(registry): State<Registry>, uri: Uri) -> Refusal {
    faces::unrouted(&registry.options.faces, uri.path())
}

/// What the registry counts of itself, for anybody who can reach it: for an address that only those
/// who watch over it can.
pub fn metrics(registry: &Registry) -> Router {
    metrics::unguarded(registry)
}
