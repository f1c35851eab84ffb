//! What stands around every route: who calls, and what every answer carries.

use std::any::Any;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::limits::MAX_ARCHIVE_BYTES;

use super::lingering::Lingering;
use super::{faces, relayed};
use crate::access::{self, Decision, Need, Row, Surface};
use crate::auth::Caller;
use crate::faces::Face;
use crate::metrics::Routed;
use crate::problem::{Answer, Cause, Code, PROBLEM_MEDIA_TYPE, Refusal};
use crate::random;
use crate::rates::Peer;
use crate::state::Registry;
use crate::web::{self, IsPage};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// How much of the body of a stranger's request is still read once it is answered.
const STRANGERS_BYTES: u64 = 8 * 1024 * 1024;
/// For how long.
const STRANGERS_TIME: Duration = Duration::from_secs(5);
/// How much of that of an account's.
const ACCOUNTS_BYTES: u64 = MAX_ARCHIVE_BYTES;
/// For how long.
const ACCOUNTS_TIME: Duration = Duration::from_secs(20);

/// Finds the row of the route, and who calls; lets nobody through to a route without a row.
pub(super) async fn authorise(
    State(registry): State<Registry>,
    path: MatchedPath,
    mut request: Request,
    next: Next,
) -> Response {
    let Some((place, row)) = access::place_of(request.method(), path.as_str()) else {
        return no_row(path.as_str());
    };
    let peer = request.extensions().get::<Peer>().copied();
    let admitted = match relayed::check_hops(&registry, &mut request) {
        Ok(()) => admit(&registry, row, peer, request.uri().path(), request.headers()).await,
        Err(refusal) => Err(refusal),
    };
    match admitted {
        Ok(caller) => {
            if matches!(caller, Caller::Account(_)) {
                request = Lingering::around(request, ACCOUNTS_BYTES, ACCOUNTS_TIME);
            }
            request.extensions_mut().insert(caller);
            request.extensions_mut().insert(row.need);
            routed(place, next.run(request).await)
        }
        Err(refusal) => routed(place, refusal.into_response()),
    }
}

/// Notes of which row an answer is.
fn routed(place: usize, mut response: Response) -> Response {
    response.extensions_mut().insert(Routed(place));
    response
}

async fn admit(
    registry: &Registry,
    row: &Row,
    peer: Option<Peer>,
    path: &str,
    headers: &HeaderMap,
) -> Answer<Caller> {
    let need = row.need;
    let caller = match (need, row.surface) {
        (Need::Nothing, _) => Ok(Caller::Anonymous),
        (Need::ReadByPath, _) => registry.authenticator.bearer(token_of(path)).await,
        (_, Surface::Page) => web::caller(registry, headers).await,
        (_, Surface::Api) => registry.authenticator.caller(headers, row.takes_passwords()).await,
    };
    let caller = match caller {
        Err(refusal) if refusal.code() == Code::Unavailable && row.reads_memory() => {
            Ok(Caller::Unchecked)
        }
        caller => caller,
    };
    if let Some(address) = registry.rates.client(peer, headers) {
        match &caller {
            Ok(Caller::Account(credential)) => {
                registry.rates.account(credential.account_id, row.changes())?;
            }
            // Who guesses tokens is counted as who has none.
            Ok(Caller::Anonymous | Caller::Unchecked) | Err(_) => {
                registry.rates.anonymous(address)?;
            }
        }
    }
    let caller = caller?;
    match access::decide_unseen(need, &caller, None) {
        Decision::Unauthorized => {
            Err(Refusal::unauthorized("this needs a token: send `Authorization: Bearer skp_…`"))
        }
        Decision::LacksGrant => {
            let grant = match need {
                Need::Publish | Need::PublishSome => "publish:…",
                Need::Yank => "yank:…",
                Need::ReadByPath => {
                    let detail = "a token in a path is written into files that people share: this \
                                  takes one that grants `read` and nothing else";
                    return Err(Refusal::new(Code::TokenLacksGrant, detail));
                }
                _ => "admin",
            };
            let detail = format!("this needs a token that grants `{grant}`");
            Err(Refusal::new(Code::TokenLacksGrant, detail))
        }
        _ => Ok(caller),
    }
}

/// The token in a path such as `/t/TOKEN/s/…`, as it stands there: one has no character that is
/// written otherwise.
fn token_of(path: &str) -> &str {
    path.split('/').nth(2).unwrap_or_default()
}

/// A path as it may be noted: a token in it is not.
fn noted(path: &str) -> String {
    match path.strip_prefix("/t/").map(|rest| rest.split_once('/')) {
        Some(Some((_, rest))) => format!("/t/…/{}", escape(rest)),
        Some(None) => "/t/…".to_owned(),
        None => escape(path),
    }
}

