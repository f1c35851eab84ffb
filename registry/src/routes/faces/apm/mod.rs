//! The APM registry HTTP API, version 1: the versions of a package, their containers, a publish.

pub(super) mod search;

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use skillpkg_schema::wire::{Problem, VersionEntry};
use skillpkg_schema::{QualifiedName, Version};
use tokio::time::{Instant, timeout_at};

use super::{Offer, Rendered, Served, container, listed, name_of, offer, rendered};
use crate::auth::Caller;
use crate::clock;
use crate::faces::Face;
use crate::faces::intake::{self, Intake};
use crate::faces::rendering;
use crate::problem::{Answer, Code, Refusal};
use crate::routes::asker::Asker;
use crate::routes::extract::Json;
use crate::skills::publish;
use crate::state::Registry;

/// How long a list waits for containers that are being made: its client waits a minute.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Serialize)]
struct Versions {
    package: QualifiedName,
    versions: Vec<Listed>,
}

#[derive(Debug, Serialize)]
struct Listed {
    version: Version,
    digest: String,
    published_at: String,
    size_bytes: u64,
}

#[derive(Debug, Serialize)]
struct Accepted {
    package: QualifiedName,
    version: Version,
    digest: String,
    published_at: String,
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_index: Option<u64>,
}

/// The versions that a range may pick: pre-releases only where there is nothing else, since this
/// client's ranges pick them as any other.
fn pickable(offer: &Offer) -> Vec<&VersionEntry> {
    let mut listed = offer.listed();
    if listed.iter().any(|entry| !entry.version.is_prerelease()) {
        listed.retain(|entry| !entry.version.is_prerelease());
    }
    listed
}

/// The versions of a package that may be picked, newest first; yanked ones are left out.
#[utoipa::path(
    get,
    path = "/apm/v1/packages/{scope}/{name}/versions",
    tag = "apm",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
    ),
    responses(
        (status = 200, content_type = "application/json", description = "The versions"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security((), ("token" = [])),
)]
pub(super) async fn versions(
    asker: Asker,
    Path((scope, name)): Path<(String, String)>,
) -> Answer<Response> {
    let offer = offer(&asker, &name_of(&scope, &name)?).await?;
    let until = Instant::now() + PATIENCE;
    let mut versions = Vec::new();
    for entry in pickable(&offer) {
        let made = rendered(&asker, entry, Face::Apm);
        // Newest first: what is not made in time comes with a later answer.
        let Ok(made) = timeout_at(until, made).await else { break };
        if let Rendered::Container { digest, size, .. } = made? {
            versions.push(Listed {
                version: entry.version.clone(),
                digest: format!("sha256:{digest}"),
                published_at: entry.published.clone(),
                size_bytes: size,
            });
        }
    }
    let package = offer.document.name.clone();
    listed(&Versions { package, versions }, offer.document.private)
}

/// A version's container, a zip; also of a version that is yanked.
#[utoipa::path(
    get,
    path = "/apm/v1/packages/{scope}/{name}/versions/{version}/download",
    tag = "apm",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
        ("version" = String, Path, description = "The version"),
    ),
    responses(
        (status = 200, content_type = "application/zip", description = "The container"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security((), ("token" = [])),
)]
pub(super) async fn download(
    asker: Asker,
    Path((scope, name, version)): Path<(String, String, String)>,
    method: Method,
    headers: HeaderMap,
) -> Answer<Response> {
    let offer = offer(&asker, &name_of(&scope, &name)?).await?;
    let version = version.parse().map_err(|_| Refusal::not_found())?;
    let entry = offer.exact(&version)?;
    let is_public = !offer.document.private;
    let (face, media_type) = (Face::Apm, "application/zip");
    let served = Served { face, media_type, is_public, method: &method, asked: &headers };
    container(&asker, entry, served).await
}

/// Publishes a package that is one skill; it is signed with a key that this registry holds for the
/// account.
#[utoipa::path(
    put,
    path = "/apm/v1/packages/{scope}/{name}/versions/{version}",
    tag = "apm",
    params(
        ("scope" = String, Path, description = "The scope; `_` for a bare name"),
        ("name" = String, Path, description = "The name within the scope"),
        ("version" = String, Path, description = "The version"),
    ),
    request_body(content_type = "application/zip", description = "`apm.yml`, and one skill in `.apm/skills/{name}/`"),
    responses(
        (status = 201, content_type = "application/json", description = "It is published"),
        (status = 200, content_type = "application/json", description = "The same was there"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = [])),
)]
pub(super) async fn publish(
    State(registry): State<Registry>,
    caller: Caller,
    Path((scope, name, version)): Path<(String, String, String)>,
    body: Body,
) -> Answer<Response> {
    let (name, version) = admitted(&registry, &caller, &scope, &name, &version).await?;
    let Caller::Account(credential) = &caller else {
        return Err(Refusal::unauthorized("publishing needs a token"));
    };
    let credential = Arc::clone(credential);
    let intake = {
        let _upload = registry.upload_permit(credential.account_id).await?;
        let received = publish::receive(&registry, body).await?;
        let mut intake = Intake::create(&registry)?;
        let (name, version) = (name.name().clone(), version.clone());
        let unpacking = tokio::task::spawn_blocking(move || {
            intake::unpack(File::open(&received.archive)?, &name, &version, &mut intake)?;
            Ok::<_, Refusal>(intake)
        });
        unpacking.await.map_err(|error| Refusal::internal(&error))??
    };
    let answer = intake::publish(&registry, &credential, intake, name, version).await?;
    let readers = registry.data.database.readers();
    let rendered = match rendering::recorded(readers, &answer.address, Face::Apm).await? {
        Some(rendered) => rendered,
        None => rendering::make_late(&registry, &answer.address, Face::Apm).await?,
    };
    let Rendered::Container { digest, .. } = rendered else {
        return Err(Refusal::internal(&"a package that was published is left out"));
    };
    let status = if answer.created { StatusCode::CREATED } else { StatusCode::OK };
    let accepted = Accepted {
        package: answer.name,
        version: answer.version,
        digest: format!("sha256:{digest}"),
        published_at: clock::now(),
        address: answer.address.to_string(),
        log_index: answer.log_index,
    };
    Ok((status, Json(accepted)).into_response())
}

async fn admitted(
    registry: &Registry,
    caller: &Caller,
    scope: &str,
    name: &str,
    version: &str,
) -> Answer<(QualifiedName, Version)> {
    let name = QualifiedName::from_wire(&scope.to_ascii_lowercase(), &name.to_ascii_lowercase())
        .map_err(|error| Refusal::new(Code::InvalidName, error.to_string()))?;
    let version: Version =
        version.parse().map_err(|error: skillpkg_schema::version::VersionError| {
            Refusal::new(Code::InvalidVersion, error.to_string())
        })?;
    intake::admit(registry, caller, &name).await?;
    Ok((name, version))
}
