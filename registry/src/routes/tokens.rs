//! An account's tokens.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use skillpkg_schema::diagnostic::is_unprintable;
use skillpkg_schema::wire::{MintToken, MintedToken, Problem, Tokens, WhoAmI};

use super::extract::{Identified, Json};
use crate::accounts::tokens::{self, MAX_LABEL, Minting};
use crate::auth::{Caller, Credential};
use crate::clock;
use crate::grant::{Grant, MAX_GRANTS};
use crate::problem::{Answer, Code, Refusal};
use crate::state::Registry;

/// Whose token was sent and what it allows.
#[utoipa::path(
    get,
    path = "/v1/tokens/self",
    tag = "account",
    responses(
        (status = 200, body = WhoAmI),
        (status = 401, body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn whoami(caller: Caller) -> Answer<Json<WhoAmI>> {
    let credential = caller.account()?;
    Ok(Json(WhoAmI {
        account: credential.account.clone(),
        grants: credential.grants.iter().map(ToString::to_string).collect(),
        expires: credential.expires.clone(),
        scopes: credential.memberships.iter().map(|member| member.scope.clone()).collect(),
    }))
}

/// The account's tokens, never their secrets.
#[utoipa::path(
    get,
    path = "/v1/tokens",
    tag = "account",
    responses(
        (status = 200, body = Tokens),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn list(State(registry): State<Registry>, caller: Caller) -> Answer<Json<Tokens>> {
    let account = caller.account()?.account_id;
    let tokens = tokens::of_account(registry.data.database.readers(), account).await?;
    Ok(Json(Tokens { tokens }))
}

/// Makes a token: the one time that its secret is shown.
#[utoipa::path(
    post,
    path = "/v1/tokens",
    tag = "account",
    request_body = MintToken,
    responses(
        (status = 201, body = MintedToken),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn mint(
    State(registry): State<Registry>,
    caller: Caller,
    Json(asked): Json<MintToken>,
) -> Answer<Response> {
    let credential = caller.account()?;
    let grants = allowed_grants(credential, &asked)?;
    if asked.days == Some(0) {
        let detail = "`days` must be 1 or more; left out, the token has no end";
        return Err(Refusal::new(Code::InvalidRequest, detail));
    }
    if asked.days.is_some_and(|days| days > tokens::MOST_DAYS) {
        let most = tokens::MOST_DAYS;
        let detail = format!("`days` must be {most} or less; left out, the token has no end");
        return Err(Refusal::new(Code::InvalidRequest, detail));
    }
    let expires = asked.days.map(clock::in_days);
    // A token that ends cannot make one that outlives it: else it would not end.
    if let Some(end) = &credential.expires
        && expires.as_ref().is_none_or(|expires| expires > end)
    {
        let detail = format!("the token that asks ends at {end}; the new one must end before");
        return Err(Refusal::new(Code::TokenLacksGrant, detail));
    }
    let account = credential.account_id;
    let mut write = registry.data.database.write().await?;
    let minting = Minting { label: &asked.label, grants: &grants, expires: expires.as_deref() };
    let minted = tokens::mint(&mut write, account, Some(account), &minting).await?;
    write.commit().await?;
    Ok((StatusCode::CREATED, Json(minted)).into_response())
}

fn allowed_grants(credential: &Credential, asked: &MintToken) -> Answer<Vec<Grant>> {
    let length = asked.label.chars().count();
    if !(1..=MAX_LABEL).contains(&length) || asked.label.chars().any(is_unprintable) {
        let detail = format!("`label` must hold 1 to {MAX_LABEL} printable characters");
        return Err(Refusal::new(Code::InvalidRequest, detail));
    }
    if !(1..=MAX_GRANTS).contains(&asked.grants.len()) {
        let detail = format!("`grants` must hold 1 to {MAX_GRANTS}");
        return Err(Refusal::new(Code::InvalidGrant, detail));
    }
    asked
        .grants
        .iter()
        .map(|text| {
            let grant: Grant = text.parse().map_err(|error: crate::grant::GrantError| {
                Refusal::new(Code::InvalidGrant, error.to_string())
            })?;
            if credential.grants.iter().any(|own| own.covers(&grant)) {
                return Ok(grant);
            }
            let detail = format!("the token that asks does not grant `{grant}` itself");
            Err(Refusal::new(Code::TokenLacksGrant, detail))
        })
        .collect()
}

/// Revokes a token of the account: it is refused from the next second on.
#[utoipa::path(
    delete,
    path = "/v1/tokens/{id}",
    tag = "account",
    params(("id" = String, Path, description = "The token's id")),
    responses(
        (status = 204, description = "It is revoked"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn revoke(
    State(registry): State<Registry>,
    caller: Caller,
    Identified(id): Identified,
) -> Answer<StatusCode> {
    let account = caller.account()?.account_id;
    let mut write = registry.data.database.write().await?;
    if !tokens::revoke(&mut write, account, Some(account), &id).await? {
        return Err(Refusal::not_found());
    }
    write.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
