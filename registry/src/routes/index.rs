//! Many documents in one round trip.

use std::collections::BTreeMap;
use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::{
    IndexAnswer, IndexRequest, MAX_ANSWER_BYTES, MAX_INDEX_NAMES, Problem, View,
};

use super::extract::{Json, private_json};
use super::relayed::Passage;
use crate::auth::Caller;
use crate::problem::{Answer, Code, Refusal};
use crate::state::Registry;

/// The documents that there are, and the names of which there are none.
#[utoipa::path(
    post,
    path = "/v1/index",
    tag = "skills",
    request_body = IndexRequest,
    responses(
        (status = 200, body = IndexAnswer),
        (status = 413, body = Problem, content_type = "application/problem+json",
            description = "`answer_too_large`: ask for fewer names at once"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security((), ("token" = [])),
)]
pub(super) async fn ask(
    State(registry): State<Registry>,
    caller: Caller,
    passage: Passage,
    Json(request): Json<IndexRequest>,
) -> Answer<Response> {
    if request.names.len() > MAX_INDEX_NAMES {
        let asked = request.names.len();
        let detail = format!("{asked} names were asked for; the most is {MAX_INDEX_NAMES}");
        return Err(Refusal::new(Code::InvalidRequest, detail));
    }
    let (own, theirs) = passage.part(&request.names).await?;
    let mut views: Vec<View> = Vec::new();
    let mut documents: BTreeMap<&QualifiedName, Bytes> = BTreeMap::new();
    let known = wanted(&registry, &request);
    // Names that are all another's are for that one's log to speak of.
    if let Some(known) = known.filter(|_| !own.is_empty() || theirs.is_empty()) {
        let (found, view) = registry.log.view(&registry.documents, &caller, &own, known).await?;
        let found = own.iter().zip(found);
        documents.extend(found.filter_map(|(name, known)| Some((name, known?.bytes.clone()))));
        views.push(view);
    } else {
        for name in &own {
            let known = registry.documents.get(&caller, name).await?;
            documents.extend(known.map(|prepared| (name, prepared.bytes.clone())));
        }
    }
    let relayed = passage.index(&theirs, request.logs.as_deref(), own.is_empty()).await?;
    let relayed = relayed.map(|relayed| {
        views.extend(relayed.view);
        relayed.documents
    });
    if let Some(relayed) = &relayed {
        documents.extend(relayed.iter().map(|(name, bytes)| (name, bytes.clone())));
    }
    let views = if views.is_empty() { None } else { Some(serde_json::to_vec(&views)) };
    let views = Bytes::from(
        views.transpose().map_err(|error| Refusal::internal(&error))?.unwrap_or_default(),
    );
    // The documents are bytes already: the answer is written around them, and none is copied.
    let mut pieces: Vec<Bytes> = vec![Bytes::from_static(b"{\"documents\":[")];
    let mut missing: Vec<&QualifiedName> = Vec::new();
    let mut length = views.len() as u64;
    for name in &request.names {
        let Some(bytes) = documents.get(name).cloned() else {
            missing.push(name);
            continue;
        };
        if pieces.len() > 1 {
            pieces.push(Bytes::from_static(b","));
        }
        length += bytes.len() as u64 + 1;
        // Beside the documents there are at most the names, each shorter than 200 bytes.
        if length + MAX_INDEX_NAMES as u64 * 200 > MAX_ANSWER_BYTES {
            let detail = "the documents are too long for one answer; ask for half of the names";
            return Err(Refusal::new(Code::AnswerTooLarge, detail));
        }
        pieces.push(bytes);
    }
    let missing = serde_json::to_vec(&missing).map_err(|error| Refusal::internal(&error))?;
    pieces.push(Bytes::from_static(b"],\"missing\":"));
    pieces.push(missing.into());
    if !views.is_empty() {
        pieces.push(Bytes::from_static(b",\"views\":"));
        pieces.push(views);
    }
    pieces.push(Bytes::from_static(b"}"));
    let pieces = pieces.into_iter().map(Ok::<Bytes, Infallible>);
    Ok(private_json(Body::from_stream(futures_util::stream::iter(pieces))))
}

/// How many leaves of the registry's own log the client knows; [`None`] where it asks for no view of
/// it.
fn wanted(registry: &Registry, request: &IndexRequest) -> Option<u64> {
    let logs = request.logs.as_ref()?;
    if logs.is_empty() {
        return Some(0);
    }
    let origin = registry.log.origin();
    logs.iter().find(|known| known.origin == origin).map(|known| known.size)
}
