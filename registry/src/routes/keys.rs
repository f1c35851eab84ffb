//! An account's signing keys.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use skillpkg_schema::signature::{KeyId, PublicKey};
use skillpkg_schema::wire::{AddKey, Key, Keys, Problem};

use super::extract::{Identified, Json};
use crate::accounts::keys;
use crate::auth::Caller;
use crate::problem::{Answer, Code, Refusal};
use crate::state::Registry;

/// Most keys of one account, revoked ones among them.
const MAX_KEYS: usize = 100;

/// The account's signing keys, revoked ones among them.
#[utoipa::path(
    get,
    path = "/v1/keys",
    tag = "account",
    responses(
        (status = 200, body = Keys),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn list(State(registry): State<Registry>, caller: Caller) -> Answer<Json<Keys>> {
    let account = caller.account()?.account_id;
    let keys = keys::of_account(registry.data.database.readers(), account).await?;
    Ok(Json(Keys { keys }))
}

/// Registers a signing key; one that the account has unrevoked already is fine.
#[utoipa::path(
    post,
    path = "/v1/keys",
    tag = "account",
    request_body = AddKey,
    responses(
        (status = 201, body = Key, description = "It is registered"),
        (status = 200, body = Key, description = "It was already"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn add(
    State(registry): State<Registry>,
    caller: Caller,
    Json(asked): Json<AddKey>,
) -> Answer<Response> {
    let account = caller.account()?.account_id;
    let key = PublicKey::from_pem(&asked.pem)
        .map_err(|error| Refusal::new(Code::InvalidKey, error.to_string()))?;
    let mut write = registry.data.database.write().await?;
    let present = keys::of_account(&mut *write, account).await?;
    match present.iter().find(|present| present.id == key.id()) {
        Some(own) if own.revoked.is_none() => return Ok(Json(own).into_response()),
        Some(_) => {
            let detail = format!("the key {} is revoked; make another", key.id());
            return Err(Refusal::new(Code::KeyRevoked, detail));
        }
        None if present.len() >= MAX_KEYS => {
            let detail = format!("the account has {MAX_KEYS} keys, which is the most");
            return Err(Refusal::new(Code::TooMany, detail));
        }
        None => {}
    }
    if !keys::add(&mut write, account, &key).await? {
        let detail = format!("the key {} is registered by another account", key.id());
        return Err(Refusal::new(Code::KeyTaken, detail));
    }
    let added = keys::of_account(&mut *write, account).await?;
    let added = added.into_iter().find(|added| added.id == key.id());
    write.commit().await?;
    let added = added.ok_or_else(|| Refusal::internal(&"a key that was added is not there"))?;
    Ok((StatusCode::CREATED, Json(added)).into_response())
}

/// Revokes a key: nothing is published under it any more, and what was stays as it is.
#[utoipa::path(
    delete,
    path = "/v1/keys/{id}",
    tag = "account",
    params(("id" = String, Path, description = "The key's id, 64 lowercase hex digits")),
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
    let key: KeyId = id.parse().map_err(|error: skillpkg_schema::address::AddressError| {
        Refusal::new(Code::InvalidKey, error.to_string())
    })?;
    let mut write = registry.data.database.write().await?;
    if !keys::revoke(&mut write, account, &key).await? {
        return Err(Refusal::not_found());
    }
    let signed = keys::signed(&mut *write, &key).await?;
    write.commit().await?;
    // Their documents say that the key is revoked: whoever asks from now on is told.
    for name in &signed {
        registry.documents.forget(name);
    }
    Ok(StatusCode::NO_CONTENT)
}
