//! Style, script, font and mark: small files in the program itself.

use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::{Path, RawQuery};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use skillpkg_schema::Sha256Digest;

use crate::documents::etag;
use crate::problem::{Answer, Refusal};
use crate::routes::content::none_match;

macro_rules! asset {
    ($name:literal, $kind:literal) => {
        Asset {
            name: $name,
            kind: $kind,
            bytes: include_bytes!(concat!("../../static/", $name)),
            mark: LazyLock::new(|| mark_of(include_bytes!(concat!("../../static/", $name)))),
        }
    };
}

static STYLE: Asset = asset!("page.css", "text/css; charset=utf-8");
static SCRIPT: Asset = asset!("page.js", "text/javascript; charset=utf-8");
static THEME: Asset = asset!("theme.js", "text/javascript; charset=utf-8");
static FONT: Asset = asset!("mono.woff2", "font/woff2");
static MARK: Asset = asset!("mark.svg", "image/svg+xml");
static ALL: [&Asset; 5] = [&STYLE, &SCRIPT, &THEME, &FONT, &MARK];

struct Asset {
    name: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
    /// Of these bytes and no others.
    mark: LazyLock<String>,
}

fn mark_of(bytes: &[u8]) -> String {
    let mut digits = Sha256Digest::of(bytes).to_string();
    digits.truncate(16);
    digits
}

/// The path of an asset, another one for other bytes.
fn path(asset: &Asset) -> String {
    format!("/static/{}?{}", asset.name, *asset.mark)
}

/// Where pages find what they load.
#[derive(Debug)]
pub(super) struct Paths {
    /// The style.
    pub(super) style: String,
    /// What makes a page pleasant.
    pub(super) script: String,
    /// What sets the theme before anything is seen.
    pub(super) theme: String,
    /// The mark.
    pub(super) mark: String,
}

/// Where pages find what they load.
pub(super) fn paths() -> &'static Paths {
    static PATHS: LazyLock<Paths> = LazyLock::new(|| Paths {
        style: path(&STYLE),
        script: path(&SCRIPT),
        theme: path(&THEME),
        mark: path(&MARK),
    });
    &PATHS
}

/// An asset.
pub(super) async fn asset(
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    asked: HeaderMap,
) -> Answer<Response> {
    let found = ALL.into_iter().find(|asset| asset.name == name);
    let asset = found.ok_or_else(Refusal::not_found)?;
    let tag = etag(&asset.mark)?;
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    headers.insert(header::ETAG, tag.clone());
    // Under a path with its mark it never changes; without, as the style names the font, it may.
    let is_exact = query.as_deref() == Some(asset.mark.as_str());
    let control =
        if is_exact { "public, max-age=31536000, immutable" } else { "public, max-age=86400" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(control));
    if none_match(&asked, &tag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        *response.body_mut() = Body::from(asset.bytes);
    }
    Ok(response)
}
