//! What a page's path names; whatever is no name is not there.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use skillpkg_schema::{QualifiedName, Version};

use crate::problem::{Answer, Refusal};

async fn texts<T: DeserializeOwned + Send, S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
) -> Answer<T> {
    let path = Path::<T>::from_request_parts(parts, state).await;
    path.map(|Path(texts)| texts).map_err(|_| Refusal::not_found())
}

fn named(scope: &str, name: &str) -> Answer<QualifiedName> {
    QualifiedName::from_wire(scope, name).map_err(|_| Refusal::not_found())
}

fn numbered(text: &str) -> Answer<Version> {
    text.parse().map_err(|_| Refusal::not_found())
}

/// A skill, `{scope}/{name}`.
pub(super) struct OfSkill(pub(super) QualifiedName);

/// A version, `{scope}/{name}/{version}`.
pub(super) struct OfVersion(pub(super) QualifiedName, pub(super) Version);

/// A file of a version, `{scope}/{name}/{version}/files/{*path}`.
pub(super) struct OfFile(pub(super) QualifiedName, pub(super) Version, pub(super) String);

/// The last part alone, as text.
pub(super) struct Last(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Last {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        texts::<String, S>(parts, state).await.map(Self)
    }
}

/// Two versions, `{scope}/{name}/diff/{from}/{to}`.
pub(super) struct OfTwo(pub(super) QualifiedName, pub(super) Version, pub(super) Version);

impl<S: Send + Sync> FromRequestParts<S> for OfSkill {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let (scope, name) = texts::<(String, String), S>(parts, state).await?;
        named(&scope, &name).map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for OfVersion {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let (scope, name, version) = texts::<(String, String, String), S>(parts, state).await?;
        Ok(Self(named(&scope, &name)?, numbered(&version)?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for OfFile {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let parts = texts::<(String, String, String, String), S>(parts, state).await?;
        let (scope, name, version, path) = parts;
        Ok(Self(named(&scope, &name)?, numbered(&version)?, path))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for OfTwo {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let parts = texts::<(String, String, String, String), S>(parts, state).await?;
        let (scope, name, from, to) = parts;
        Ok(Self(named(&scope, &name)?, numbered(&from)?, numbered(&to)?))
    }
}
