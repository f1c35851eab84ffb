//! The pages: what a person sees of the registry with a browser.
//!
//! They are rendered here and need no script to be read. Everything that comes from outside goes
//! through `text::Text`, which is inert in every place of a page and shows what is invisible; the
//! prose of a skill goes through `prose`. A browser's credential is the cookie of a session that was
//! begun with a token, and counts on these routes alone. What one may not see answers as what is not
//! there, as everywhere.

mod answer;
mod asked;
mod assets;
mod cache;
mod content;
mod difference;
mod digest;
mod errors;
mod files;
mod findings;
mod forms;
mod frame;
mod home;
mod install;
mod link;
mod log;
mod people;
mod place;
mod prose;
mod root;
mod scopes;
mod session;
mod sign_in;
mod skill;
mod text;
mod visitor;

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::{get, post};
use url::Url;

pub(crate) use answer::{IsPage, protect};
pub(crate) use errors::{browses, refused};

use self::cache::Pages;
use self::root::Root;
use self::session::Sessions;
use crate::auth::Caller;
use crate::problem::Answer;
use crate::state::Registry;

/// Most bytes of a form: a token and where to go with it.
pub(crate) const MAX_FORM_BYTES: usize = 4 * 1024;

/// What pages remember between requests.
#[derive(Debug)]
pub struct Web {
    /// Who is signed in.
    sessions: Sessions,
    /// Pages that are ready.
    pages: Pages,
    /// Where they are beneath their host.
    root: Root,
}

impl Web {
    /// Nobody is signed in, and nothing is ready; `public_url` is where browsers reach the registry,
    /// where that was said.
    pub(crate) fn new(public_url: Option<&Url>) -> Self {
        let encrypted = public_url.is_some_and(|url| url.scheme() == "https");
        let root = Root::of(public_url);
        let sessions = Sessions::new(encrypted, root.clone());
        Self { sessions, pages: Pages::new(root.clone()), root }
    }
}

/// Every page.
pub(crate) fn router() -> Router<Registry> {
    Router::new()
        .route("/", get(home::home))
        .route("/skills/{scope}/{name}", get(skill::newest))
        .route("/skills/{scope}/{name}/versions", get(skill::versions))
        .route("/skills/{scope}/{name}/diff", get(difference::choose))
        .route("/skills/{scope}/{name}/diff/{from}/{to}", get(difference::show))
        .route("/skills/{scope}/{name}/{version}", get(skill::version))
        .route("/skills/{scope}/{name}/{version}/runs", get(skill::runs))
        .route("/skills/{scope}/{name}/{version}/files", get(files::list))
        .route("/skills/{scope}/{name}/{version}/files/{*path}", get(files::file))
        .route("/scopes/{scope}", get(scopes::scope))
        .route("/people/{account}", get(people::person))
        .route("/log", get(log::log))
        .route("/log/entries/{index}", get(log::entry))
        .route("/sign-in", get(sign_in::form).post(sign_in::sign_in))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/static/{name}", get(assets::asset))
}

/// Who browses: the account of the session whose cookie came, else nobody in particular.
///
/// A cookie that is over is none. `Authorization` is not read: it is no credential of a page.
pub(crate) async fn caller(registry: &Registry, headers: &HeaderMap) -> Answer<Caller> {
    let Some(token) = registry.web.sessions.token(headers) else { return Ok(Caller::Anonymous) };
    let credential = registry.authenticator.credential(token).await?;
    Ok(credential.map_or(Caller::Anonymous, Caller::Account))
}
