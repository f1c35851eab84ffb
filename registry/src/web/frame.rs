//! What stands around every page.

use std::borrow::Cow;

use askama::Template;

use super::assets::{self, Paths};
use super::text::Text;
use crate::problem::{Answer, Refusal};

/// Whoever is signed in.
#[derive(Debug, Clone)]
pub(super) struct Signed {
    /// The account.
    pub(super) account: String,
    /// What the forms of its session carry.
    pub(super) form_token: String,
}

/// What stands around a page.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// The page's title.
    pub(super) title: Text,
    /// Whoever is signed in.
    pub(super) signed: Option<Signed>,
    /// What is searched for.
    pub(super) query: Text,
    /// Whether the search stands at the top: not where the page itself is one.
    pub(super) has_search: bool,
    /// Where to come back to after signing in.
    pub(super) path: Cow<'static, str>,
    /// Whether the page's address is to be kept by search engines.
    pub(super) is_listed: bool,
    /// What the page loads.
    pub(super) assets: &'static Paths,
}

impl Frame {
    /// What stands around a page of this title.
    pub(super) fn new(title: Text, signed: Option<Signed>) -> Self {
        let (query, path) = (Text::from(""), Cow::Borrowed(""));
        let (is_listed, has_search) = (true, true);
        Self { title, signed, query, has_search, path, is_listed, assets: assets::paths() }
    }

    /// With where to come back to after signing in.
    pub(super) fn at(mut self, path: impl Into<Cow<'static, str>>) -> Self {
        self.path = path.into();
        self
    }

    /// With what is searched for.
    pub(super) fn searching(mut self, query: &str) -> Self {
        self.query = query.into();
        self
    }

    /// Not to be kept by search engines.
    pub(super) fn unlisted(mut self) -> Self {
        self.is_listed = false;
        self
    }
}

/// Renders a page; that fails by a fault of this program alone.
pub(super) fn render(page: &impl Template) -> Answer<String> {
    page.render().map_err(|error| Refusal::internal(&error))
}
