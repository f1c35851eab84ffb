//! The leaves of what was there before there was a log.

use skillpkg_schema::log::Subject;
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::{QualifiedName, Scope, Sha256Digest, Version};

use super::append::{Leaf, append};
use super::{LogError, stored_index};
use crate::database::{Database, Truth, Write};

/// Rows read at a time.
const PAGE: i64 = 500;

/// Appends the leaves of all that has none, once: keys, scopes and their members, owners, versions in
/// the order of their publication, yanks, and keys that were revoked.
///
/// One transaction; a registry that is new has nothing to append.
pub async fn complete(database: &Database) -> Result<(), LogError> {
    const STATE: &str = "SELECT complete = TRUE FROM log_state WHERE id = 1";
    let Truth(complete) = sqlx::query_scalar(STATE).fetch_one(database.readers()).await?;
    if complete {
        return Ok(());
    }
    let mut write = database.write().await?;
    // Of a server, another process may have done it meanwhile.
    let Truth(complete) = sqlx::query_scalar(STATE).fetch_one(&mut *write).await?;
    if complete {
        return Ok(());
    }
    keys(&mut write).await?;
    scopes(&mut write).await?;
    members(&mut write).await?;
    owners(&mut write).await?;
    versions(&mut write).await?;
    deletions(&mut write).await?;
    revocations(&mut write).await?;
    sqlx::query("UPDATE log_state SET complete = TRUE WHERE id = 1").execute(&mut *write).await?;
    write.commit().await?;
    Ok(())
}

/// Reads a text of a row.
fn read<T: std::str::FromStr>(text: &str, table: &'static str) -> Result<T, LogError> {
    text.parse().map_err(|_| LogError::Row(table))
}

fn name_of(scope: &str, name: &str) -> Result<QualifiedName, LogError> {
    QualifiedName::from_wire(scope, name).map_err(|_| LogError::Row("skills"))
}

async fn keys(write: &mut Write) -> Result<(), LogError> {
    let rows: Vec<(String, String, String)> = sqlx::query_as(
        "SELECT k.id, a.name, k.added FROM keys k JOIN accounts a ON a.id = k.account_id
         ORDER BY k.added, k.id",
    )
    .fetch_all(&mut **write)
    .await?;
    for (id, account, added) in rows {
        let key = read(&id, "keys")?;
        let index = append(write, Leaf::at(Subject::KeyAdded { account, key }, added)).await?;
        sqlx::query("UPDATE keys SET log_index = $1 WHERE id = $2")
            .bind(stored_index(index))
            .bind(id)
            .execute(&mut **write)
            .await?;
    }
    Ok(())
}

async fn scopes(write: &mut Write) -> Result<(), LogError> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT name, created FROM scopes WHERE name <> '_' ORDER BY id")
            .fetch_all(&mut **write)
            .await?;
    for (scope, created) in rows {
        let scope: Scope = read(&scope, "scopes")?;
        append(write, Leaf::at(Subject::ScopeAdded { scope }, created)).await?;
    }
    Ok(())
}

async fn members(write: &mut Write) -> Result<(), LogError> {
    let rows: Vec<(String, String, String, String)> = sqlx::query_as(
        "SELECT s.name, a.name, m.role, m.added FROM scope_members m
         JOIN scopes s ON s.id = m.scope_id JOIN accounts a ON a.id = m.account_id
         ORDER BY m.added, s.name, a.name",
    )
    .fetch_all(&mut **write)
    .await?;
    for (scope, account, role, added) in rows {
        let scope = read(&scope, "scopes")?;
        let subject = Subject::MemberAdded { scope, account, role, by: None };
        append(write, Leaf::at(subject, added)).await?;
    }
    Ok(())
}

async fn owners(write: &mut Write) -> Result<(), LogError> {
    let rows: Vec<(String, String, String, String)> = sqlx::query_as(
        "SELECT s.name, k.name, a.name, o.added FROM owners o
         JOIN accounts a ON a.id = o.account_id JOIN skills k ON k.id = o.skill_id
         JOIN scopes s ON s.id = k.scope_id ORDER BY o.added, k.id, a.name",
    )
    .fetch_all(&mut **write)
    .await?;
    for (scope, name, account, added) in rows {
        let name = name_of(&scope, &name)?;
        let subject = Subject::OwnerAdded { name, account, by: None };
        append(write, Leaf::at(subject, added)).await?;
    }
    Ok(())
}

