//! What handlers take out of a request, each refused with a problem of its own.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query as AxumQuery, Request};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{ContentAddress, QualifiedName, Scope, Version};

use crate::auth::Caller;
use crate::problem::{Answer, Code, Refusal};

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Refusal;

    /// Whom the table of access let through; a route that it does not stand before has no caller.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Answer<Self> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| Refusal::internal(&"a route without a row in the table of access"))
    }
}

/// The parts of a path as texts.
async fn texts<T: DeserializeOwned + Send, S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
) -> Answer<T> {
    let path = Path::<T>::from_request_parts(parts, state).await;
    path.map(|Path(texts)| texts)
        .map_err(|error| Refusal::new(Code::InvalidRequest, escape(&error.body_text())))
}

/// The skill that a path names, `{scope}/{name}`.
pub(super) struct Named(pub(super) QualifiedName);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let (scope, name) = texts::<(String, String), S>(parts, state).await?;
        whole_name(&scope, &name).map(Self)
    }
}

/// The version that a path names, `{scope}/{name}/{version}`.
pub(super) struct NamedVersion(pub(super) QualifiedName, pub(super) Version);

impl<S: Send + Sync> FromRequestParts<S> for NamedVersion {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let (scope, name, version) = texts::<(String, String, String), S>(parts, state).await?;
        let name = whole_name(&scope, &name)?;
        let version =
            version.parse().map_err(|error: skillpkg_schema::version::VersionError| {
                Refusal::new(Code::InvalidVersion, error.to_string())
            })?;
        Ok(Self(name, version))
    }
}

/// What a path names of a skill, `{scope}/{name}/…/{id}`.
pub(super) struct NamedPart(pub(super) QualifiedName, pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for NamedPart {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let (scope, name, id) = texts::<(String, String, String), S>(parts, state).await?;
        Ok(Self(whole_name(&scope, &name)?, id))
    }
}

fn whole_name(scope: &str, name: &str) -> Answer<QualifiedName> {
    QualifiedName::from_wire(scope, name)
        .map_err(|error| Refusal::new(Code::InvalidName, error.to_string()))
}

/// The scope that a path names.
pub(super) struct InScope(pub(super) Scope);

impl<S: Send + Sync> FromRequestParts<S> for InScope {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let (scope,) = texts::<(String,), S>(parts, state).await?;
        scope.parse().map(Self).map_err(|error: skillpkg_schema::name::NameError| {
            Refusal::new(Code::InvalidName, error.to_string())
        })
    }
}

/// The address that a path ends in, or is about.
pub(super) struct Addressed(pub(super) ContentAddress);

impl<S: Send + Sync> FromRequestParts<S> for Addressed {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let (address,) = texts::<(String,), S>(parts, state).await?;
        address.parse().map(Self).map_err(|error: skillpkg_schema::address::AddressError| {
            Refusal::new(Code::InvalidAddress, error.to_string())
        })
    }
}

/// The id that a path ends in, as text.
pub(super) struct Identified(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Identified {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let (id,) = texts::<(String,), S>(parts, state).await?;
        Ok(Self(id))
    }
}

/// The query of a request.
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let query = AxumQuery::<T>::from_request_parts(parts, state).await;
        query
            .map(|AxumQuery(query)| Self(query))
            .map_err(|error| Refusal::new(Code::InvalidRequest, escape(&error.body_text())))
    }
}

/// A JSON document: taken from a body, or answered with.
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Answer<Self> {
        read(&body(request, state).await?).map(Self)
    }
}

/// A JSON document of a body that may be empty.
pub(super) struct OptionalJson<T>(pub(super) Option<T>);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for OptionalJson<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Answer<Self> {
        let body = body(request, state).await?;
        if body.is_empty() { Ok(Self(None)) } else { read(&body).map(Self) }
    }
}

async fn body<S: Send + Sync>(request: Request, state: &S) -> Answer<Bytes> {
    Bytes::from_request(request, state).await.map_err(|error| {
        let code = match error.status() {
            axum::http::StatusCode::PAYLOAD_TOO_LARGE => Code::TooLarge,
            _ => Code::InvalidRequest,
        };
        Refusal::new(code, escape(&error.body_text()))
    })
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Answer<T> {
    // The parser bounds its own depth, and the body its length.
    serde_json::from_slice(body).map_err(|error| {
        let detail = format!("the body is not the JSON that is read here: {error}");
        Refusal::new(Code::InvalidRequest, escape(&detail))
    })
}

impl<T: Serialize> IntoResponse for Json<T> {
    /// Whatever is answered so is about the caller's own things, or depends on what it may read.
    fn into_response(self) -> Response {
        let body = match serde_json::to_vec(&self.0) {
            Ok(body) => body,
            Err(error) => return Refusal::internal(&error).into_response(),
        };
        private_json(axum::body::Body::from(body))
    }
}

/// A JSON answer that no shared cache may keep.
pub(super) fn private_json(body: axum::body::Body) -> Response {
    use axum::http::{HeaderValue, header};
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    headers.insert(header::VARY, HeaderValue::from_static("authorization"));
    response
}
