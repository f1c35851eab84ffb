//! Advisories: what is known to be wrong with versions of a skill.
//!
//! An operator or an owner publishes one; it stands in the skill's document, and in the log, until it
//! is withdrawn.

use serde::Serialize;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::{escape, is_unprintable};
use skillpkg_schema::wire::{Advisory, Effect, NewAdvisory};
use sqlx::AnyConnection;

use crate::clock;
use crate::database::{Database, Write};
use crate::events::{self, Change};
use crate::names::ChangeError;
use crate::problem::{Answer, Code, Refusal};
use crate::skills::{self, Skill};

/// Longest summary, in characters.
const MAX_SUMMARY: usize = 500;
/// Longest requirement, in bytes.
const MAX_REQUIREMENT: usize = 256;
/// Most advisories of one skill, withdrawn ones among them.
const MAX_ADVISORIES: i64 = 1_000;

type Row = (String, String, String, String, String, Option<i64>);

/// The advisories of a skill that are not withdrawn, oldest first.
pub async fn of_skill(read: &mut AnyConnection, skill: i64) -> Answer<Vec<Advisory>> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, versions, effect, summary, published, log_index FROM advisories
         WHERE skill_id = $1 AND withdrawn IS NULL ORDER BY substr(id, 1, 8), length(id), id",
    )
    .bind(skill)
    .fetch_all(read)
    .await?;
    rows.into_iter().map(advisory).collect()
}

fn advisory((id, versions, effect, summary, published, log_index): Row) -> Answer<Advisory> {
    let effect = match effect.as_str() {
        "warn" => Effect::Warn,
        "forbid" => Effect::Forbid,
        other => return Err(Refusal::internal(&format!("`{other}` is no effect of an advisory"))),
    };
    let log_index = log_index.map(i64::unsigned_abs);
    Ok(Advisory { id, versions, effect, summary, published, log_index })
}

fn effect_text(effect: Effect) -> &'static str {
    match effect {
        Effect::Warn => "warn",
        Effect::Forbid => "forbid",
    }
}

/// Checks what an advisory is to say; answers with the requirement as it is written.
fn check(new: &NewAdvisory) -> Answer<String> {
    let refused = |detail: String| Refusal::new(Code::InvalidRequest, detail);
    let length = new.summary.chars().count();
    if !(1..=MAX_SUMMARY).contains(&length) || new.summary.trim().is_empty() {
        let detail =
            format!("`summary` must hold 1 to {MAX_SUMMARY} characters; it holds {length}");
        return Err(refused(detail));
    }
    if new.summary.chars().any(is_unprintable) {
        let detail = "`summary` is one line, without control or invisible characters";
        return Err(refused(detail.to_owned()));
    }
    if new.versions.len() > MAX_REQUIREMENT {
        return Err(refused(format!("`versions` must hold at most {MAX_REQUIREMENT} bytes")));
    }
    let requirement = new.versions.parse::<semver::VersionReq>().map_err(|error| {
        let versions = escape(&new.versions);
        refused(format!("`{versions}` is not a requirement such as `>=1.2, <1.4` or `*`: {error}"))
    })?;
    Ok(requirement.to_string())
}

/// Publishes an advisory about a skill; `actor` is [`None`] for an operator.
pub async fn publish(
    write: &mut Write,
    actor: Option<i64>,
    name: &QualifiedName,
    skill: Skill,
    new: &NewAdvisory,
) -> Answer<Advisory> {
    let versions = check(new)?;
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM advisories WHERE skill_id = $1")
        .bind(skill.id)
        .fetch_one(&mut **write)
        .await?;
    if count >= MAX_ADVISORIES {
        let detail = format!("`{name}` has {MAX_ADVISORIES} advisories, which is the most");
        return Err(Refusal::new(Code::TooMany, detail));
    }
    let published = clock::now();
    let year = published.get(..4).unwrap_or_default();
    let of_year: i64 =
        sqlx::query_scalar("SELECT count(*) FROM advisories WHERE id LIKE $1 || '%'")
            .bind(format!("SKA-{year}-"))
            .fetch_one(&mut **write)
            .await?;
    let id = format!("SKA-{year}-{:04}", of_year + 1);
    sqlx::query(
        "INSERT INTO advisories (id, skill_id, versions, effect, summary, published)
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(&id)
    .bind(skill.id)
    .bind(&versions)
    .bind(effect_text(new.effect))
    .bind(&new.summary)
    .bind(&published)
    .execute(&mut **write)
    .await?;
    let (effect, summary) = (new.effect, new.summary.clone());
    let mut advisory = Advisory { id, versions, effect, summary, published, log_index: None };
    let change = Change::AdvisoryPublished { name, advisory: &advisory };
    advisory.log_index = events::record(write, actor, change).await?;
    Ok(advisory)
}

/// Withdraws an advisory of a skill; one that is withdrawn already stays so.
pub async fn withdraw(
    write: &mut Write,
    actor: Option<i64>,
    name: &QualifiedName,
    skill: Skill,
    id: &str,
) -> Answer<()> {
    let withdrawn: Option<Option<String>> =
        sqlx::query_scalar("SELECT withdrawn FROM advisories WHERE id = $1 AND skill_id = $2")
            .bind(id)
            .bind(skill.id)
            .fetch_optional(&mut **write)
            .await?;
    match withdrawn {
        None => return Err(Refusal::not_found()),
        Some(Some(_)) => return Ok(()),
        Some(None) => {}
    }
    sqlx::query("UPDATE advisories SET withdrawn = $1 WHERE id = $2")
        .bind(clock::now())
        .bind(id)
        .execute(&mut **write)
        .await?;
    events::record(write, actor, Change::AdvisoryWithdrawn { name, id }).await?;
    Ok(())
}

/// An advisory as an operator lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The skill.
    pub name: QualifiedName,
    /// The advisory.
    #[serde(flatten)]
    pub advisory: Advisory,
    /// When it was withdrawn.
    pub withdrawn: Option<String>,
}

