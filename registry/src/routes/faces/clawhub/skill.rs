//! What is told of a skill and of its versions.

use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use skillpkg_schema::wire::Effect;

use super::{Found, Which, milliseconds, moderation_json, skill_json, version_json};
use crate::faces::Face;
use crate::routes::asker::Asker;
use crate::routes::extract::{Json, Query};
use crate::routes::faces::{Foreign, Rendered, base, listed, rendered, url_of};

/// Most versions of an answer.
const MOST_VERSIONS: usize = 200;

/// A skill: what it is, its current version, whose it is, what is known against it.
#[utoipa::path(
    get,
    path = "/clawhub/api/v1/skills/{name}",
    tag = "clawhub",
    params(("name" = String, Path, description = "The name within the scope"), Which),
    responses(
        (status = 200, content_type = "application/json", description = "The skill"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security((), ("token" = [])),
)]
pub(in crate::routes::faces) async fn get(
    asker: Asker,
    Path(slug): Path<String>,
    Query(which): Query<Which>,
) -> Found<Response> {
    let offer = which.offer(&asker, &slug).await?;
    let mut skill = skill_json(&offer);
    if let Some(latest) = offer.latest()
        && let Some(license) = asker.manifest(&latest.address).await?.license
        && let Some(skill) = skill.as_object_mut()
    {
        // The field for it takes one licence alone, and is shown as that one where it is absent.
        let summary = format!("{} (Licence: {license})", offer.document.description);
        skill.insert("summary".to_owned(), summary.into());
    }
    let answer = json!({
        "skill": skill,
        "latestVersion": offer.latest().map(version_json),
        "owner": {"handle": offer.document.name.wire_scope()},
        "moderation": moderation_json(&offer),
    });
    Ok(listed(&answer, offer.document.private)?)
}

/// How the current version is installed; or why none is.
#[utoipa::path(
    get,
    path = "/clawhub/api/v1/skills/{name}/install",
    tag = "clawhub",
    params(("name" = String, Path, description = "The name within the scope"), Which),
    responses(
        (status = 200, content_type = "application/json", description = "Where its container is"),
        (status = 410, content_type = "application/json", description = "Why no version is offered"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security((), ("token" = [])),
)]
pub(in crate::routes::faces) async fn install(
    asker: Asker,
    Path(slug): Path<String>,
    Query(which): Query<Which>,
    headers: HeaderMap,
) -> Found<Response> {
    let offer = which.offer(&asker, &slug).await?;
    let name = &offer.document.name;
    let Some(latest) = offer.latest() else {
        let message = match offer.forbidden() {
            Some(advisory) => format!("{}: {}", advisory.id, advisory.summary),
            None => "every version is yanked".to_owned(),
        };
        let body = json!({
            "ok": false, "slug": name.name(), "reason": "archive_version_missing",
            "message": message, "status": 410,
        });
        let mut response = (StatusCode::GONE, Json(body)).into_response();
        response.extensions_mut().insert(Foreign);
        return Ok(response);
    };
    let version = url_of(&latest.version);
    let url = format!(
        "{}/clawhub/api/v1/download?slug={}&ownerHandle={}&version={version}",
        base(&asker.registry, &headers)?,
        name.name(),
        name.wire_scope(),
    );
    let archive = json!({"version": latest.version, "downloadUrl": url});
    let answer =
        json!({"ok": true, "slug": name.name(), "installKind": "archive", "archive": archive});
    Ok(Json(answer).into_response())
}

/// The versions that may be picked, the best first.
#[utoipa::path(
    get,
    path = "/clawhub/api/v1/skills/{name}/versions",
    tag = "clawhub",
    params(("name" = String, Path, description = "The name within the scope"), Which),
    responses(
        (status = 200, content_type = "application/json", description = "The versions"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security((), ("token" = [])),
)]
pub(in crate::routes::faces) async fn versions(
    asker: Asker,
    Path(slug): Path<String>,
    Query(which): Query<Which>,
) -> Found<Response> {
    let offer = which.offer(&asker, &slug).await?;
    let items: Vec<Value> =
        offer.listed().into_iter().take(MOST_VERSIONS).map(version_json).collect();
    Ok(listed(&json!({"items": items, "nextCursor": null}), offer.document.private)?)
}

