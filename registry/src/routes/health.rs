//! Whether the registry lives, and whether it can serve.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use skillpkg_schema::wire::Problem;
use utoipa::ToSchema;

use super::extract::Json;
use crate::mirror::{Age, Alarm};
use crate::problem::{Answer, Refusal};
use crate::state::Registry;

/// What an operator of a mirror should know.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MirrorState {
    /// When upstream last said that what is held is so, RFC 3339 in UTC.
    refreshed: String,
    /// Whether that is too long ago.
    stale: bool,
    /// What upstream says that cannot be.
    alarms: Vec<Alarm>,
}

/// That the process answers.
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "operation",
    responses((status = 204, description = "It lives")),
)]
pub(super) async fn healthz() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// That the database and the blob storage answer, the disk has room, and the log can be written.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "operation",
    responses(
        (status = 200, body = MirrorState, description = "It can serve, and as a mirror has something to tell"),
        (status = 204, description = "It can serve"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn readyz(State(registry): State<Registry>) -> Answer<Response> {
    let one: i64 =
        sqlx::query_scalar("SELECT 1").fetch_one(registry.data.database.readers()).await?;
    registry.data.blobs.answers().await?;
    if one != 1 {
        return Err(Refusal::unavailable("the database does not answer", 5));
    }
    registry.room.is_left(registry.data.temporary()).await?;
    registry.log.written()?;
    if let Some(mirror) = &registry.mirror {
        mirror.is_meant()?;
        let (age, alarms) = (mirror.freshness(), mirror.alarms().await?);
        if age.is_stale || !alarms.is_empty() {
            let Age { since: refreshed, is_stale: stale, .. } = age;
            return Ok(Json(MirrorState { refreshed, stale, alarms }).into_response());
        }
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}
