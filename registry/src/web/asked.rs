//! The query of a page.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

/// What a query asks for; where it cannot be read, what is shown without one.
pub(super) struct Asked<T>(pub(super) T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let query = Query::<T>::try_from_uri(&parts.uri);
        Ok(Self(query.map(|Query(query)| query).unwrap_or_default()))
    }
}
