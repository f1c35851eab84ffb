//! Yanking a version, and taking that back.

use axum::extract::State;
use axum::http::StatusCode;
use skillpkg_schema::wire::{Problem, YankRequest};
use skillpkg_schema::{QualifiedName, Version};

use super::extract::{Json, NamedVersion};
use crate::access::Need;
use crate::auth::Caller;
use crate::problem::Answer;
use crate::server::to_the_end;
use crate::skills::{self, versions};
use crate::state::Registry;

/// Yanks a version: it is never picked anew, and still restored where it is locked.
#[utoipa::path(
    post,
    path = "/v1/skills/{scope}/{name}/{version}/yank",
    tag = "skills",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
        ("version" = String, Path, description = "The version"),
    ),
    request_body = YankRequest,
    responses(
        (status = 204, description = "It is yanked"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn yank(
    State(registry): State<Registry>,
    caller: Caller,
    NamedVersion(name, version): NamedVersion,
    Json(request): Json<YankRequest>,
) -> Answer<StatusCode> {
    versions::check_reason(&request.reason)?;
    set(registry, caller, name, version, Some(request.reason)).await
}

/// Takes a yank back.
#[utoipa::path(
    post,
    path = "/v1/skills/{scope}/{name}/{version}/unyank",
    tag = "skills",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
        ("version" = String, Path, description = "The version"),
    ),
    responses(
        (status = 204, description = "It is not yanked"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn unyank(
    State(registry): State<Registry>,
    caller: Caller,
    NamedVersion(name, version): NamedVersion,
) -> Answer<StatusCode> {
    set(registry, caller, name, version, None).await
}

async fn set(
    registry: Registry,
    caller: Caller,
    name: QualifiedName,
    version: Version,
    reason: Option<String>,
) -> Answer<StatusCode> {
    to_the_end(async move {
        let actor = caller.account()?.account_id;
        let mut write = registry.data.database.write().await?;
        let skill = skills::find_for(&mut write, &caller, Need::Yank, &name).await?;
        let versions = [version];
        versions::set_yanks(&mut write, actor, &name, skill, &versions, reason.as_deref()).await?;
        registry.log.commit(write).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