/// The rows of a version and its skill, scope, name, version, address, archive, account, when it was
/// published, and why it is yanked.
type VersionRow =
    (i64, i64, String, String, String, String, String, String, String, Option<String>);

async fn versions(write: &mut Write) -> Result<(), LogError> {
    let mut last = 0;
    loop {
        let rows: Vec<VersionRow> = sqlx::query_as(
            "SELECT v.id, v.skill_id, s.name, k.name, v.version, v.address, v.archive, a.name,
             v.published, v.yank_reason
             FROM versions v JOIN skills k ON k.id = v.skill_id JOIN scopes s ON s.id = k.scope_id
             JOIN accounts a ON a.id = v.publisher_id WHERE v.id > $1 ORDER BY v.id LIMIT $2",
        )
        .bind(last)
        .bind(PAGE)
        .fetch_all(&mut **write)
        .await?;
        let Some((id, ..)) = rows.last() else { return Ok(()) };
        last = *id;
        for row in rows {
            version(write, row).await?;
        }
    }
}

async fn version(write: &mut Write, row: VersionRow) -> Result<(), LogError> {
    let (id, skill, scope, name, version, address, archive, account, published, yanked) = row;
    let keys: Vec<String> =
        sqlx::query_scalar("SELECT key_id FROM version_keys WHERE version_id = $1 ORDER BY key_id")
            .bind(id)
            .fetch_all(&mut **write)
            .await?;
    let keys = keys.iter().map(|key| read::<KeyId>(key, "version_keys"));
    let (name, version) = (name_of(&scope, &name)?, read::<Version>(&version, "versions")?);
    let subject = Subject::Publish {
        name: name.clone(),
        version: version.clone(),
        address: read::<Sha256Digest>(&address, "versions")?.address(),
        archive: read::<Sha256Digest>(&archive, "versions")?.address(),
        account,
        keys: keys.collect::<Result<_, _>>()?,
    };
    let index = append(write, Leaf::at(subject, published)).await?;
    sqlx::query("UPDATE versions SET log_index = $1 WHERE id = $2")
        .bind(stored_index(index))
        .bind(id)
        .execute(&mut **write)
        .await?;
    touch(write, skill, index).await?;
    if let Some(reason) = yanked {
        append(write, Leaf::now(Subject::Yank { name, version, reason, by: None })).await?;
    }
    Ok(())
}

async fn touch(write: &mut Write, skill: i64, index: u64) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO log_touched (skill_id, log_index) VALUES ($1, $2)
         ON CONFLICT (skill_id, log_index) DO NOTHING",
    )
    .bind(skill)
    .bind(stored_index(index))
    .execute(&mut **write)
    .await?;
    Ok(())
}

async fn deletions(write: &mut Write) -> Result<(), LogError> {
    let rows: Vec<(i64, String, String, String, String, String)> = sqlx::query_as(
        "SELECT k.id, s.name, k.name, d.version, d.reason, d.deleted FROM deleted_versions d
         JOIN skills k ON k.id = d.skill_id JOIN scopes s ON s.id = k.scope_id ORDER BY d.id",
    )
    .fetch_all(&mut **write)
    .await?;
    for (skill, scope, name, version, reason, deleted) in rows {
        let (name, version) = (name_of(&scope, &name)?, read(&version, "deleted_versions")?);
        let subject = Subject::VersionDeleted { name, version, reason };
        let index = append(write, Leaf::at(subject, deleted)).await?;
        touch(write, skill, index).await?;
    }
    Ok(())
}

async fn revocations(write: &mut Write) -> Result<(), LogError> {
    let rows: Vec<(String, i64, String, Option<String>, String)> = sqlx::query_as(
        "SELECT k.id, a.id, a.name, k.revoke_reason, k.revoked FROM keys k
         JOIN accounts a ON a.id = k.account_id WHERE k.revoked IS NOT NULL
         UNION ALL
         SELECT f.key_id, a.id, a.name, f.revoke_reason, f.revoked FROM former_keys f
         JOIN accounts a ON a.id = f.account_id ORDER BY 5, 1",
    )
    .fetch_all(&mut **write)
    .await?;
    for (id, holder, account, reason, revoked) in rows {
        let key = read(&id, "keys")?;
        let subject = Subject::KeyRevoked { account, key, reason };
        let index = append(write, Leaf::at(subject, revoked)).await?;
        super::touch::revoked(write, &id, holder, stored_index(index)).await?;
    }
    Ok(())
}
