//! The owners of a skill.

use axum::extract::State;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::{InviteOwner, OwnerChange, Owners, Problem};

use super::extract::{Json, Named};
use crate::access::Need;
use crate::auth::Caller;
use crate::problem::Answer;
use crate::server::to_the_end;
use crate::skills::{self, invitations, owners};
use crate::state::Registry;

/// The accounts that may publish and yank a skill, and to its owners who is invited to be one.
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
    Ok(Json(owners::shown_to(&mut read, &caller, &name, skill).await?))
}

/// Invites an account to be an owner, which it is once it accepts; one that is already stays one.
#[utoipa::path(
    put,
    path = "/v1/skills/{scope}/{name}/owners",
    tag = "owners",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
    ),
    request_body = InviteOwner,
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
    Json(asked): Json<InviteOwner>,
) -> Answer<Json<Owners>> {
    change(registry, caller, name, Change::Invite(asked)).await
}

/// Removes an owner, though never the last, or takes an invitation back.
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
    Json(asked): Json<OwnerChange>,
) -> Answer<Json<Owners>> {
    change(registry, caller, name, Change::Remove(asked)).await
}

enum Change {
    Invite(InviteOwner),
    Remove(OwnerChange),
}

async fn change(
    registry: Registry,
    caller: Caller,
    name: QualifiedName,
    change: Change,
) -> Answer<Json<Owners>> {
    to_the_end(async move {
        let mut write = registry.data.database.write().await?;
        let skill = skills::find_for(&mut write, &caller, Need::ManageOwners, &name).await?;
        let actor = caller.account()?.actor();
        match change {
            Change::Invite(InviteOwner { account, transfer }) => {
                invitations::invite(&mut write, actor, &name, skill, &account, transfer).await?;
            }
            Change::Remove(OwnerChange { account }) => {
                owners::remove(&mut write, actor, &name, skill, &account).await?;
            }
        }
        let owners = owners::shown_to(&mut write, &caller, &name, skill).await?;
        registry.log.commit(write).await?;
        Ok(Json(owners))
    })
    .await
}
