//! A scope: its skills, and to its members who they are.

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use skillpkg_schema::{QualifiedName, Scope};

use super::answer::{Page, for_one};
use super::asked::Asked;
use super::frame::{Frame, render};
use super::home::SkillRow;
use super::place::Last;
use super::skill::From;
use super::text::number;
use super::visitor::Visitor;
use crate::accounts::scopes::Role;
use crate::database::Truth;
use crate::problem::{Answer, Refusal};
use crate::state::Registry;

/// Skills on one page.
const ON_PAGE: usize = 50;
/// Most members that are listed.
const MOST_MEMBERS: i64 = 500;

#[derive(Template)]
#[template(path = "scope.html")]
struct ScopePage {
    frame: Frame,
    scope: String,
    private: bool,
    total: String,
    skills: Vec<SkillRow>,
    after: Option<String>,
    members: Vec<(String, String)>,
    role: Option<Role>,
}

/// A scope.
pub(super) async fn scope(
    State(registry): State<Registry>,
    visitor: Visitor,
    Last(text): Last,
    Asked(From { from }): Asked<From>,
    asked: HeaderMap,
) -> Answer<Response> {
    let scope: Scope = text.parse().map_err(|_| Refusal::not_found())?;
    let html = page(&registry, &visitor, &scope, from).await?;
    if visitor.is_anybody() {
        return Ok(Page::new(&registry.web.root, html)?.for_anybody(&asked));
    }
    Ok(for_one(&registry.web.root, axum::http::StatusCode::OK, html))
}

async fn page(
    registry: &Registry,
    visitor: &Visitor,
    scope: &Scope,
    from: usize,
) -> Answer<String> {
    let mut read = registry.data.database.readers().begin().await?;
    // The same query for what is hidden and for what is not there.
    let row: Option<(i64, Truth)> = sqlx::query_as(
        "SELECT s.id, s.private = TRUE FROM scopes s WHERE s.name = $1
         AND (s.private = FALSE OR EXISTS (SELECT 1 FROM scope_members m
           WHERE m.scope_id = s.id AND m.account_id = $2))",
    )
    .bind(scope.as_str())
    .bind(visitor.caller.reader())
    .fetch_optional(&mut *read)
    .await?;
    let (id, Truth(private)) = row.ok_or_else(Refusal::not_found)?;
    let total: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM skills WHERE scope_id = $1 AND current_version IS NOT NULL",
    )
    .bind(id)
    .fetch_one(&mut *read)
    .await?;
    let rows: Vec<(String, String, String)> = sqlx::query_as(
        "SELECT k.name, v.version, v.description FROM skills k
         JOIN versions v ON v.skill_id = k.id AND v.version = k.current_version
         WHERE k.scope_id = $1 ORDER BY k.name LIMIT $2 OFFSET $3",
    )
    .bind(id)
    .bind(i64::try_from(ON_PAGE).unwrap_or(i64::MAX))
    .bind(i64::try_from(from).unwrap_or(i64::MAX))
    .fetch_all(&mut *read)
    .await?;
    let role = visitor.caller.credential().and_then(|credential| credential.role_in(scope));
    let role = role.filter(|_| visitor.caller.reads_scope(scope));
    let members = if role.is_some() { members(&mut read, id).await? } else { Vec::new() };
    read.rollback().await?;
    let skills = rows
        .into_iter()
        .map(|(name, version, description)| {
            let name = QualifiedName::from_wire(scope.as_str(), &name)
                .map_err(|error| Refusal::internal(&error))?;
            Ok(SkillRow::new(&name, version, &description))
        })
        .collect::<Answer<Vec<_>>>()?;
    let total = total.unsigned_abs();
    let next = from.saturating_add(ON_PAGE);
    let path = format!("/scopes/{scope}");
    render(&ScopePage {
        after: (next as u64 <= total.saturating_sub(1)).then(|| format!("{path}?from={next}")),
        frame: visitor.frame(format!("Scope {scope}")).at(path),
        scope: scope.to_string(),
        private,
        total: number(total),
        skills,
        members,
        role,
    })
}

async fn members(
    read: &mut sqlx::AnyConnection,
    scope: i64,
) -> Result<Vec<(String, String)>, sqlx::Error> {
    sqlx::query_as(
        "SELECT a.name, m.role FROM scope_members m JOIN accounts a ON a.id = m.account_id
         WHERE m.scope_id = $1 ORDER BY a.name LIMIT $2",
    )
    .bind(scope)
    .bind(MOST_MEMBERS)
    .fetch_all(read)
    .await
}