fn no_row(path: &str) -> Response {
    let methods: Vec<String> =
        access::methods_of(path).iter().map(|method| Method::as_str(method).to_owned()).collect();
    if methods.is_empty() {
        return Refusal::not_found().into_response();
    }
    let allow = methods.join(", ");
    let detail = format!("this path takes {allow}");
    let mut response = Refusal::new(Code::MethodNotAllowed, detail).into_response();
    if let Ok(allow) = HeaderValue::try_from(allow) {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    response
}

/// Gives every answer its request id and the headers that browsers obey, turns what layers refuse
/// into problem documents, and notes the request where that is asked for.
///
/// Neither `Authorization` nor a query is ever noted.
pub(super) async fn dress(
    State(registry): State<Registry>,
    request: Request,
    next: Next,
) -> Response {
    let start = Instant::now();
    let id = request_id();
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let face = Face::of_path(uri.path()).filter(|face| registry.options.faces.is_on(*face));
    let browses = web::browses(&method, uri.path(), request.headers());
    let request = Lingering::around(request, STRANGERS_BYTES, STRANGERS_TIME);
    let mut response = as_problem(next.run(request).await);
    let routed = response.extensions().get::<Routed>();
    let row = routed.and_then(|Routed(place)| access::TABLE.get(*place));
    if face == Some(Face::ClawHub) {
        response = faces::plain(response);
    } else if row.map_or(browses && face.is_none(), |row| row.surface == Surface::Page) {
        response = web::refused(&registry, response, &id);
    }
    let status = response.status();
    let note = || (noted(uri.path()), status.as_u16(), start.elapsed());
    if status.is_server_error() {
        let (path, status, elapsed) = note();
        let cause = response.extensions_mut().remove().map_or_else(String::new, |Cause(text)| text);
        tracing::warn!(id, %method, path, status, ?elapsed, cause, "failed");
    } else if tracing::enabled!(tracing::Level::DEBUG) {
        let (path, status, elapsed) = note();
        tracing::debug!(id, %method, path, status, ?elapsed, "answered");
    }
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::try_from(id) {
        headers.insert(REQUEST_ID, id);
    }
    let common =
        [(header::X_CONTENT_TYPE_OPTIONS, "nosniff"), (header::REFERRER_POLICY, "no-referrer")];
    for (name, value) in common {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if response.extensions().get::<IsPage>().is_some() {
        web::protect(response.headers_mut());
    } else {
        let policy = "default-src 'none'; frame-ancestors 'none'; sandbox";
        let policy = HeaderValue::from_static(policy);
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    registry.metrics.answered(response)
}

/// An id that no other request of this process has, and most likely none of another.
fn request_id() -> String {
    static FIRST: LazyLock<u64> = LazyLock::new(|| {
        let digits = random::hex::<8>().unwrap_or_default();
        u64::from_str_radix(&digits, 16).unwrap_or_default()
    });
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{:016x}", FIRST.wrapping_add(count))
}

/// A refusal in place of an error that a layer, and no handler, has answered.
fn as_problem(response: Response) -> Response {
    let status = response.status();
    let is_problem = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes() == PROBLEM_MEDIA_TYPE.as_bytes());
    let is_foreign = response.extensions().get::<faces::Foreign>().is_some();
    let is_page = response.extensions().get::<IsPage>().is_some();
    let is_failure = status.is_client_error() || status.is_server_error();
    if is_problem || is_foreign || is_page || !is_failure {
        return response;
    }
    let allow = response.headers().get(header::ALLOW).cloned();
    let row = response.extensions().get::<Routed>().copied();
    let refusal = match status {
        StatusCode::NOT_FOUND => Refusal::not_found(),
        StatusCode::METHOD_NOT_ALLOWED => {
            Refusal::new(Code::MethodNotAllowed, "this path does not take this method")
        }
        StatusCode::PAYLOAD_TOO_LARGE => {
            Refusal::new(Code::TooLarge, "the body is longer than what is read here")
        }
        StatusCode::REQUEST_TIMEOUT => {
            Refusal::new(Code::Timeout, "the request was not complete in time")
        }
        status if status.is_client_error() => {
            Refusal::new(Code::InvalidRequest, "the request cannot be read")
        }
        status => Refusal::internal(&format!("a layer answered {status}")),
    };
    let mut response = refusal.into_response();
    if let Some(allow) = allow {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    if let Some(row) = row {
        response.extensions_mut().insert(row);
    }
    response
}

/// The answer where a handler panicked: a fault of the registry's own.
#[expect(clippy::needless_pass_by_value, reason = "the layer calls it so")]
pub(super) fn panicked(reason: Box<dyn Any + Send>) -> Response {
    let reason = reason
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| reason.downcast_ref::<&str>().copied())
        .unwrap_or("no reason given");
    Refusal::internal(&format!("a handler panicked: {reason}")).into_response()
}
