//! How a page is answered with: its headers, and who may keep it.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use skillpkg_schema::Sha256Digest;

use super::root::Root;
use crate::documents::etag;
use crate::problem::Answer;
use crate::routes::content::none_match;

/// What the answer is marked with that is a page, whatever its status.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IsPage;

/// What a page may load and do: its own style, script, font and pictures, and forms to this registry.
///
/// No script stands in a page, none makes markup of text, and none asks for anything.
const POLICY: &str = "default-src 'none'; base-uri 'none'; font-src 'self'; form-action 'self'; \
                      frame-ancestors 'none'; img-src 'self'; script-src 'self'; style-src 'self'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// A page that is ready.
#[derive(Debug, Clone)]
pub(super) struct Page {
    pub(super) html: Bytes,
    etag: HeaderValue,
}

impl Page {
    /// A page of this HTML.
    pub(super) fn new(root: &Root, html: String) -> Answer<Self> {
        let html = root.page(html);
        let digest = Sha256Digest::of(html.as_bytes()).to_string();
        let etag = etag(digest.get(..32).unwrap_or(&digest))?;
        Ok(Self { html: html.into(), etag })
    }

    /// The answer to whoever is nobody in particular: any cache may keep it, and asks each time.
    pub(super) fn for_anybody(&self, asked: &HeaderMap) -> Response {
        let mut response = page(StatusCode::OK, Body::empty());
        let headers = response.headers_mut();
        headers.insert(header::ETAG, self.etag.clone());
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, no-cache"));
        if none_match(asked, &self.etag) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            *response.body_mut() = Body::from(self.html.clone());
        }
        response
    }
}

/// The answer to somebody alone: no cache keeps it.
pub(super) fn for_one(root: &Root, status: StatusCode, html: String) -> Response {
    page(status, Body::from(root.page(html)))
}

/// Sends the browser to another page of this registry.
pub(super) fn see(root: &Root, path: &str) -> Response {
    let mut response = page(StatusCode::SEE_OTHER, Body::empty());
    if let Ok(path) = HeaderValue::try_from(root.path(path)) {
        response.headers_mut().insert(header::LOCATION, path);
    }
    response
}

fn page(status: StatusCode, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.extensions_mut().insert(IsPage);
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    // Whoever is signed in sees more.
    headers.insert(header::VARY, HeaderValue::from_static("cookie"));
    response
}

/// Gives a page the headers that browsers obey, beside those that every answer has.
pub(crate) fn protect(headers: &mut HeaderMap) {
    const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
    const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // Nothing is told to other sites. With `no-referrer` a browser would not say either that a form
    // comes from here: its `Origin` would be `null`.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(OPENER, HeaderValue::from_static("same-origin"));
    headers.insert(RESOURCE, HeaderValue::from_static("same-origin"));
}
