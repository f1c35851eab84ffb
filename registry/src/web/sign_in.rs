//! Signing in with a token, for what members alone may see, and out again.

use askama::Template;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde::Deserialize;

use super::answer::{for_one, see};
use super::asked::Asked;
use super::errors;
use super::forms::Form;
use super::frame::{Frame, render};
use super::session::Cookie;
use crate::accounts::tokens;
use crate::grant::Grant;
use crate::problem::Answer;
use crate::random;
use crate::state::Registry;

/// Longest text that can be a token.
const LONGEST_TOKEN: usize = 128;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Wanted {
    /// The page to go to afterwards.
    #[serde(default)]
    to: String,
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignIn<'a> {
    frame: Frame,
    form_token: String,
    to: &'a str,
    refused: Option<&'static str>,
}

/// The form.
pub(super) async fn form(
    State(registry): State<Registry>,
    Asked(Wanted { to }): Asked<Wanted>,
    headers: HeaderMap,
) -> Answer<Response> {
    answer(&registry, &headers, within(&to), None)
}

fn answer(
    registry: &Registry,
    headers: &HeaderMap,
    to: &str,
    refused: Option<&'static str>,
) -> Answer<Response> {
    let sessions = &registry.web.sessions;
    let known = sessions.cookie(headers, Cookie::Visit).map(str::to_owned);
    let value = match &known {
        Some(value) => value.clone(),
        None => random::hex::<32>()?,
    };
    let form_token = sessions.form_token(&value)?;
    let frame = Frame::new("Sign in".into(), None).unlisted();
    let status = if refused.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK };
    let mut response =
        for_one(&registry.web.root, status, render(&SignIn { frame, form_token, to, refused })?);
    if known.is_none() {
        let cookie = sessions.set(Cookie::Visit, Some(&value))?;
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Begins a session.
///
/// Its cookie is a new one, whatever the browser came with: nobody can have set it before (session
/// fixation).
pub(super) async fn sign_in(
    State(registry): State<Registry>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer<Response> {
    let form = match Form::read(&registry, &headers, &body, Cookie::Visit)? {
        Ok(form) => form,
        Err(told) => return errors::form(&registry, told),
    };
    let (to, secret) = (within(form.field("to")), form.field("token").trim());
    let is_one = secret.starts_with(tokens::PREFIX) && secret.len() <= LONGEST_TOKEN;
    let hash = tokens::hash(secret);
    let found = if is_one { registry.authenticator.credential(hash.clone()).await? } else { None };
    let Some(credential) = found else {
        let refused = "This token is not known here, is revoked or has expired.";
        return answer(&registry, &headers, to, Some(refused));
    };
    if !credential.grants.contains(&Grant::Read) {
        let refused = "This token does not grant `read`, so there is nothing that it could show.";
        return answer(&registry, &headers, to, Some(refused));
    }
    let sessions = &registry.web.sessions;
    sessions.end(&headers);
    let value = sessions.begin(hash, credential.account_id)?;
    let mut response = see(&registry.web.root, to);
    let set = response.headers_mut();
    set.append(header::SET_COOKIE, sessions.set(Cookie::Session, Some(&value))?);
    set.append(header::SET_COOKIE, sessions.set(Cookie::Visit, None)?);
    Ok(response)
}

/// Ends the session.
pub(super) async fn sign_out(
    State(registry): State<Registry>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer<Response> {
    if let Err(told) = Form::read(&registry, &headers, &body, Cookie::Session)? {
        return errors::form(&registry, told);
    }
    let sessions = &registry.web.sessions;
    sessions.end(&headers);
    let mut response = see(&registry.web.root, "/");
    let ended = sessions.set(Cookie::Session, None)?;
    response.headers_mut().append(header::SET_COOKIE, ended);
    Ok(response)
}

/// A page of this registry to go to; the first one in the place of anything else (open redirect).
///
/// What is no plain path of a page is not gone to: `//host`, `/\host`, a scheme, a line end.
fn within(to: &str) -> &str {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/%?=&+".contains(&byte);
    let is_page = ["/skills/", "/scopes/", "/people/", "/log", "/?q="]
        .iter()
        .any(|start| to.starts_with(start));
    let is_fine = is_page && to.len() <= 1_024 && to.bytes().all(is_plain) && !to.contains("//");
    if is_fine { to } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_a_page_of_this_registry_is_gone_to() {
        for to in ["/skills/acme/pdf", "/log", "/?q=a%20b", "/skills/_/a/1.0.0/files/a.md?from=1"] {
            assert_eq!(within(to), to);
        }
        for to in [
            "",
            "https://evil.example/",
            "//evil.example",
            "/\\evil.example",
            "/skills//evil.example",
            "/skills/\\evil.example",
            "/skills/\r\nset-cookie: a=b",
            "/sign-out",
            "/v1/keys",
            "javascript:alert(1)",
            " /skills/a",
        ] {
            assert_eq!(within(to), "/", "{to:?}");
        }
    }
}
