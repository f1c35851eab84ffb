//! A person: what it publishes and the keys that it signs with.

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::{QualifiedName, SkillName};

use super::answer::{Page, for_one};
use super::digest::Digest;
use super::frame::{Frame, render};
use super::home::SkillRow;
use super::link;
use super::place::Last;
use super::skill::day;
use super::text::{Text, number};
use super::visitor::Visitor;
use crate::database::Truth;
use crate::documents::stored;
use crate::problem::{Answer, Refusal};
use crate::state::Registry;

/// Most skills that are listed.
const MOST_SKILLS: usize = 100;
/// Most keys that are listed.
const MOST_KEYS: i64 = 50;

/// A key of a person.
#[derive(Debug)]
struct Key {
    id: Digest,
    /// Whether the registry holds it, and signs with it for the account.
    is_held: bool,
    added: String,
    revoked: Option<String>,
    reason: Option<Text>,
    leaf: Option<(String, String)>,
}

#[derive(Template)]
#[template(path = "person.html")]
struct Person {
    frame: Frame,
    account: String,
    skills: Vec<SkillRow>,
    is_cut: bool,
    keys: Vec<Key>,
    is_visitor: bool,
}

/// A person, where there is something of it that the visitor may see, or that is the visitor.
pub(super) async fn person(
    State(registry): State<Registry>,
    visitor: Visitor,
    Last(text): Last,
    asked: HeaderMap,
) -> Answer<Response> {
    let account: SkillName = text.parse().map_err(|_| Refusal::not_found())?;
    let html = page(&registry, &visitor, account.as_str()).await?;
    if visitor.is_anybody() {
        return Ok(Page::new(&registry.web.root, html)?.for_anybody(&asked));
    }
    Ok(for_one(&registry.web.root, axum::http::StatusCode::OK, html))
}

type KeyRow = (String, String, Truth, Option<String>, Option<String>, Option<i64>);

async fn page(registry: &Registry, visitor: &Visitor, account: &str) -> Answer<String> {
    let mut read = registry.data.database.readers().begin().await?;
    let rows: Vec<(String, String, String, String)> = sqlx::query_as(
        "SELECT s.name, k.name, v.version, v.description FROM skills k
         JOIN scopes s ON s.id = k.scope_id
         JOIN versions v ON v.skill_id = k.id AND v.version = k.current_version
         WHERE k.id IN (
           SELECT o.skill_id FROM owners o JOIN accounts a ON a.id = o.account_id WHERE a.name = $1
           UNION SELECT p.skill_id FROM versions p JOIN accounts a ON a.id = p.publisher_id
           WHERE a.name = $1)
         AND (s.private = FALSE OR EXISTS (SELECT 1 FROM scope_members m
           WHERE m.scope_id = s.id AND m.account_id = $2))
         ORDER BY s.name, k.name LIMIT $3",
    )
    .bind(account)
    .bind(visitor.caller.reader())
    .bind(i64::try_from(MOST_SKILLS + 1).unwrap_or(i64::MAX))
    .fetch_all(&mut *read)
    .await?;
    let keys: Vec<KeyRow> = sqlx::query_as(
        "SELECT k.id, k.added, k.held = TRUE, k.revoked, k.revoke_reason, k.log_index FROM keys k
         JOIN accounts a ON a.id = k.account_id WHERE a.name = $1
         ORDER BY k.added DESC, k.id LIMIT $2",
    )
    .bind(account)
    .bind(MOST_KEYS)
    .fetch_all(&mut *read)
    .await?;
    read.rollback().await?;
    let is_visitor =
        visitor.caller.credential().is_some_and(|credential| credential.account == account);
    if rows.is_empty() && !is_visitor {
        return Err(Refusal::not_found());
    }
    let is_cut = rows.len() > MOST_SKILLS;
    let skills = rows
        .into_iter()
        .take(MOST_SKILLS)
        .map(|(scope, name, version, description)| {
            let name = QualifiedName::from_wire(&scope, &name)
                .map_err(|error| Refusal::internal(&error))?;
            Ok(SkillRow::new(&name, version, &description))
        })
        .collect::<Answer<Vec<_>>>()?;
    let keys = keys
        .into_iter()
        .map(|(id, added, Truth(is_held), revoked, reason, index)| {
            let id: KeyId = stored(&id)?;
            Ok(Key {
                id: (&id).into(),
                is_held,
                added: day(&added),
                revoked: revoked.as_deref().map(day),
                reason: reason.map(Text::from),
                leaf: index.map(i64::unsigned_abs).map(|index| (number(index), link::leaf(index))),
            })
        })
        .collect::<Answer<Vec<_>>>()?;
    render(&Person {
        frame: visitor.frame(account).at(format!("/people/{account}")),
        account: account.to_owned(),
        skills,
        is_cut,
        keys,
        is_visitor,
    })
}
