//! Answers with content: whole or a range of it, unless the caller has it.

use std::ops::Range;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use skillpkg_schema::ContentAddress;

use super::relayed::Passage;
use crate::auth::Caller;
use crate::blobs::Kind;
use crate::contents::Located;
use crate::documents::etag;
use crate::problem::{Answer, Refusal};
use crate::state::Registry;

/// Finds the content at an address that the caller may read: this registry's own, or on a mirror
/// upstream's.
pub(crate) async fn locate(
    registry: &Registry,
    caller: &Caller,
    passage: &Passage,
    kind: Kind,
    address: &ContentAddress,
) -> Answer<Located> {
    if let Some(located) = registry.contents.locate(caller, kind, address).await? {
        return Ok(located);
    }
    passage.content(registry, kind, address).await?.ok_or_else(Refusal::not_found)
}

/// Answers with located content as `media_type`.
///
/// Content at an address never changes: a cache may keep it for ever, a shared one only where
/// anybody may read it.
pub(super) async fn answer(
    registry: &Registry,
    located: &Located,
    media_type: &'static str,
    method: &Method,
    asked: &HeaderMap,
) -> Answer<Response> {
    let tag = etag(&located.digest.to_string())?;
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(header::ETAG, tag.clone());
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    caching(headers, !located.public, "public, max-age=31536000, immutable");
    if none_match(asked, &tag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    let range = wanted_range(asked, &tag, located.size)?;
    let length = range.as_ref().map_or(located.size, |range| range.end - range.start);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    if let Some(range) = &range {
        let text = format!("bytes {}-{}/{}", range.start, range.end - 1, located.size);
        let value = HeaderValue::try_from(text).map_err(|error| Refusal::internal(&error))?;
        headers.insert(header::CONTENT_RANGE, value);
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    if *method != Method::HEAD {
        *response.body_mut() = registry.contents.body(located, range).await?;
    }
    Ok(response)
}

/// Whether an answer holds the first byte: a download in several ranges is one.
pub(super) fn starts(answer: &Response) -> bool {
    let range = answer.headers().get(header::CONTENT_RANGE).map(HeaderValue::as_bytes);
    match answer.status() {
        StatusCode::OK => true,
        StatusCode::PARTIAL_CONTENT => range.is_some_and(|range| range.starts_with(b"bytes 0-")),
        _ => false,
    }
}

/// Says who may keep an answer: nobody between, where members alone may read it.
pub(super) fn caching(headers: &mut HeaderMap, private: bool, public: &'static str) {
    let control = if private { "private, no-store" } else { public };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(control));
    if private {
        headers.insert(header::VARY, HeaderValue::from_static("authorization"));
    }
}

/// Whether `If-None-Match` names the tag, compared weakly (RFC 9110, 13.1.2).
pub(crate) fn none_match(asked: &HeaderMap, tag: &HeaderValue) -> bool {
    let tag = tag.to_str().unwrap_or_default();
    let names = |value: &HeaderValue| {
        value.to_str().is_ok_and(|text| {
            text.split(',')
                .map(str::trim)
                .any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
        })
    };
    asked.get_all(header::IF_NONE_MATCH).iter().any(names)
}

/// The range to answer with; [`None`] for the whole, as also where more than one range is asked
/// for, the range cannot be read, or `If-Range` names another content (RFC 9110, 14.2).
fn wanted_range(asked: &HeaderMap, tag: &HeaderValue, size: u64) -> Answer<Option<Range<u64>>> {
    if asked.get(header::IF_RANGE).is_some_and(|value| value != tag) {
        return Ok(None);
    }
    let text = asked.get(header::RANGE).and_then(|value| value.to_str().ok());
    let Some((first, last)) = text
        .and_then(|text| text.strip_prefix("bytes="))
        .and_then(|range| range.trim().split_once('-'))
    else {
        return Ok(None);
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(first) || !digits(last) {
        return Ok(None);
    }
    let number = |text: &str| text.parse().unwrap_or(u64::MAX);
    let range = match (first, last) {
        ("", "") => return Ok(None),
        ("", last) => size.saturating_sub(number(last))..size,
        (first, "") => number(first)..size,
        (first, last) if number(first) > number(last) => return Ok(None),
        (first, last) => number(first)..number(last).saturating_add(1).min(size),
    };
    if range.start >= range.end {
        return Err(Refusal::range_not_satisfiable(size));
    }
    Ok(Some(range))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Code;

    fn range(text: &str, size: u64) -> Result<Option<Range<u64>>, Code> {
        let mut asked = HeaderMap::new();
        asked.insert(header::RANGE, HeaderValue::from_str(text).unwrap());
        let tag = HeaderValue::from_static("\"a\"");
        wanted_range(&asked, &tag, size).map_err(|refusal| refusal.code())
    }

    #[test]
    fn one_range_is_read_and_clipped() {
        for (text, expected) in [
            ("bytes=0-4", Ok(Some(0..5))),
            ("bytes=5-", Ok(Some(5..10))),
            ("bytes=-3", Ok(Some(7..10))),
            ("bytes=-30", Ok(Some(0..10))),
            ("bytes=9-99999999999999999999999", Ok(Some(9..10))),
            ("bytes=10-", Err(Code::RangeNotSatisfiable)),
            ("bytes=-0", Err(Code::RangeNotSatisfiable)),
            ("bytes=99999999999999999999999-", Err(Code::RangeNotSatisfiable)),
            ("bytes=4-2", Ok(None)),
            ("bytes=0-1,3-4", Ok(None)),
            ("bytes=-", Ok(None)),
            ("bytes=+1-2", Ok(None)),
            ("lines=0-1", Ok(None)),
        ] {
            assert_eq!(range(text, 10), expected, "{text}");
        }
        assert_eq!(range("bytes=0-", 0), Err(Code::RangeNotSatisfiable));
    }

    #[test]
    fn a_tag_is_matched_in_a_list_and_weakly() {
        let tag = HeaderValue::from_static("\"a\"");
        for (text, expected) in [
            ("\"a\"", true),
            ("W/\"a\"", true),
            ("\"b\", \"a\"", true),
            ("*", true),
            ("\"b\"", false),
        ] {
            let mut asked = HeaderMap::new();
            asked.insert(header::IF_NONE_MATCH, HeaderValue::from_str(text).unwrap());
            assert_eq!(none_match(&asked, &tag), expected, "{text}");
        }
    }
}
