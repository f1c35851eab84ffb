//! Routes of the faces, and what they share.

mod agent_skills;
mod apm;
mod clawhub;
mod listing;
mod plain;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::Response;
use serde::Serialize;
use skillpkg_schema::wire::VersionEntry;
use skillpkg_schema::{QualifiedName, Sha256Digest, Version};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) use plain::{Foreign, plain};

use super::asker::Asker;
use super::content::{self, caching};
use super::place;
use crate::blobs::Kind;
use crate::contents::Located;
use crate::faces::offer::Offer;
use crate::faces::rendering::{self, Rendered};
use crate::faces::{Face, Faces};
use crate::problem::{Answer, Code, Refusal};
use crate::state::Registry;

/// Routes whose requests are short, of the faces that are on.
pub(super) fn small(faces: &Faces) -> OpenApiRouter<Registry> {
    faces.on().fold(OpenApiRouter::default(), |router, face| {
        router.merge(match face {
            Face::AgentSkills => OpenApiRouter::default()
                .routes(routes!(agent_skills::of_registry))
                .routes(routes!(agent_skills::of_scope))
                .routes(routes!(agent_skills::of_skill))
                .routes(routes!(agent_skills::of_version))
                .routes(routes!(agent_skills::archive))
                .routes(routes!(agent_skills::of_scope_by_token))
                .routes(routes!(agent_skills::of_skill_by_token))
                .routes(routes!(agent_skills::of_version_by_token))
                .routes(routes!(agent_skills::archive_by_token)),
            Face::Apm => OpenApiRouter::default()
                .routes(routes!(apm::search::search))
                .routes(routes!(apm::versions))
                .routes(routes!(apm::download)),
            Face::ClawHub => OpenApiRouter::default()
                .routes(routes!(clawhub::account::discovery))
                .routes(routes!(clawhub::account::whoami))
                .routes(routes!(clawhub::find::search))
                .routes(routes!(clawhub::find::list))
                .routes(routes!(clawhub::find::resolve))
                .routes(routes!(clawhub::account::telemetry))
                .routes(routes!(clawhub::skill::get, clawhub::withdraw::all))
                .routes(routes!(clawhub::withdraw::restore_all))
                .routes(routes!(clawhub::skill::install))
                .routes(routes!(clawhub::skill::verify))
                .routes(routes!(clawhub::skill::versions))
                .routes(routes!(clawhub::skill::version, clawhub::withdraw::one))
                .routes(routes!(clawhub::withdraw::restore_one))
                .routes(routes!(clawhub::content::file))
                .routes(routes!(clawhub::content::download))
                .routes(routes!(clawhub::publish::promise)),
        })
    })
}

/// Routes that take files, of the faces that are on.
pub(super) fn large(faces: &Faces) -> OpenApiRouter<Registry> {
    faces.on().fold(OpenApiRouter::default(), |router, face| {
        router.merge(match face {
            Face::AgentSkills => OpenApiRouter::default(),
            Face::Apm => OpenApiRouter::default().routes(routes!(apm::publish)),
            Face::ClawHub => OpenApiRouter::default()
                .routes(routes!(clawhub::publish::upload))
                .routes(routes!(clawhub::publish::publish)),
        })
    })
}

/// The answer for a path that is no route: where its protocol has something there, with what to do in
/// its place.
pub(super) fn unrouted(faces: &Faces, path: &str) -> Refusal {
    match Face::of_path(path).filter(|face| faces.is_on(*face)) {
        Some(Face::ClawHub) => clawhub::unoffered::refusal(path),
        _ => Refusal::not_found(),
    }
}

/// What is offered of a skill that the caller may read.
async fn offer(asker: &Asker, name: &QualifiedName) -> Answer<Offer> {
    Offer::read(&asker.document(name).await?.bytes)
}

/// What a face has of a version, made now where nothing was before; whether it is put or not.
async fn rendered(asker: &Asker, entry: &VersionEntry, face: Face) -> Answer<Rendered> {
    let readers = asker.registry.data.database.readers();
    if let Some(rendered) = rendering::recorded(readers, &entry.address, face).await? {
        return Ok(rendered);
    }
    // On a mirror this fetches it.
    asker.locate(Kind::Manifest, &entry.address).await?;
    rendering::make_late(&asker.registry, &entry.address, face).await
}

/// How a container is answered with.
#[derive(Debug, Clone, Copy)]
struct Served<'a> {
    face: Face,
    media_type: &'static str,
    is_public: bool,
    method: &'a Method,
    asked: &'a HeaderMap,
}

/// Answers with what a face has of a version, which is put where it was not; what it leaves out is not
/// there, for the reason given.
async fn container(asker: &Asker, entry: &VersionEntry, served: Served<'_>) -> Answer<Response> {
    let registry = &asker.registry;
    let mut found = rendered(asker, entry, served.face).await?;
    if let Rendered::Container { held: false, .. } = found {
        found = rendering::make_late(registry, &entry.address, served.face).await?;
    }
    let (digest, size) = match found {
        Rendered::Container { digest, size, .. } => (digest, size),
        Rendered::LeftOut(reason) => {
            let detail = format!("this version is not offered here: {reason}");
            return Err(Refusal::new(Code::NotFound, detail));
        }
    };
    let located = Located { kind: Kind::Rendering, digest, size, public: served.is_public };
    let answer =
        content::answer(registry, &located, served.media_type, served.method, served.asked).await?;
    if *served.method == Method::GET && content::starts(&answer) {
        registry.downloads.count(&Sha256Digest::from_bytes(*entry.archive.digest()));
    }
    Ok(answer)
}

/// A JSON answer that may be kept for a minute where anybody may read it.
fn listed(json: &impl Serialize, private: bool) -> Answer<Response> {
    let body = serde_json::to_vec(json).map_err(|error| Refusal::internal(&error))?;
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    caching(headers, private, "public, max-age=60");
    Ok(response)
}

/// The URL that this registry is reached at, without a `/` at its end.
fn base(registry: &Registry, asked: &HeaderMap) -> Answer<String> {
    place::base(registry, asked).ok_or_else(|| {
        let detail = "the request names no host, and this registry's operator has not said where it \
                      is reached (`serve --public-url`)";
        Refusal::new(Code::InvalidRequest, detail)
    })
}

/// A version as a part of a URL.
fn url_of(version: &Version) -> String {
    version.to_string().replace('+', "%2B")
}

/// A name of another client's making: its case does not count, and what is none here is not there.
fn name_of(scope: &str, name: &str) -> Answer<QualifiedName> {
    QualifiedName::from_wire(&scope.to_ascii_lowercase(), &name.to_ascii_lowercase())
        .map_err(|_| Refusal::not_found())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_in_any_case_and_what_is_none_is_not_there() {
        assert_eq!(name_of("Acme", "PDF-Tools").unwrap().to_string(), "acme/pdf-tools");
        assert_eq!(name_of("_", "pdf").unwrap().to_string(), "pdf");
        for (scope, name) in [("a b", "pdf"), ("acme", ".."), ("acme", ""), ("", "pdf")] {
            assert_eq!(name_of(scope, name).unwrap_err().code(), Code::NotFound);
        }
    }
}
