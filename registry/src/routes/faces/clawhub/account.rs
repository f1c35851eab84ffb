//! Where the API is, and who calls it.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::json;
use skillpkg_schema::name::EMPTY_SCOPE;

use crate::auth::{Caller, Credential};
use crate::problem::Answer;
use crate::routes::extract::Json;
use crate::routes::faces::{base, listed};
use crate::state::Registry;

/// Where the API is, for a client that was given the registry's URL alone.
#[utoipa::path(
    get,
    path = "/.well-known/clawhub.json",
    tag = "clawhub",
    responses((status = 200, content_type = "application/json", description = "Its base URL")),
)]
pub(in crate::routes::faces) async fn discovery(
    State(registry): State<Registry>,
    asked: HeaderMap,
) -> Answer<Response> {
    // It depends on the request where the operator has not said it: no cache hands it to others.
    let private = registry.options.faces.public_url.is_none();
    listed(&json!({"apiBase": format!("{}/clawhub", base(&registry, &asked)?)}), private)
}

/// The owner that is meant where none is named: the one scope that the account publishes to, else bare
/// names.
pub(super) fn handle(credential: &Credential) -> String {
    let mut scopes = credential.memberships.iter().filter(|member| member.role.publishes());
    match (scopes.next(), scopes.next()) {
        (Some(only), None) => only.scope.to_string(),
        _ => EMPTY_SCOPE.to_owned(),
    }
}

/// Takes what the client tells of an install, and keeps nothing of it: the registry counts its own
/// downloads.
#[utoipa::path(
    post,
    path = "/clawhub/api/cli/telemetry/install",
    tag = "clawhub",
    responses((status = 200, content_type = "application/json", description = "Nothing is kept")),
)]
pub(in crate::routes::faces) async fn telemetry() -> Json<serde_json::Value> {
    Json(json!({"ok": true}))
}

/// The account, and the scope that it publishes to where it names none.
#[utoipa::path(
    get,
    path = "/clawhub/api/v1/whoami",
    tag = "clawhub",
    responses(
        (status = 200, content_type = "application/json", description = "The account"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security(("token" = [])),
)]
pub(in crate::routes::faces) async fn whoami(
    State(_): State<Registry>,
    caller: Caller,
) -> Answer<Json<serde_json::Value>> {
    let credential = caller.account()?;
    let user = json!({"handle": handle(credential), "displayName": credential.account});
    Ok(Json(json!({"user": user})))
}
