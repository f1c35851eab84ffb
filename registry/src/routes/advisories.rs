//! Advisories about a skill's versions.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use skillpkg_schema::wire::{Advisory, NewAdvisory, Problem};

use super::extract::{Json, Named, NamedPart};
use crate::access::Need;
use crate::advisories;
use crate::auth::Caller;
use crate::problem::Answer;
use crate::server::to_the_end;
use crate::skills;
use crate::state::Registry;

/// Publishes an advisory: whoever has one of these versions is told, or refused it.
#[utoipa::path(
    post,
    path = "/v1/skills/{scope}/{name}/advisories",
    tag = "skills",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
    ),
    request_body = NewAdvisory,
    responses(
        (status = 201, body = Advisory, description = "It is published"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn publish(
    State(registry): State<Registry>,
    caller: Caller,
    Named(name): Named,
    Json(new): Json<NewAdvisory>,
) -> Answer<Response> {
    to_the_end(async move {
        let actor = caller.account()?.account_id;
        let mut write = registry.data.database.write().await?;
        let skill = skills::find_for(&mut write, &caller, Need::Yank, &name).await?;
        let advisory = advisories::publish(&mut write, Some(actor), &name, skill, &new).await?;
        registry.log.commit(write).await?;
        Ok((StatusCode::CREATED, Json(advisory)).into_response())
    })
    .await
}

/// Withdraws an advisory; one that is withdrawn already stays so.
#[utoipa::path(
    delete,
    path = "/v1/skills/{scope}/{name}/advisories/{advisory}",
    tag = "skills",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
        ("advisory" = String, Path, description = "Its id, such as `SKA-2026-0001`"),
    ),
    responses(
        (status = 204, description = "It is withdrawn"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn withdraw(
    State(registry): State<Registry>,
    caller: Caller,
    NamedPart(name, id): NamedPart,
) -> Answer<StatusCode> {
    to_the_end(async move {
        let actor = caller.account()?.account_id;
        let mut write = registry.data.database.write().await?;
        let skill = skills::find_for(&mut write, &caller, Need::Yank, &name).await?;
        advisories::withdraw(&mut write, Some(actor), &name, skill, &id).await?;
        registry.log.commit(write).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
