//! The transparency log: checkpoint, tiles, who it is, and proofs.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use skillpkg_schema::log::TilePath;
use skillpkg_schema::wire::{Logs, MAX_PROOFS, Problem, ProofsAnswer, ProofsRequest};

use super::content::none_match;
use super::extract::{Identified, Json};
use super::relayed::Passage;
use crate::auth::Caller;
use crate::documents::etag;
use crate::log::Log;
use crate::problem::{Answer, Code, Refusal};
use crate::state::Registry;

/// The newest checkpoint: a signed note, with a cosignature of the last minutes.
#[utoipa::path(
    get,
    path = "/log/checkpoint",
    tag = "log",
    responses((status = 200, content_type = "text/plain; charset=utf-8", description = "The checkpoint (C2SP tlog-checkpoint)")),
)]
pub(super) async fn checkpoint(State(registry): State<Registry>) -> Answer<Response> {
    let (_, note) = registry.log.checkpoint().await?;
    let mut response = Response::new(Body::from(note));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, no-cache"));
    Ok(response)
}

/// A tile of hashes or a bundle of entries.
///
/// A partial one may be gone once the full one is there.
#[utoipa::path(
    get,
    path = "/log/tile/{*path}",
    tag = "log",
    params(("path" = String, Path, description = "As tlog-tiles spells it, such as `0/x001/067` or `entries/000.p/7`")),
    responses(
        (status = 200, content_type = "application/octet-stream", description = "The tile (C2SP tlog-tiles)"),
        (status = 304, description = "`If-None-Match` names its `ETag`"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn tile(
    State(registry): State<Registry>,
    Identified(path): Identified,
    asked: HeaderMap,
) -> Answer<Response> {
    let spelled = format!("tile/{path}");
    let tile = TilePath::parse(&spelled).ok_or_else(Refusal::not_found)?;
    // What a put that was cut short has left is nobody's yet: tiles of the signed tree alone.
    if !is_signed(&registry.log, &tile).await {
        return Err(Refusal::not_found());
    }
    let bytes = registry.log.tiles().get(tile).await?.ok_or_else(Refusal::not_found)?;
    let tag = etag(&spelled)?;
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(header::ETAG, tag.clone());
    let kind = HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, kind);
    let immutable = HeaderValue::from_static("public, max-age=31536000, immutable");
    headers.insert(header::CACHE_CONTROL, immutable);
    if none_match(&asked, &tag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        *response.body_mut() = Body::from(bytes);
    }
    Ok(response)
}

async fn is_signed(log: &Log, path: &TilePath) -> bool {
    let tile = path.tile();
    let size = log.moment().await.size();
    let present = skillpkg_schema::log::Tile::in_tree(tile.level, tile.index, size);
    present.is_some_and(|present| tile.width <= present.width)
}

/// The logs of this registry: its own, and on a mirror the one that it relays.
#[utoipa::path(
    get,
    path = "/v1/log",
    tag = "log",
    responses((status = 200, body = Logs)),
)]
pub(super) async fn info(State(registry): State<Registry>, passage: Passage) -> Answer<Json<Logs>> {
    let mut logs = vec![registry.log.info().await?];
    logs.extend(passage.log());
    Ok(Json(Logs { logs }))
}

/// Records with their inclusion proofs in the tree of one size.
#[utoipa::path(
    post,
    path = "/v1/log/proofs",
    tag = "log",
    request_body = ProofsRequest,
    responses(
        (status = 200, body = ProofsAnswer),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security((), ("token" = [])),
)]
pub(super) async fn proofs(
    State(registry): State<Registry>,
    caller: Caller,
    passage: Passage,
    Json(request): Json<ProofsRequest>,
) -> Answer<Json<ProofsAnswer>> {
    let log = &registry.log;
    if request.indices.len() > MAX_PROOFS {
        let asked = request.indices.len();
        let detail = format!("{asked} proofs were asked for; the most is {MAX_PROOFS}");
        return Err(Refusal::new(Code::InvalidRequest, detail));
    }
    if request.origin != log.origin() {
        return passage.proofs(&request).await?.map(Json).ok_or_else(Refusal::not_found);
    }
    let newest = log.moment().await.size();
    if request.size > newest {
        let detail = format!("the log has {newest} leaves; {} were asked about", request.size);
        return Err(Refusal::new(Code::InvalidRequest, detail));
    }
    let mut answer = ProofsAnswer { records: Vec::new(), missing: Vec::new() };
    let mut answered = BTreeSet::new();
    for index in request.indices {
        if !answered.insert(index) {
            continue;
        }
        let reads = |scope: &_| caller.reads_scope(scope);
        let proven = if index < request.size {
            log.proven(index, request.size, newest, reads).await?
        } else {
            None
        };
        match proven {
            Some(proven) => answer.records.push(proven),
            None => answer.missing.push(index),
        }
    }
    Ok(Json(answer))
}
