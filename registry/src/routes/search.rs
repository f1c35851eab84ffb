//! Search.

use axum::extract::State;
use serde::Deserialize;
use skillpkg_schema::wire::{Problem, SearchAnswer};
use utoipa::IntoParams;

use super::extract::{Json, Query};
use crate::auth::Caller;
use crate::problem::Answer;
use crate::search as full_text;
use crate::state::Registry;

/// What is searched for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Asked {
    /// Words, each plain text; every one must be found. Empty finds everything.
    #[serde(default)]
    q: String,
    /// Most skills to answer with: 20 where it is absent, at most 100.
    limit: Option<u32>,
    /// How many to leave out first.
    #[serde(default)]
    offset: u32,
}

/// The skills that hold every word, of those that the caller may read; best first.
#[utoipa::path(
    get,
    path = "/v1/search",
    tag = "skills",
    params(Asked),
    responses(
        (status = 200, body = SearchAnswer),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security((), ("token" = [])),
)]
pub(super) async fn search(
    State(registry): State<Registry>,
    caller: Caller,
    Query(asked): Query<Asked>,
) -> Answer<Json<SearchAnswer>> {
    let limit = asked.limit.unwrap_or(20);
    full_text::search(&registry, &caller, &asked.q, limit, asked.offset).await.map(Json)
}
