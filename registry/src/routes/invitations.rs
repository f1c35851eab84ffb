//! What an account is invited to.

use axum::extract::State;
use axum::http::StatusCode;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::{Invitations, Problem};

use super::extract::{InScope, Json, Named};
use crate::accounts::members;
use crate::auth::Caller;
use crate::problem::Answer;
use crate::server::to_the_end;
use crate::skills::invitations;
use crate::state::Registry;

/// What the account is invited to own, and to be a member of.
#[utoipa::path(
    get,
    path = "/v1/invitations",
    tag = "account",
    responses(
        (status = 200, body = Invitations),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn list(
    State(registry): State<Registry>,
    caller: Caller,
) -> Answer<Json<Invitations>> {
    let account = caller.account()?.account_id;
    let mut read = registry.data.database.readers().acquire().await?;
    let owners = invitations::of_account(&mut read, account).await?;
    let members = members::invitations_of(&mut read, account).await?;
    Ok(Json(Invitations { owners, members }))
}

/// Accepts to own a skill.
#[utoipa::path(
    post,
    path = "/v1/invitations/{scope}/{name}",
    tag = "account",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
    ),
    responses(
        (status = 204, description = "The account is an owner"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn accept_skill(
    State(registry): State<Registry>,
    caller: Caller,
    Named(name): Named,
) -> Answer<StatusCode> {
    answer_skill(registry, caller, name, true).await
}

/// Declines to own a skill.
#[utoipa::path(
    delete,
    path = "/v1/invitations/{scope}/{name}",
    tag = "account",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
    ),
    responses(
        (status = 204, description = "The invitation is gone"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn decline_skill(
    State(registry): State<Registry>,
    caller: Caller,
    Named(name): Named,
) -> Answer<StatusCode> {
    answer_skill(registry, caller, name, false).await
}

async fn answer_skill(
    registry: Registry,
    caller: Caller,
    name: QualifiedName,
    accepts: bool,
) -> Answer<StatusCode> {
    to_the_end(async move {
        let actor = caller.account()?.actor();
        let mut write = registry.data.database.write().await?;
        if accepts {
            invitations::accept(&mut write, actor, &name).await?;
        } else {
            invitations::decline(&mut write, actor, &name).await?;
        }
        registry.log.commit(write).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// Accepts to be a member of a scope.
#[utoipa::path(
    post,
    path = "/v1/invitations/{scope}",
    tag = "account",
    params(("scope" = String, Path, description = "The scope")),
    responses(
        (status = 204, description = "The account is a member"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn accept_scope(
    State(registry): State<Registry>,
    caller: Caller,
    scope: InScope,
) -> Answer<StatusCode> {
    answer_scope(registry, caller, scope, true).await
}

/// Declines to be a member of a scope.
#[utoipa::path(
    delete,
    path = "/v1/invitations/{scope}",
    tag = "account",
    params(("scope" = String, Path, description = "The scope")),
    responses(
        (status = 204, description = "The invitation is gone"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn decline_scope(
    State(registry): State<Registry>,
    caller: Caller,
    scope: InScope,
) -> Answer<StatusCode> {
    answer_scope(registry, caller, scope, false).await
}

async fn answer_scope(
    registry: Registry,
    caller: Caller,
    InScope(scope): InScope,
    accepts: bool,
) -> Answer<StatusCode> {
    to_the_end(async move {
        let actor = caller.account()?.actor();
        let mut write = registry.data.database.write().await?;
        if accepts {
            members::accept(&mut write, actor, &scope).await?;
        } else {
            members::decline(&mut write, actor, &scope).await?;
        }
        registry.log.commit(write).await?;
        registry.authenticator.forget();
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
