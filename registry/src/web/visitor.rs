//! Who looks at a page, and from where.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;

use super::frame::{Frame, Signed};
use super::session::Cookie;
use super::text::Text;
use crate::auth::Caller;
use crate::problem::{Answer, Refusal};
use crate::routes::place;
use crate::state::Registry;

/// Who looks at a page, and from where.
#[derive(Debug, Clone)]
pub(super) struct Visitor {
    /// Whose session it is.
    pub(super) caller: Caller,
    /// Where the registry is reached, without a `/` behind.
    pub(super) base: String,
    /// What the forms of a session carry.
    form_token: Option<String>,
}

impl FromRequestParts<Registry> for Visitor {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, registry: &Registry) -> Answer<Self> {
        let caller = Caller::from_request_parts(parts, registry).await?;
        let sessions = &registry.web.sessions;
        let cookie = sessions.cookie(&parts.headers, Cookie::Session);
        let form_token = match (&caller, cookie) {
            (Caller::Account(_), Some(cookie)) => Some(sessions.form_token(cookie)?),
            _ => None,
        };
        Ok(Self { caller, base: base(registry, &parts.headers), form_token })
    }
}

impl Visitor {
    /// Whether it is nobody in particular: what it sees everybody sees.
    pub(super) fn is_anybody(&self) -> bool {
        self.caller.credential().is_none()
    }

    /// What stands around a page of this title.
    pub(super) fn frame(&self, title: impl Into<Text>) -> Frame {
        let account = self.caller.credential().map(|credential| credential.account.clone());
        let signed = account.zip(self.form_token.clone());
        let signed = signed.map(|(account, form_token)| Signed { account, form_token });
        Frame::new(title.into(), signed)
    }
}

/// Where the pages of this registry come from, as a browser names it in `Origin`.
pub(super) fn origin(registry: &Registry, headers: &HeaderMap) -> String {
    match &registry.options.faces.public_url {
        Some(url) => url.origin().ascii_serialization(),
        None => base(registry, headers),
    }
}

/// Where the registry is reached.
pub(super) fn base(registry: &Registry, headers: &HeaderMap) -> String {
    place::base(registry, headers).unwrap_or_else(|| "http://localhost".to_owned())
}
