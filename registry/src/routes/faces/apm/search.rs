//! Search, as the protocol has it; its client asks for none.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use skillpkg_schema::wire::Problem;
use skillpkg_schema::{QualifiedName, Version};
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::problem::Answer;
use crate::routes::extract::{Json, Query};
use crate::search as full_text;
use crate::state::Registry;

/// Most packages of an answer.
const MOST: u32 = 100;

/// What is searched for. A `type` or a `tag` is not asked about: there is one kind, and no tags.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::routes::faces) struct Searched {
    /// Words.
    #[serde(default)]
    q: String,
    /// Most packages to answer with.
    limit: Option<u32>,
    /// How many of the best to leave out.
    #[serde(default)]
    offset: u32,
}

#[derive(Debug, Serialize)]
pub(in crate::routes::faces) struct Answered {
    query: String,
    total: u64,
    results: Vec<Found>,
}

#[derive(Debug, Serialize)]
struct Found {
    id: String,
    latest_version: Version,
    description: String,
}

/// A name as this protocol has it, which has an owner.
fn id(name: &QualifiedName) -> String {
    format!("{}/{}", name.wire_scope(), name.name())
}

/// The packages that hold every word, of those that the caller may read; best first.
#[utoipa::path(
    get,
    path = "/apm/v1/search",
    tag = "apm",
    params(Searched),
    responses(
        (status = 200, content_type = "application/json", description = "The packages"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security((), ("token" = [])),
)]
pub(in crate::routes::faces) async fn search(
    State(registry): State<Registry>,
    caller: Caller,
    Query(Searched { q, limit, offset }): Query<Searched>,
) -> Answer<Json<Answered>> {
    let limit = limit.unwrap_or(20).min(MOST);
    let found = full_text::search(&registry, &caller, &q, limit, offset).await?;
    let results = found.skills.into_iter().map(|hit| Found {
        id: id(&hit.name),
        latest_version: hit.version,
        description: hit.description,
    });
    Ok(Json(Answered { query: q, total: found.total, results: results.collect() }))
}
