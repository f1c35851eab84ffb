//! Deletion: what is deleted is served no more, and its number is never given again.
//!
//! A version leaves a tombstone, so that whoever has it in a lockfile is told why it is gone. A name
//! stays its owners' and is given to nobody else for [`HELD_DAYS`] days.

use serde::Serialize;
use skillpkg_schema::{QualifiedName, Version};
use sqlx::AnyConnection;

use super::ChangeError;
use crate::auth::Credential;
use crate::clock;
use crate::database::{Database, Write, placeholders};
use crate::events::{self, Change};
use crate::faces::rendering;
use crate::problem::{Answer, Code, Refusal};
use crate::skills::{self, Skill, owners, versions};

/// For how many days a deleted name is given to nobody but those who owned it.
pub const HELD_DAYS: u32 = 90;
/// Digests deleted by one statement.
const ROWS: usize = 400;

/// What was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Deletion {
    /// The name.
    pub name: QualifiedName,
    /// The version; absent where the name was deleted as a whole.
    pub version: Option<Version>,
    /// How many versions went.
    pub versions: u64,
    /// Why.
    pub reason: String,
}

/// Deletes a version of a name, or the name with every version.
///
/// One transaction: when this answers it has survived a crash, and cut short nothing is changed. The
/// content that no other version holds is then removed by `gc`.
pub async fn delete(
    database: &Database,
    name: &QualifiedName,
    version: Option<&Version>,
    reason: &str,
) -> Result<Deletion, ChangeError> {
    versions::check_reason(reason)?;
    let mut write = database.write().await?;
    let skill = skills::find(&mut write, name).await?;
    let skill = skill.ok_or_else(|| ChangeError::UnknownName(name.clone()))?;
    let doomed = match version {
        Some(version) => vec![version_row(&mut write, name, skill, version).await?],
        None => whole_name(&mut write, name, skill, reason).await?,
    };
    for version in &doomed {
        bury(&mut write, *version, reason).await?;
    }
    versions::refresh_current(&mut write, name, skill).await?;
    let change = match version {
        Some(version) => Change::VersionDeleted { name, version, reason },
        None => Change::NameDeleted { name, reason },
    };
    events::record(&mut write, None, change).await?;
    write.commit().await?;
    Ok(Deletion {
        name: name.clone(),
        version: version.cloned(),
        versions: doomed.len() as u64,
        reason: reason.to_owned(),
    })
}

async fn version_row(
    write: &mut Write,
    name: &QualifiedName,
    skill: Skill,
    version: &Version,
) -> Result<i64, ChangeError> {
    let row: Option<i64> =
        sqlx::query_scalar("SELECT id FROM versions WHERE skill_id = $1 AND version = $2")
            .bind(skill.id)
            .bind(version.to_string())
            .fetch_optional(&mut **write)
            .await?;
    if let Some(row) = row {
        return Ok(row);
    }
    match tombstone(write, skill, version).await? {
        Some((reason, deleted)) => {
            Err(ChangeError::Deleted { what: format!("{name}@{version}"), deleted, reason })
        }
        None => Err(ChangeError::UnknownVersion { name: name.clone(), version: version.clone() }),
    }
}

/// Marks the name as deleted; answers with the rows of its versions.
async fn whole_name(
    write: &mut Write,
    name: &QualifiedName,
    skill: Skill,
    reason: &str,
) -> Result<Vec<i64>, ChangeError> {
    let before: Option<(String, String)> =
        sqlx::query_as("SELECT deleted, reason FROM deleted_names WHERE skill_id = $1")
            .bind(skill.id)
            .fetch_optional(&mut **write)
            .await?;
    if let Some((deleted, reason)) = before {
        return Err(ChangeError::Deleted { what: name.to_string(), deleted, reason });
    }
    sqlx::query("INSERT INTO deleted_names (skill_id, reason, deleted) VALUES ($1, $2, $3)")
        .bind(skill.id)
        .bind(reason)
        .bind(clock::now())
        .execute(&mut **write)
        .await?;
    Ok(sqlx::query_scalar("SELECT id FROM versions WHERE skill_id = $1 ORDER BY id")
        .bind(skill.id)
        .fetch_all(&mut **write)
        .await?)
}