/// A version and its files.
#[utoipa::path(
    get,
    path = "/clawhub/api/v1/skills/{name}/versions/{version}",
    tag = "clawhub",
    params(
        ("name" = String, Path, description = "The name within the scope"),
        ("version" = String, Path, description = "The version"),
        Which,
    ),
    responses(
        (status = 200, content_type = "application/json", description = "The version"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security((), ("token" = [])),
)]
pub(in crate::routes::faces) async fn version(
    asker: Asker,
    Path((slug, version)): Path<(String, String)>,
    Query(which): Query<Which>,
) -> Found<Response> {
    let offer = which.offer(&asker, &slug).await?;
    let entry = super::exact(&offer, &version)?;
    let manifest = asker.manifest(&entry.address).await?;
    let files: Vec<Value> = manifest
        .files
        .iter()
        .map(|file| {
            json!({
                "path": file.path.as_str(), "size": file.size, "sha256": file.sha256,
                "contentType": "application/octet-stream",
            })
        })
        .collect();
    let mut version = version_json(entry);
    if let Some(version) = version.as_object_mut() {
        version.insert("files".to_owned(), files.into());
    }
    let name = &offer.document.name;
    let skill = json!({"slug": name.name(), "displayName": name.to_string()});
    Ok(listed(&json!({"version": version, "skill": skill}), offer.document.private)?)
}

/// What vouches for a version: its address, who signed it, where the log has it, what is known of it.
#[utoipa::path(
    get,
    path = "/clawhub/api/v1/skills/{name}/verify",
    tag = "clawhub",
    params(("name" = String, Path, description = "The name within the scope"), Which),
    responses(
        (status = 200, content_type = "application/json", description = "What vouches for it"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security((), ("token" = [])),
)]
pub(in crate::routes::faces) async fn verify(
    asker: Asker,
    Path(slug): Path<String>,
    Query(which): Query<Which>,
    headers: HeaderMap,
) -> Found<Response> {
    let offer = which.offer(&asker, &slug).await?;
    let (entry, resolved) = which.entry(&offer)?;
    let document = &offer.document;
    let name = &document.name;
    let container = match rendered(&asker, entry, Face::ClawHub).await? {
        Rendered::Container { digest, size, .. } => json!({"sha256": digest, "size": size}),
        Rendered::LeftOut(reason) => json!({"leftOut": reason}),
    };
    let signers: Vec<Value> = document
        .keys
        .iter()
        .filter(|key| entry.key_ids.contains(&key.id))
        .map(|key| {
            json!({
                "keyId": key.id, "account": key.account, "publicKey": key.pem,
                "heldByRegistry": key.held, "revoked": key.revoked,
            })
        })
        .collect();
    let warnings: Vec<_> = offer.advisories(&entry.version, Effect::Warn).collect();
    let page = format!(
        "{}/skills/{}/{}/{}",
        base(&asker.registry, &headers)?,
        name.wire_scope(),
        name.name(),
        entry.version
    );
    let answer = json!({
        "schema": "clawhub.skill.verify.v1",
        "ok": true,
        "decision": "pass",
        "reasons": warnings.iter().map(|one| format!("{}: {}", one.id, one.summary)).collect::<Vec<_>>(),
        "slug": name.name(),
        "displayName": name.to_string(),
        "pageUrl": page,
        "publisherHandle": name.wire_scope(),
        "publisherDisplayName": signers.first().and_then(|signer| signer.get("account")),
        "publisherProfileUrl": null,
        "version": entry.version,
        "resolvedFrom": resolved,
        "tag": which.tag,
        "createdAt": milliseconds(&entry.published),
        "card": null,
        "artifact": {"container": container, "address": entry.address, "blake3": entry.blake3,
            "archive": entry.archive},
        "provenance": {"log": asker.registry.log.origin(), "logIndex": entry.log_index,
            "yanked": entry.yanked},
        "security": {"advisories": warnings, "findings": entry.findings},
        "signature": {"signers": signers},
    });
    Ok(Json(answer).into_response())
}
