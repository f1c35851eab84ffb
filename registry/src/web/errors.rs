//! What is refused, as a page that says what to do.

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use skillpkg_schema::wire::Problem;

use super::answer::{IsPage, for_one};
use super::frame::{Frame, render};
use super::text::Text;
use crate::problem::{Answer, Told};
use crate::state::Registry;

#[derive(Template)]
#[template(path = "error.html")]
struct Refused<'a> {
    frame: Frame,
    status: u16,
    heading: Text,
    told: Text,
    /// Seconds after which to come again.
    after: Option<&'a str>,
    /// What whoever runs the registry finds it by.
    id: Option<&'a str>,
    /// Whether signing in may help.
    may_sign_in: bool,
}

/// Whether a request for what is not routed comes from somebody with a browser.
pub(crate) fn browses(method: &Method, path: &str, headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    (*method == Method::GET || *method == Method::HEAD)
        && !path.starts_with("/v1/")
        && accepts.is_some_and(|accept| accept.contains("text/html"))
}

/// A page in the place of a refusal; what is none stays as it is.
pub(crate) fn refused(registry: &Registry, mut response: Response, id: &str) -> Response {
    if response.extensions().get::<IsPage>().is_some() {
        return response;
    }
    let Some(Told(told)) = response.extensions_mut().remove() else { return response };
    let status = response.status();
    let after = response.headers().get(header::RETRY_AFTER).cloned();
    let after_text = after.as_ref().and_then(|after| after.to_str().ok());
    let (heading, detail) = words(status, &told);
    let refused = Refused {
        frame: Frame::new(heading.clone(), None).unlisted(),
        status: status.as_u16(),
        heading: heading.clone(),
        told: detail,
        after: after_text,
        id: status.is_server_error().then_some(id),
        may_sign_in: status == StatusCode::NOT_FOUND,
    };
    // The templates are compiled in; where one fails all the same, its words are said without it.
    let html = refused.render().unwrap_or_else(|_| heading.to_string());
    let mut page = for_one(&registry.web.root, status, html);
    for name in [header::RETRY_AFTER, header::ALLOW] {
        if let Some(value) = response.headers().get(&name) {
            page.headers_mut().insert(name, value.clone());
        }
    }
    page.headers_mut().insert(header::VARY, HeaderValue::from_static("accept, cookie"));
    let extensions = std::mem::take(response.extensions_mut());
    page.extensions_mut().extend(extensions);
    drop(std::mem::replace(response.body_mut(), Body::empty()));
    page
}

/// The page in the place of what a form would have done.
pub(super) fn form(registry: &Registry, told: &'static str) -> Answer<Response> {
    let heading = "The form is refused";
    let refused = Refused {
        frame: Frame::new(heading.into(), None).unlisted(),
        status: StatusCode::FORBIDDEN.as_u16(),
        heading: heading.into(),
        told: told.into(),
        after: None,
        id: None,
        may_sign_in: true,
    };
    Ok(for_one(&registry.web.root, StatusCode::FORBIDDEN, render(&refused)?))
}

/// The heading, and what is said beneath it.
fn words(status: StatusCode, told: &Problem) -> (Text, Text) {
    let (heading, detail) = match status {
        StatusCode::NOT_FOUND => (
            "Nothing here",
            "There is nothing at this address that you may see. It may be spelled otherwise, or be \
             for members of its scope.",
        ),
        StatusCode::TOO_MANY_REQUESTS => {
            ("Too many requests", "This address asks for more than one may within a minute.")
        }
        StatusCode::INTERNAL_SERVER_ERROR => (
            "The registry failed",
            "Nothing was changed by this. Whoever runs the registry finds why in its log.",
        ),
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE => (
            "Not now",
            "The registry, or what it gets this from, cannot answer now. It goes on by itself.",
        ),
        _ => return (told.title.as_str().into(), told.detail.as_str().into()),
    };
    (heading.into(), detail.into())
}
