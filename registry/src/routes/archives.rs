//! Archives as they were uploaded.

use axum::extract::State;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use skillpkg_schema::wire::{ARCHIVE_MEDIA_TYPE, Problem};
use skillpkg_schema::{Algorithm, ContentAddress, Sha256Digest};

use super::content;
use super::extract::Identified;
use super::relayed::Passage;
use crate::auth::Caller;
use crate::blobs::Kind;
use crate::problem::{Answer, Code, Refusal};
use crate::state::Registry;

/// An archive's bytes.
#[utoipa::path(
    method(get, head),
    path = "/v1/archives/{digest}",
    tag = "content",
    params((
        "digest" = String, Path,
        description = "The archive's SHA-256 as a document has it, with `sha256:` before it or without"
    )),
    responses(
        (status = 200, content_type = "application/vnd.skillpkg.archive+zstd", description = "The archive"),
        (status = 206, description = "The `Range` asked for"),
        (status = 304, description = "`If-None-Match` names its `ETag`"),
        (status = "4XX", body = Problem, content_type = "application/problem+json"),
    ),
    security((), ("token" = [])),
)]
pub(super) async fn get(
    State(registry): State<Registry>,
    caller: Caller,
    passage: Passage,
    Identified(digest): Identified,
    method: Method,
    asked: HeaderMap,
) -> Answer<Response> {
    let address = read_digest(&digest)?;
    let located = content::locate(&registry, &caller, &passage, Kind::Archive, &address).await?;
    let answer = content::answer(&registry, &located, ARCHIVE_MEDIA_TYPE, &method, &asked).await?;
    if method == Method::GET && content::starts(&answer) {
        registry.downloads.count(&located.digest);
    }
    Ok(answer)
}

fn read_digest(text: &str) -> Answer<ContentAddress> {
    let refused = |error: skillpkg_schema::address::AddressError| {
        Refusal::new(Code::InvalidAddress, error.to_string())
    };
    if !text.contains(':') {
        return Ok(text.parse::<Sha256Digest>().map_err(refused)?.address());
    }
    let address: ContentAddress = text.parse().map_err(refused)?;
    if address.algorithm() != Algorithm::Sha256 {
        let detail = "an archive is asked for by its SHA-256: `sha256:` and 64 hex digits";
        return Err(Refusal::new(Code::InvalidAddress, detail));
    }
    Ok(address)
}