/// Puts a tombstone in the place of a version's rows, and forgets the files that only it held.
async fn bury(write: &mut Write, version: i64, reason: &str) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO deleted_versions (skill_id, version, version_key, address, reason, deleted)
         SELECT skill_id, version, version_key, address, $2, $3 FROM versions WHERE id = $1",
    )
    .bind(version)
    .bind(reason)
    .bind(clock::now())
    .execute(&mut **write)
    .await?;
    let files: Vec<String> =
        sqlx::query_scalar("SELECT sha256 FROM version_blobs WHERE version_id = $1")
            .bind(version)
            .fetch_all(&mut **write)
            .await?;
    let address: String = sqlx::query_scalar("SELECT address FROM versions WHERE id = $1")
        .bind(version)
        .fetch_one(&mut **write)
        .await?;
    rendering::forget(write, &address).await?;
    for rows in [
        "DELETE FROM version_blobs WHERE version_id = $1",
        "DELETE FROM version_keys WHERE version_id = $1",
        "DELETE FROM versions WHERE id = $1",
    ] {
        sqlx::query(rows).bind(version).execute(&mut **write).await?;
    }
    for digests in files.chunks(ROWS) {
        let head = "DELETE FROM blobs WHERE NOT EXISTS
             (SELECT 1 FROM version_blobs h WHERE h.sha256 = blobs.sha256) AND sha256 IN ";
        let mut query = sqlx::query(placeholders(head, 1, digests.len(), ""));
        for digest in digests {
            query = query.bind(digest);
        }
        query.execute(&mut **write).await?;
    }
    Ok(())
}

/// Why a version was deleted, and when; [`None`] where it was not.
async fn tombstone(
    connection: &mut AnyConnection,
    skill: Skill,
    version: &Version,
) -> Result<Option<(String, String)>, sqlx::Error> {
    sqlx::query_as(
        "SELECT reason, deleted FROM deleted_versions WHERE skill_id = $1 AND version_key = $2",
    )
    .bind(skill.id)
    .bind(versions::key(version))
    .fetch_optional(connection)
    .await
}

/// Refuses a version that was deleted: whoever has its number in a lockfile must never get another
/// content for it.
pub async fn refuse_deleted_version(
    connection: &mut AnyConnection,
    name: &QualifiedName,
    skill: Skill,
    version: &Version,
) -> Answer<()> {
    match tombstone(connection, skill, version).await? {
        None => Ok(()),
        Some((reason, _)) => {
            let detail = format!(
                "`{name}` {version} was deleted from this registry ({reason}), and a version never \
                 becomes another: publish under another number"
            );
            Err(Refusal::new(Code::VersionDeleted, detail))
        }
    }
}

/// When the name was deleted as a whole; [`None`] where it was not, or somebody published under it
/// since.
pub async fn deleted_since(
    connection: &mut AnyConnection,
    skill: Skill,
) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar("SELECT deleted FROM deleted_names WHERE skill_id = $1")
        .bind(skill.id)
        .fetch_optional(connection)
        .await
}

/// Whether somebody who never owned a bare name that was deleted may take it: refused for
/// [`HELD_DAYS`] days, in which those who still ask for it would be given a stranger's skill.
pub fn free_again(name: &QualifiedName, deleted: &str) -> Answer<()> {
    let free = clock::days_after(deleted, HELD_DAYS);
    if free <= clock::now() {
        return Ok(());
    }
    let detail = format!(
        "`{name}` was deleted from this registry and is given to nobody else before {free}; an \
         operator can: `skillpkg-registry name transfer {name} ACCOUNT`"
    );
    Err(Refusal::new(Code::NameDeleted, detail))
}

/// Whether a publish by the account makes the name change hands: a bare one that was deleted, and
/// that the account did not own.
pub async fn changes_hands(
    connection: &mut AnyConnection,
    credential: &Credential,
    name: &QualifiedName,
    skill: Skill,
) -> Result<bool, sqlx::Error> {
    Ok(name.scope().is_none()
        && deleted_since(connection, skill).await?.is_some()
        && !owners::is_owner(connection, skill.id, credential.account_id).await?)
}

/// Gives a name to an account in the place of those that owned it; whether it may was decided before.
pub async fn take_over(
    write: &mut Write,
    credential: &Credential,
    name: &QualifiedName,
    skill: Skill,
) -> Result<(), sqlx::Error> {
    let account = credential.account_id;
    sqlx::query("UPDATE skills SET creator_id = $1, created = $2 WHERE id = $3")
        .bind(account)
        .bind(clock::now())
        .bind(skill.id)
        .execute(&mut **write)
        .await?;
    owners::replace(write, Some(account), name, skill, (account, &credential.account)).await
}

/// Lets a name that was deleted be one again: a version is published under it.
pub async fn revive(write: &mut Write, skill: Skill) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM deleted_names WHERE skill_id = $1")
        .bind(skill.id)
        .execute(&mut **write)
        .await?;
    Ok(())
}