/// Scope, name, when it was withdrawn, and the rest as in [`Row`].
type ListedRow =
    (String, String, Option<String>, String, String, String, String, String, Option<i64>);

/// Every advisory, oldest first.
pub async fn list(database: &Database) -> Result<Vec<Listed>, ChangeError> {
    let rows: Vec<ListedRow> = sqlx::query_as(
        "SELECT s.name, k.name, d.withdrawn, d.id, d.versions, d.effect, d.summary,
             d.published, d.log_index FROM advisories d JOIN skills k ON k.id = d.skill_id
             JOIN scopes s ON s.id = k.scope_id ORDER BY substr(d.id, 1, 8), length(d.id), d.id",
    )
    .fetch_all(database.readers())
    .await?;
    rows.into_iter()
        .map(|(scope, name, withdrawn, id, versions, effect, summary, published, index)| {
            let name = QualifiedName::from_wire(&scope, &name)
                .map_err(|error| Refusal::internal(&error))?;
            let advisory = advisory((id, versions, effect, summary, published, index))?;
            Ok(Listed { name, advisory, withdrawn })
        })
        .collect()
}

/// An operator publishes an advisory; it is committed when this answers.
pub async fn add(
    database: &Database,
    name: &QualifiedName,
    new: &NewAdvisory,
) -> Result<Advisory, ChangeError> {
    let mut write = database.write().await?;
    let skill = skills::find(&mut write, name).await?;
    let skill = skill.ok_or_else(|| ChangeError::UnknownName(name.clone()))?;
    let advisory = publish(&mut write, None, name, skill, new).await?;
    write.commit().await?;
    Ok(advisory)
}

/// An operator withdraws an advisory; it is committed when this answers.
pub async fn take_back(database: &Database, id: &str) -> Result<QualifiedName, ChangeError> {
    let mut write = database.write().await?;
    let row: Option<(String, String)> = sqlx::query_as(
        "SELECT s.name, k.name FROM advisories d JOIN skills k ON k.id = d.skill_id
         JOIN scopes s ON s.id = k.scope_id WHERE d.id = $1",
    )
    .bind(id)
    .fetch_optional(&mut *write)
    .await?;
    let (scope, name) = row.ok_or_else(|| ChangeError::UnknownAdvisory(id.to_owned()))?;
    let name =
        QualifiedName::from_wire(&scope, &name).map_err(|error| Refusal::internal(&error))?;
    let skill = skills::find(&mut write, &name).await?;
    let skill = skill.ok_or_else(|| ChangeError::UnknownName(name.clone()))?;
    withdraw(&mut write, None, &name, skill, id).await?;
    write.commit().await?;
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_advisory_is_one_line_about_versions() {
        let new = |versions: &str, summary: &str| NewAdvisory {
            versions: versions.to_owned(),
            effect: Effect::Warn,
            summary: summary.to_owned(),
        };
        assert_eq!(check(&new("1.2", "It leaks.")).unwrap(), "^1.2");
        assert_eq!(check(&new("*", "It leaks.")).unwrap(), "*");
        for (versions, summary) in
            [("", "x"), (">>1", "x"), ("*", ""), ("*", "a\nb"), ("*", "a\u{202e}b")]
        {
            assert!(check(&new(versions, summary)).is_err(), "{versions:?} {summary:?}");
        }
        assert!(check(&new(&"1,".repeat(200), "x")).is_err());
    }
}
