//! The members of a scope.

use axum::extract::State;
use skillpkg_schema::wire::{MemberChange, Members, Problem, RemoveMember};

use super::extract::{InScope, Json};
use crate::access::Need;
use crate::accounts::members;
use crate::accounts::scopes::{Role, RoleError};
use crate::auth::Caller;
use crate::problem::{Answer, Code, Refusal};
use crate::server::to_the_end;
use crate::state::Registry;

/// The members of a scope, and who is invited to be one.
#[utoipa::path(
    get,
    path = "/v1/scopes/{scope}/members",
    tag = "scopes",
    params(("scope" = String, Path, description = "The scope")),
    responses(
        (status = 200, body = Members),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn list(
    State(registry): State<Registry>,
    caller: Caller,
    InScope(scope): InScope,
) -> Answer<Json<Members>> {
    let mut read = registry.data.database.readers().acquire().await?;
    let found = members::find_for(&mut read, &caller, Need::ReadScope, &scope).await?;
    Ok(Json(members::of_scope(&mut read, &scope, found).await?))
}

/// Invites an account to be a member.
#[utoipa::path(
    post,
    path = "/v1/scopes/{scope}/members",
    tag = "scopes",
    params(("scope" = String, Path, description = "The scope")),
    request_body = MemberChange,
    responses(
        (status = 200, body = Members, description = "The members as they are now"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn invite(
    State(registry): State<Registry>,
    caller: Caller,
    scope: InScope,
    Json(MemberChange { account, role }): Json<MemberChange>,
) -> Answer<Json<Members>> {
    let role = read_role(&role)?;
    change(registry, caller, scope, Change::Invite(account, role)).await
}

/// Gives a member another role.
#[utoipa::path(
    put,
    path = "/v1/scopes/{scope}/members",
    tag = "scopes",
    params(("scope" = String, Path, description = "The scope")),
    request_body = MemberChange,
    responses(
        (status = 200, body = Members, description = "The members as they are now"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn set_role(
    State(registry): State<Registry>,
    caller: Caller,
    scope: InScope,
    Json(MemberChange { account, role }): Json<MemberChange>,
) -> Answer<Json<Members>> {
    let role = read_role(&role)?;
    change(registry, caller, scope, Change::SetRole(account, role)).await
}

/// Removes a member, though never the last owner, or takes an invitation back. A member may remove
/// itself.
#[utoipa::path(
    delete,
    path = "/v1/scopes/{scope}/members",
    tag = "scopes",
    params(("scope" = String, Path, description = "The scope")),
    request_body = RemoveMember,
    responses(
        (status = 200, body = Members, description = "The members as they are now"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn remove(
    State(registry): State<Registry>,
    caller: Caller,
    scope: InScope,
    Json(RemoveMember { account }): Json<RemoveMember>,
) -> Answer<Json<Members>> {
    change(registry, caller, scope, Change::Remove(account)).await
}

enum Change {
    Invite(String, Role),
    SetRole(String, Role),
    Remove(String),
}

fn read_role(text: &str) -> Answer<Role> {
    text.parse()
        .map_err(|error: RoleError| Refusal::new(Code::InvalidRequest, format!("`role`: {error}")))
}

async fn change(
    registry: Registry,
    caller: Caller,
    InScope(scope): InScope,
    change: Change,
) -> Answer<Json<Members>> {
    to_the_end(async move {
        let mut write = registry.data.database.write().await?;
        let actor = caller.account()?.actor();
        let need = match &change {
            Change::Remove(account) if account == actor.name => Need::LeaveScope,
            _ => Need::ManageScope,
        };
        let found = members::find_for(&mut write, &caller, need, &scope).await?;
        match change {
            Change::Invite(account, role) => {
                members::invite(&mut write, actor, &scope, found, &account, role).await?;
            }
            Change::SetRole(account, role) => {
                members::set_role(&mut write, actor, &scope, found, &account, role).await?;
            }
            Change::Remove(account) => {
                members::remove(&mut write, actor, &scope, found, &account).await?;
            }
        }
        let members = members::of_scope(&mut write, &scope, found).await?;
        registry.log.commit(write).await?;
        registry.authenticator.forget();
        Ok(Json(members))
    })
    .await
}
