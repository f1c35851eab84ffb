//! The owners of a skill.

use axum::extract::State;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::{OwnerChange, Owners, Problem};

use super::extract::{Json, Named};
use crate::access::Need;
use crate::auth::Caller;
use crate::problem::Answer;
use crate::server::to_the_end;
use crate::skills::{self, owners};
use crate::state::Registry;

/// The accounts that may publish and yank a skill.
#[utoipa::path(
    get,
    path = "/v1/skills/{scope}/{name}/owners",
    tag = "owners",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
    ),
    responses(
        (status = 200, body = Owners),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security((), ("token" = [])),
)]
pub(super) async fn list(
    State(registry): State<Registry>,
    caller: Caller,
    Named(name): Named,
) -> Answer<Json<Owners>> {
    let mut read = registry.data.database.readers().acquire().await?;
    let skill = skills::find_for(&mut read, &caller, Need::Read, &name).await?;
    Ok(Json(owners::of_skill(&mut read, skill).await?))
}

/// Makes an account an owner.
#[utoipa::path(
    put,
    path = "/v1/skills/{scope}/{name}/owners",
    tag = "owners",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
    ),
    request_body = OwnerChange,
    responses(
        (status = 200, body = Owners, description = "The owners as they are now"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn add(
    State(registry): State<Registry>,
    caller: Caller,
    Named(name): Named,
    Json(change): Json<OwnerChange>,
) -> Answer<Json<Owners>> {
    set(registry, caller, name, change, true).await
}

/// Removes an owner, though never the last.
#[utoipa::path(
    delete,
    path = "/v1/skills/{scope}/{name}/owners",
    tag = "owners",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
    ),
    request_body = OwnerChange,
    responses(
        (status = 200, body = Owners, description = "The owners as they are now"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn remove(
    State(registry): State<Registry>,
    caller: Caller,
    Named(name): Named,
    Json(change): Json<OwnerChange>,
) -> Answer<Json<Owners>> {
    set(registry, caller, name, change, false).await
}

async fn set(
    registry: Registry,
    caller: Caller,
    name: QualifiedName,
    OwnerChange { account }: OwnerChange,
    owns: bool,
) -> Answer<Json<Owners>> {
    to_the_end(async move {
        let actor = caller.account()?.account_id;
        let mut write = registry.data.database.write().await?;
        let skill = skills::find_for(&mut write, &caller, Need::ManageOwners, &name).await?;
        if owns {
            owners::add(&mut write, actor, &name, skill, &account).await?;
        } else {
            owners::remove(&mut write, actor, &name, skill, &account).await?;
        }
        let owners = owners::of_skill(&mut write, skill).await?;
        write.commit().await?;
        Ok(Json(owners))
    })
    .await
}
