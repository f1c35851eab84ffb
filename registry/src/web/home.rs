//! The first page: search, and what was published last.

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::SearchHit;

use super::answer::{Page, for_one};
use super::asked::Asked;
use super::digest::Digest;
use super::frame::{Frame, render};
use super::link;
use super::skill::day;
use super::text::{Text, number};
use super::visitor::Visitor;
use crate::problem::{Answer, Refusal};
use crate::search::search;
use crate::state::Registry;

/// Skills on one page.
const ON_PAGE: u32 = 20;
/// Publishes that the first page lists.
const NEWS: i64 = 9;
/// Most capabilities that are named of a skill found.
const MOST_NAMED: usize = 6;

/// What is searched for.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Wanted {
    q: Option<String>,
    #[serde(default)]
    from: u32,
}

/// A skill in a list.
#[derive(Debug, Clone)]
pub(super) struct SkillRow {
    pub(super) scope: Option<String>,
    pub(super) bare: String,
    pub(super) link: String,
    pub(super) version: String,
    pub(super) description: Text,
    pub(super) capabilities: Vec<Text>,
    pub(super) more: usize,
}

impl SkillRow {
    pub(super) fn new(name: &QualifiedName, version: String, description: &str) -> Self {
        Self {
            scope: name.scope().map(ToString::to_string),
            bare: name.name().to_string(),
            link: link::skill(name),
            version,
            description: bounded(description).into(),
            capabilities: Vec::new(),
            more: 0,
        }
    }

    fn found(hit: &SearchHit) -> Self {
        let named = hit.capabilities.iter().take(MOST_NAMED).map(|name| name.as_str().into());
        Self {
            capabilities: named.collect(),
            more: hit.capabilities.len().saturating_sub(MOST_NAMED),
            ..Self::new(&hit.name, hit.version.to_string(), &hit.description)
        }
    }
}

/// As much of a description as a list shows.
fn bounded(text: &str) -> String {
    const MOST: usize = 220;
    let mut start: String = text.chars().take(MOST).collect();
    if start.len() < text.len() {
        start.push('\u{2026}');
    }
    start
}

/// A version that was published.
#[derive(Debug, Clone)]
struct News {
    row: SkillRow,
    published: String,
    account: String,
    leaf: Option<(String, String)>,
}

#[derive(Template)]
#[template(path = "home.html")]
struct Home {
    frame: Frame,
    origin: Text,
    leaves: String,
    root: Digest,
    news: Vec<News>,
    skills: String,
}

#[derive(Template)]
#[template(path = "search.html")]
struct Results {
    frame: Frame,
    query: Text,
    total: String,
    found: Vec<SkillRow>,
    before: Option<String>,
    after: Option<String>,
}

/// The first page, or what is found.
pub(super) async fn home(
    State(registry): State<Registry>,
    visitor: Visitor,
    Asked(query): Asked<Wanted>,
    asked: HeaderMap,
) -> Answer<Response> {
    let html = match &query.q {
        Some(text) => results(&registry, &visitor, text, query.from).await?,
        None => first_page(&registry, &visitor).await?,
    };
    if visitor.is_anybody() {
        return Ok(Page::new(&registry.web.root, html)?.for_anybody(&asked));
    }
    Ok(for_one(&registry.web.root, axum::http::StatusCode::OK, html))
}

async fn results(registry: &Registry, visitor: &Visitor, text: &str, from: u32) -> Answer<String> {
    let answer = search(registry, &visitor.caller, text, ON_PAGE, from).await?;
    let total = answer.total;
    let next = from.saturating_add(ON_PAGE);
    let page = |from: u32| format!("/?q={}&from={from}", link::segment(text));
    render(&Results {
        frame: visitor.frame(format!("{text} · search")).searching(text).at(page(0)).unlisted(),
        query: text.into(),
        total: number(total),
        found: answer.skills.iter().map(SkillRow::found).collect(),
        before: (from > 0).then(|| page(from.saturating_sub(ON_PAGE))),
        after: (u64::from(next) < total).then(|| page(next)),
    })
}

async fn first_page(registry: &Registry, visitor: &Visitor) -> Answer<String> {
    let (size, root) = {
        let moment = registry.log.moment().await;
        (moment.size(), moment.checkpoint().root)
    };
    let everything = search(registry, &visitor.caller, "", 0, 0).await?;
    render(&Home {
        frame: Frame { has_search: false, ..visitor.frame("Skills") },
        origin: registry.log.origin().into(),
        leaves: number(size),
        root: (&root).into(),
        news: news(registry, visitor, size).await?,
        skills: number(everything.total),
    })
}

/// Scope, name, version, description, when, who, and the leaf.
type NewsRow = (String, String, String, String, String, String, Option<i64>);

/// What was published last, of what the visitor may see and a checkpoint covers.
async fn news(registry: &Registry, visitor: &Visitor, size: u64) -> Answer<Vec<News>> {
    let rows: Vec<NewsRow> = sqlx::query_as(
        "SELECT s.name, k.name, v.version, v.description, v.published, a.name, v.log_index
         FROM versions v JOIN skills k ON k.id = v.skill_id JOIN scopes s ON s.id = k.scope_id
         JOIN accounts a ON a.id = v.publisher_id
         WHERE (s.private = FALSE OR EXISTS (SELECT 1 FROM scope_members m
           WHERE m.scope_id = s.id AND m.account_id = $1))
         AND v.version = k.current_version AND (v.log_index IS NULL OR v.log_index < $2)
         ORDER BY v.id DESC LIMIT $3",
    )
    .bind(visitor.caller.reader())
    .bind(i64::try_from(size).unwrap_or(i64::MAX))
    .bind(NEWS)
    .fetch_all(registry.data.database.readers())
    .await?;
    let news =
        rows.into_iter().map(|(scope, name, version, description, published, who, index)| {
            let name = QualifiedName::from_wire(&scope, &name)
                .map_err(|error| Refusal::internal(&error))?;
            let index = index.map(i64::unsigned_abs);
            Ok(News {
                row: SkillRow::new(&name, version, &description),
                published: day(&published),
                account: who,
                leaf: index.map(|index| (number(index), link::leaf(index))),
            })
        });
    news.collect()
}
