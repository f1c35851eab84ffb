//! Forms that come back from a browser: whose they are, and what is in them.

use std::collections::HashMap;

use axum::body::Bytes;
use axum::http::{HeaderMap, header};

use super::session::{Cookie, Sessions};
use super::visitor;
use crate::problem::Answer;
use crate::state::Registry;

/// The field that carries the form's token.
pub(super) const TOKEN: &str = "form";

/// What is said of a form that another site's page sent.
const OF_ANOTHER: &str = "It was sent by a page of another site. Open this registry's own page, and \
                          send it from there.";
/// What is said of a form that this browser was not given.
const STALE: &str = "It is an old one, or was not made for this browser. Open the page again, with \
                     cookies allowed, and send it from there.";

/// The fields of a form of this registry's own.
#[derive(Debug)]
pub(super) struct Form(HashMap<String, String>);

impl Form {
    /// Reads a form, which must come from a page of this registry and carry what that page gave to
    /// this very browser.
    ///
    /// A browser says by itself where a request comes from, and a page of somebody else's cannot
    /// change that (`Sec-Fetch-Site`, `Origin`); the token holds where it does not say so. What is
    /// refused answers with what to tell.
    pub(super) fn read(
        registry: &Registry,
        headers: &HeaderMap,
        body: &Bytes,
        cookie: Cookie,
    ) -> Answer<Result<Self, &'static str>> {
        if !is_from_here(registry, headers) {
            return Ok(Err(OF_ANOTHER));
        }
        let fields = url::form_urlencoded::parse(body).into_owned().collect();
        let form = Self(fields);
        let sessions: &Sessions = &registry.web.sessions;
        let Some(value) = sessions.cookie(headers, cookie) else { return Ok(Err(STALE)) };
        let expected = sessions.form_token(value)?;
        let is_ours = same(form.field(TOKEN).as_bytes(), expected.as_bytes());
        Ok(if is_ours { Ok(form) } else { Err(STALE) })
    }

    /// A field; empty where there is none.
    pub(super) fn field(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

/// Whether a request comes from a page of this registry, as far as the browser says.
fn is_from_here(registry: &Registry, headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    match (text("sec-fetch-site"), text(header::ORIGIN.as_str())) {
        (Some(site), _) if site != "same-origin" => false,
        (_, Some(origin)) => origin == visitor::origin(registry, headers),
        _ => true,
    }
}

/// Whether two texts are the same, in a time that does not tell where they differ.
fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_same_or_not() {
        assert!(same(b"abc", b"abc"));
        for other in [&b"abd"[..], b"ab", b"abcd", b""] {
            assert!(!same(b"abc", other));
        }
    }
}
