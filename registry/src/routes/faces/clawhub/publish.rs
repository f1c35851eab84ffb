//! A publish: a ticket for each file, its bytes, then all of them as one version.

use std::fs::File;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::{Value, json};
use skillpkg_schema::address::Hasher;
use skillpkg_schema::limits::MAX_FILES;
use skillpkg_schema::{QualifiedName, Sha256Digest, Version};
use tempfile::TempPath;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use super::account::handle;
use crate::auth::Caller;
use crate::faces::intake::{self, Intake};
use crate::faces::uploads::Promised;
use crate::problem::{Answer, Code, Refusal};
use crate::routes::extract::Json;
use crate::routes::faces::base;
use crate::state::Registry;

/// A file that is to be uploaded.
#[derive(Debug, Deserialize)]
pub(in crate::routes::faces) struct ToUpload {
    size: u64,
    sha256: Sha256Digest,
}

/// Promises to take one file.
#[utoipa::path(
    post,
    path = "/clawhub/api/v1/skills/-/upload-url",
    tag = "clawhub",
    request_body(content_type = "application/json", description = "`size` and `sha256` of the file"),
    responses(
        (status = 200, content_type = "application/json", description = "Where to send it, and a ticket"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security(("token" = [])),
)]
pub(in crate::routes::faces) async fn promise(
    State(registry): State<Registry>,
    caller: Caller,
    asked: HeaderMap,
    Json(file): Json<ToUpload>,
) -> Answer<Json<Value>> {
    let account = caller.account()?.account_id;
    intake::admit_any(&registry)?;
    let promised = Promised { sha256: file.sha256, size: file.size };
    let ticket = registry.uploads_of_faces.promise(account, promised)?;
    let url = format!("{}/clawhub/api/v1/uploads/{ticket}", base(&registry, &asked)?);
    Ok(Json(json!({"uploadUrl": url, "uploadTicket": ticket})))
}

/// Takes a file that was promised.
#[utoipa::path(
    post,
    path = "/clawhub/api/v1/uploads/{ticket}",
    tag = "clawhub",
    params(("ticket" = String, Path, description = "The ticket")),
    request_body(content_type = "application/octet-stream", description = "The file, at most 10 MiB"),
    responses(
        (status = 200, content_type = "application/json", description = "What it is published by"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security(("token" = [])),
)]
pub(in crate::routes::faces) async fn upload(
    State(registry): State<Registry>,
    caller: Caller,
    Path(ticket): Path<String>,
    body: Body,
) -> Answer<Json<Value>> {
    let account = caller.account()?.account_id;
    let promised = registry.uploads_of_faces.promised(account, &ticket);
    let promised = promised.ok_or_else(Refusal::not_found)?;
    let _turn = registry.upload_permit(account).await?;
    let pace = registry.options.pace;
    let taking = take(&registry, body, promised);
    let file = timeout(pace.longest, taking)
        .await
        .map_err(|_| Refusal::new(Code::Timeout, "the upload is too slow".to_owned()))??;
    registry.uploads_of_faces.keep(account, &ticket, file);
    Ok(Json(json!({"storageId": ticket})))
}

/// Takes the body to a file, which must be the one that was promised.
async fn take(registry: &Registry, body: Body, promised: Promised) -> Answer<TempPath> {
    let temporary = registry.data.temporary();
    let (file, path) =
        tempfile::Builder::new().prefix("upload-").tempfile_in(temporary)?.into_parts();
    let mut file = tokio::fs::File::from_std(file);
    let other = || {
        let detail = "what was sent is not the file that was announced: publish again";
        Refusal::new(Code::InvalidRequest, detail)
    };
    let mut hasher = Hasher::new();
    let mut left = promised.size;
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| other())?;
        left = left.checked_sub(piece.len() as u64).ok_or_else(other)?;
        hasher.update(&piece);
        file.write_all(&piece).await?;
    }
    file.flush().await?;
    if hasher.finish().sha256 != promised.sha256 || left != 0 {
        return Err(other());
    }
    Ok(path)
}

/// What is to be published. What else the client says is not taken: versions here have no tags, and a
/// licence is the file's.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::routes::faces) struct ToPublish {
    slug: String,
    owner_handle: Option<String>,
    version: String,
    files: Vec<Uploaded>,
}

/// A file that was uploaded.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Uploaded {
    path: String,
    sha256: Sha256Digest,
    upload_ticket: String,
}

/// Publishes files that were uploaded as a version, which is visible when this answers; it is signed
/// with a key that this registry holds for the account.
#[utoipa::path(
    post,
    path = "/clawhub/api/v1/skills",
    tag = "clawhub",
    request_body(content_type = "application/json", description = "`slug`, `ownerHandle`, `version` and `files`"),
    responses(
        (status = 200, content_type = "application/json", description = "It is published"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security(("token" = [])),
)]
pub(in crate::routes::faces) async fn publish(
    State(registry): State<Registry>,
    caller: Caller,
    Json(asked): Json<ToPublish>,
) -> Answer<Json<Value>> {
    let Caller::Account(credential) = &caller else {
        return Err(Refusal::unauthorized("publishing needs a token"));
    };
    let credential = Arc::clone(credential);
    let owner = asked.owner_handle.as_deref().map_or_else(|| handle(&credential), str::to_owned);
    let owner = owner.trim_start_matches('@').to_ascii_lowercase();
    let name = QualifiedName::from_wire(&owner, &asked.slug.to_ascii_lowercase())
        .map_err(|error| Refusal::new(Code::InvalidName, error.to_string()))?;
    let version: Version =
        asked.version.parse().map_err(|error: skillpkg_schema::version::VersionError| {
            Refusal::new(Code::InvalidVersion, error.to_string())
        })?;
    intake::admit(&registry, &caller, &name).await?;
    if asked.files.len() > MAX_FILES {
        let detail = format!("a skill has at most {MAX_FILES} files");
        return Err(Refusal::new(Code::TooMany, detail));
    }
    let mut files = Vec::with_capacity(asked.files.len());
    for Uploaded { path, sha256, upload_ticket } in asked.files {
        let taken = registry.uploads_of_faces.take(credential.account_id, &upload_ticket);
        let taken = taken.filter(|(promised, _)| promised.sha256 == sha256);
        let (_, file) = taken.ok_or_else(|| {
            let detail =
                "a file of it was not uploaded, or a quarter of an hour ago: publish again";
            Refusal::new(Code::InvalidRequest, detail)
        })?;
        files.push((path, file));
    }
    let mut intake = Intake::create(&registry)?;
    let copying = tokio::task::spawn_blocking(move || {
        for (path, file) in files {
            intake.copy(&path, File::open(&file)?)?;
        }
        Ok::<_, Refusal>(intake)
    });
    let intake = copying.await.map_err(|error| Refusal::internal(&error))??;
    let answer = intake::publish(&registry, &credential, intake, name, version).await?;
    Ok(Json(json!({
        "ok": true,
        "skillId": answer.name,
        "versionId": format!("{}@{}", answer.name, answer.version),
        "publicationStatus": "published",
        "address": answer.address,
        "logIndex": answer.log_index,
    })))
}
