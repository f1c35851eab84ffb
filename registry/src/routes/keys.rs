//! An account's signing keys.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use skillpkg_schema::signature::{KeyId, PublicKey};
use skillpkg_schema::wire::{AddKey, Key, Keys, Problem, RevokeKey};

use super::extract::{Identified, Json, OptionalJson};
use crate::accounts::keys;
use crate::accounts::proof;
use crate::auth::{Caller, Credential};
use crate::problem::{Answer, Code, Refusal};
use crate::server::to_the_end;
use crate::skills::versions::check_reason;
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

/// Registers a signing key that the account shows that it holds; one that it has unrevoked already is
/// fine, and its proof is kept where it had none.
///
/// One that another account registered without a proof is taken over.
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
    let key = PublicKey::from_pem(&asked.pem)
        .map_err(|error| Refusal::new(Code::InvalidKey, error.to_string()))?;
    to_the_end(async move {
        let credential = caller.account()?;
        let (key, created) = register(&registry, credential, key, asked.proof.as_deref()).await?;
        let status = if created { StatusCode::CREATED } else { StatusCode::OK };
        Ok((status, Json(key)).into_response())
    })
    .await
}

/// Registers it; answers with the key as it is listed, and whether it was not before.
async fn register(
    registry: &Registry,
    credential: &Credential,
    key: PublicKey,
    proof: Option<&str>,
) -> Answer<(Key, bool)> {
    let (account, id) = (credential.account_id, key.id());
    let proof = proof.map(|text| proof::read(text, "proof")).transpose()?;
    let mut write = registry.data.database.write().await?;
    let present = keys::of_account(&mut *write, account).await?;
    let own = present.iter().find(|present| present.id == id);
    match own {
        Some(own) if own.revoked.is_some() => {
            let detail = format!("the key {id} is revoked; make another");
            return Err(Refusal::new(Code::KeyRevoked, detail));
        }
        Some(own) if own.proven => return Ok((own.clone(), false)),
        None if present.len() >= MAX_KEYS => {
            let detail = format!("the account has {MAX_KEYS} keys, which is the most");
            return Err(Refusal::new(Code::TooMany, detail));
        }
        _ => {}
    }
    let proven = proof::check(key, proof, &credential.account, &registry.log.origin())?;
    let created = own.is_none();
    if created {
        keys::add(&mut write, credential.actor(), &proven).await?.or_refused(&id)?;
    } else {
        keys::prove(&mut write, credential.actor(), &proven).await?;
    }
    let added = keys::of_account(&mut *write, account).await?;
    let added = added.into_iter().find(|added| added.id == id);
    registry.log.commit(write).await?;
    let added = added.ok_or_else(|| Refusal::internal(&"a key that was added is not there"))?;
    Ok((added, created))
}

/// Revokes a key, for good: nothing is published under it any more, and what was stays as it is.
#[utoipa::path(
    delete,
    path = "/v1/keys/{id}",
    tag = "account",
    params(("id" = String, Path, description = "The key's id, 64 lowercase hex digits")),
    request_body(content = Option<RevokeKey>, description = "Why; none for no reason"),
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
    OptionalJson(asked): OptionalJson<RevokeKey>,
) -> Answer<StatusCode> {
    let key: KeyId = id.parse().map_err(|error: skillpkg_schema::address::AddressError| {
        Refusal::new(Code::InvalidKey, error.to_string())
    })?;
    let reason = asked.and_then(|asked| asked.reason);
    if let Some(reason) = &reason {
        check_reason(reason)?;
    }
    to_the_end(async move {
        let mut write = registry.data.database.write().await?;
        let holder = caller.account()?.actor();
        if !keys::revoke(&mut write, Some(holder.id), holder, &key, reason.as_deref()).await? {
            return Err(Refusal::not_found());
        }
        // Documents that name the key say so: whoever asks from now on is told.
        registry.log.commit(write).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
