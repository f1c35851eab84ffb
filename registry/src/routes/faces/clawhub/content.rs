//! A version's container, and single files of it.

use axum::extract::Path;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::{Found, Which};
use crate::blobs::Kind;
use crate::contents::Located;
use crate::faces::Face;
use crate::problem::Refusal;
use crate::routes::asker::Asker;
use crate::routes::content;
use crate::routes::extract::Query;
use crate::routes::faces::{Served, container};

/// Which file.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::routes::faces) struct Asked {
    /// Its path.
    path: String,
}

/// Which skill.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::routes::faces) struct Slug {
    /// The name.
    slug: String,
}

/// One file of a version.
#[utoipa::path(
    get,
    path = "/clawhub/api/v1/skills/{name}/file",
    tag = "clawhub",
    params(("name" = String, Path, description = "The name within the scope"), Asked, Which),
    responses(
        (status = 200, content_type = "application/octet-stream", description = "Its bytes"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security((), ("token" = [])),
)]
pub(in crate::routes::faces) async fn file(
    asker: Asker,
    Path(slug): Path<String>,
    Query(query): Query<Asked>,
    Query(which): Query<Which>,
    method: Method,
    headers: HeaderMap,
) -> Found<Response> {
    let offer = which.offer(&asker, &slug).await?;
    let (entry, _) = which.entry(&offer)?;
    let manifest = asker.manifest(&entry.address).await?;
    let file = manifest.file(&query.path).ok_or_else(Refusal::not_found)?;
    let public = !offer.document.private;
    let located = Located { kind: Kind::File, digest: file.sha256, size: file.size, public };
    let media_type = "application/octet-stream";
    Ok(content::answer(&asker.registry, &located, media_type, &method, &headers).await?)
}

/// A version's container: a zip with the files at its root.
#[utoipa::path(
    get,
    path = "/clawhub/api/v1/download",
    tag = "clawhub",
    params(Slug, Which),
    responses(
        (status = 200, content_type = "application/zip", description = "The container"),
        (status = "4XX", content_type = "text/plain", description = "What was wrong"),
    ),
    security((), ("token" = [])),
)]
pub(in crate::routes::faces) async fn download(
    asker: Asker,
    Query(query): Query<Slug>,
    Query(which): Query<Which>,
    method: Method,
    headers: HeaderMap,
) -> Found<Response> {
    let offer = which.offer(&asker, &query.slug).await?;
    let (entry, _) = which.entry(&offer)?;
    let is_public = !offer.document.private;
    let (face, media_type) = (Face::ClawHub, "application/zip");
    let served = Served { face, media_type, is_public, method: &method, asked: &headers };
    Ok(container(&asker, entry, served).await?)
}
