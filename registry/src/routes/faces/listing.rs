//! Names that a caller may read, for lists.

use skillpkg_schema::{QualifiedName, Scope};
use sqlx::AssertSqlSafe;

use crate::auth::Caller;
use crate::problem::{Answer, Refusal};
use crate::search;
use crate::state::Registry;

/// What of a skill is readable to the account `$1`.
const READABLE: &str = "(s.private = FALSE OR EXISTS
    (SELECT 1 FROM scope_members m WHERE m.scope_id = s.id AND m.account_id = $1))";

/// Which skills of a name are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Those of which a version may be picked.
    Picked,
    /// All, those as well of which every version is yanked.
    All,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The newest version first.
    Updated,
    /// The newest skill first.
    Created,
    /// What is downloaded most first.
    Downloads,
}

type Row = (String, String);

fn names(rows: Vec<Row>) -> Answer<Vec<QualifiedName>> {
    rows.into_iter()
        .map(|(scope, name)| {
            QualifiedName::from_wire(&scope, &name).map_err(|error| Refusal::internal(&error))
        })
        .collect()
}

/// The names of a scope, [`None`] for bare ones, in order; on a mirror those that it holds as well.
pub(super) async fn in_scope(
    registry: &Registry,
    caller: &Caller,
    scope: Option<&Scope>,
    limit: u32,
) -> Answer<Vec<QualifiedName>> {
    let scope = scope.map_or("_", Scope::as_str);
    let query = format!(
        "SELECT s.name, k.name FROM skills k JOIN scopes s ON s.id = k.scope_id
         WHERE {READABLE} AND k.current_version IS NOT NULL AND s.name = $2 ORDER BY k.name LIMIT $3"
    );
    let rows: Vec<Row> = sqlx::query_as(AssertSqlSafe(query))
        .bind(caller.reader())
        .bind(scope)
        .bind(i64::from(limit))
        .fetch_all(registry.data.database.readers())
        .await?;
    let mut found = names(rows)?;
    if let Some(mirror) = &registry.mirror {
        found.extend(mirror.names_in(scope, limit).await?);
        found.sort();
        found.dedup();
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    Ok(found)
}

/// Every skill that goes by this name in some scope, at most `limit`.
pub(super) async fn called(
    registry: &Registry,
    caller: &Caller,
    name: &str,
    which: Which,
    limit: u32,
) -> Answer<Vec<QualifiedName>> {
    let picked = match which {
        Which::Picked => "AND k.current_version IS NOT NULL",
        Which::All => "",
    };
    let query = format!(
        "SELECT s.name, k.name FROM skills k JOIN scopes s ON s.id = k.scope_id
         WHERE {READABLE} {picked} AND k.name = $2 ORDER BY s.name LIMIT $3"
    );
    let rows: Vec<Row> = sqlx::query_as(AssertSqlSafe(query))
        .bind(caller.reader())
        .bind(name)
        .bind(i64::from(limit))
        .fetch_all(registry.data.database.readers())
        .await?;
    let mut found = names(rows)?;
    if let Some(mirror) = &registry.mirror {
        found.extend(mirror.names_called(name, limit).await?);
        found.sort();
        found.dedup();
    }
    Ok(found)
}

/// A page of all names, those alone that start with `prefix`.
///
/// A mirror knows no such order of what it holds: there they come by name.
pub(super) async fn page(
    registry: &Registry,
    caller: &Caller,
    order: Order,
    prefix: &str,
    (limit, offset): (u32, u32),
) -> Answer<Vec<QualifiedName>> {
    if registry.mirror.is_some() && prefix.is_empty() {
        let found = search::search(registry, caller, "", limit, offset).await?;
        return Ok(found.skills.into_iter().map(|hit| hit.name).collect());
    }
    let order = match order {
        Order::Updated => "v.published DESC",
        Order::Created => "k.created DESC",
        Order::Downloads => "coalesce(d.count, 0) DESC",
    };
    let query = format!(
        "SELECT s.name, k.name FROM skills k JOIN scopes s ON s.id = k.scope_id
         JOIN versions v ON v.skill_id = k.id AND v.version = k.current_version
         LEFT JOIN downloads d ON d.skill_id = k.id
         WHERE {READABLE} AND k.current_version IS NOT NULL AND k.name >= $2 AND k.name < $3
         ORDER BY {order}, k.name, s.name LIMIT $4 OFFSET $5"
    );
    let rows: Vec<Row> = sqlx::query_as(AssertSqlSafe(query))
        .bind(caller.reader())
        .bind(prefix)
        // Behind every character of a name.
        .bind(format!("{prefix}~"))
        .bind(i64::from(limit))
        .bind(i64::from(offset))
        .fetch_all(registry.data.database.readers())
        .await?;
    names(rows)
}
