//! Publishing a version.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use skillpkg_schema::signature::PublicKey;
use skillpkg_schema::wire::{KEY_PROOF_HEADER, PUBLIC_KEY_HEADER, Problem, PublishAnswer};

use super::extract::{Json, NamedVersion};
use crate::accounts::proof;
use crate::auth::Caller;
use crate::problem::{Answer, Code, Refusal};
use crate::skills::publish::{self, Offered, Request};
use crate::state::Registry;

/// Publishes the archive in the body; the version is visible when this answers.
#[utoipa::path(
    put,
    path = "/v1/skills/{scope}/{name}/{version}",
    tag = "skills",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
        ("version" = String, Path, description = "The version"),
        ("skillpkg-public-key" = Option<String>, Header,
            description = "The signing key, base64 of SPKI DER: an account's first publish registers it"),
        ("skillpkg-key-proof" = Option<String>, Header,
            description = "That the account holds that key, base64 of the envelope: needed where it is to be registered"),
    ),
    request_body(content_type = "application/vnd.skillpkg.archive+zstd", description = "The archive, at most 50 MiB"),
    responses(
        (status = 201, body = PublishAnswer, description = "It is published"),
        (status = 200, body = PublishAnswer, description = "The same manifest was there: the first archive stays"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn publish(
    State(registry): State<Registry>,
    caller: Caller,
    NamedVersion(name, version): NamedVersion,
    asked: HeaderMap,
    body: Body,
) -> Answer<Response> {
    let offered = offered_key(&asked)?;
    publish::admit(&registry, &caller, &name, offered.as_ref()).await?;
    let Caller::Account(credential) = &caller else {
        return Err(Refusal::unauthorized("publishing needs a token"));
    };
    let request = Request { name, version, offered };
    let answer = publish::publish(&registry, &Arc::clone(credential), request, body).await?;
    let status = if answer.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(answer)).into_response())
}

fn offered_key(asked: &HeaderMap) -> Answer<Option<Offered>> {
    let Some(value) = asked.get(PUBLIC_KEY_HEADER) else { return Ok(None) };
    let refused = |reason: &str| {
        let detail = format!("`{PUBLIC_KEY_HEADER}` holds the base64 of SPKI DER: {reason}");
        Refusal::new(Code::InvalidKey, detail)
    };
    let der = STANDARD.decode(value.as_bytes()).map_err(|error| refused(&error.to_string()))?;
    let key = PublicKey::from_der(&der).map_err(|error| refused(&error.to_string()))?;
    let proof = asked.get(KEY_PROOF_HEADER).map(|value| {
        let text = String::from_utf8_lossy(value.as_bytes());
        proof::read(&text, KEY_PROOF_HEADER)
    });
    Ok(Some(Offered { key, proof: proof.transpose()? }))
}
