//! Who may publish a skill from a job of a build service, and the token that such a job is given.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::{
    DistrustPublisher, ExchangeIdentity, ExchangedToken, Problem, TrustPublisher, TrustedPublishers,
};
use sqlx::AnyConnection;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Json, Named};
use crate::auth::Caller;
use crate::oidc::publishers::{self, Place};
use crate::oidc::{Oidc, exchange};
use crate::problem::{Answer, Refusal};
use crate::server::to_the_end;
use crate::state::Registry;

/// The routes, where the operator trusts an issuer; else they are not there.
pub(super) fn small(registry: &Registry) -> OpenApiRouter<Registry> {
    if registry.options.oidc.is_none() {
        return OpenApiRouter::default();
    }
    OpenApiRouter::default().routes(routes!(list, trust, distrust)).routes(routes!(token))
}

fn oidc(registry: &Registry) -> Answer<&Oidc> {
    registry.options.oidc.as_deref().ok_or_else(Refusal::not_found)
}

/// The trusted publishers of a skill, and the issuers whose identities are taken.
#[utoipa::path(
    get,
    path = "/v1/skills/{scope}/{name}/publishers",
    tag = "publishers",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
    ),
    responses(
        (status = 200, body = TrustedPublishers),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn list(
    State(registry): State<Registry>,
    caller: Caller,
    Named(name): Named,
) -> Answer<Json<TrustedPublishers>> {
    let mut read = registry.data.database.readers().acquire().await?;
    let place = publishers::place(&mut read, &caller, &name).await?;
    shown(&mut read, oidc(&registry)?, place).await
}

async fn shown(
    connection: &mut AnyConnection,
    oidc: &Oidc,
    place: Place<'_>,
) -> Answer<Json<TrustedPublishers>> {
    let recorded = publishers::of_place(connection, place).await?;
    Ok(Json(TrustedPublishers {
        publishers: recorded.into_iter().map(|one| one.publisher).collect(),
        issuers: oidc.issuers(),
        audience: oidc.audience().to_owned(),
    }))
}

/// Trusts jobs of a build service to publish the skill, in the name of whoever asks.
#[utoipa::path(
    post,
    path = "/v1/skills/{scope}/{name}/publishers",
    tag = "publishers",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
    ),
    request_body = TrustPublisher,
    responses(
        (status = 200, body = TrustedPublishers, description = "The publishers as they are now"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn trust(
    State(registry): State<Registry>,
    caller: Caller,
    Named(name): Named,
    Json(asked): Json<TrustPublisher>,
) -> Answer<Json<TrustedPublishers>> {
    change(registry, caller, name, Change::Trust(asked)).await
}

/// Trusts them no more: the tokens that they have are revoked.
#[utoipa::path(
    delete,
    path = "/v1/skills/{scope}/{name}/publishers",
    tag = "publishers",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
    ),
    request_body = DistrustPublisher,
    responses(
        (status = 200, body = TrustedPublishers, description = "The publishers as they are now"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn distrust(
    State(registry): State<Registry>,
    caller: Caller,
    Named(name): Named,
    Json(asked): Json<DistrustPublisher>,
) -> Answer<Json<TrustedPublishers>> {
    change(registry, caller, name, Change::Distrust(asked)).await
}

enum Change {
    Trust(TrustPublisher),
    Distrust(DistrustPublisher),
}

async fn change(
    registry: Registry,
    caller: Caller,
    name: QualifiedName,
    change: Change,
) -> Answer<Json<TrustedPublishers>> {
    to_the_end(async move {
        let oidc = oidc(&registry)?;
        let mut write = registry.data.database.write().await?;
        let place = publishers::place(&mut write, &caller, &name).await?;
        let actor = caller.account()?.actor();
        match change {
            Change::Trust(asked) => publishers::add(&mut write, oidc, actor, place, asked).await?,
            Change::Distrust(DistrustPublisher { id }) => {
                publishers::remove(&mut write, actor, place, &id).await?;
            }
        }
        let publishers = shown(&mut write, oidc, place).await?;
        registry.log.commit(write).await?;
        // A token that was revoked with its publisher is not believed for another second.
        registry.authenticator.forget();
        Ok(publishers)
    })
    .await
}

/// Gives a job that is trusted a token for one skill, in exchange for its identity, which is taken once.
#[utoipa::path(
    post,
    path = "/v1/oidc/token",
    tag = "publishers",
    request_body = ExchangeIdentity,
    responses(
        (status = 201, body = ExchangedToken),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json",
            description = "The issuer's keys cannot be had; `Retry-After` says when to ask again"),
    ),
)]
pub(super) async fn token(
    State(registry): State<Registry>,
    Json(asked): Json<ExchangeIdentity>,
) -> Answer<Response> {
    // To its end: a token that nobody is told of would have used up the identity.
    let given = to_the_end(async move {
        let ExchangeIdentity { token, name } = asked;
        exchange::exchange(&registry, oidc(&registry)?, &token, &name).await
    });
    Ok((StatusCode::CREATED, Json(given.await?)).into_response())
}
