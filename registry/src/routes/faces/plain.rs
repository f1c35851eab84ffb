//! Errors for a client that prints the body of one as it is.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use skillpkg_schema::wire::Problem;

use crate::problem::{Code, Told};

/// The code of the problem that a plain text tells.
const CODE: HeaderName = HeaderName::from_static("skillpkg-code");

/// Marks an error whose body is another protocol's, and is left as it is.
#[derive(Debug, Clone, Copy)]
pub(in crate::routes) struct Foreign;

/// Tells a problem as plain text, under the same status and headers.
///
/// `ClawHub`'s client knows a name that is free by the words `Skill not found`.
pub(in crate::routes) fn plain(mut response: Response) -> Response {
    let Some(Told(problem)) = response.extensions_mut().remove::<Told>() else { return response };
    let text = text(&problem);
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, kind);
    if let Ok(code) = HeaderValue::try_from(problem.code) {
        headers.insert(CODE, code);
    }
    *response.body_mut() = Body::from(text);
    response
}

fn text(problem: &Problem) -> String {
    if problem.status == StatusCode::NOT_FOUND.as_u16() && problem.code == Code::NotFound.text() {
        return "Skill not found".to_owned();
    }
    let mut text = problem.detail.clone();
    if problem.faults.len() > 1 {
        for fault in &problem.faults {
            text.push('\n');
            text.push_str(&fault.to_string());
        }
    }
    text
}
