//! Signing keys, each registered by one account.

use skillpkg_schema::QualifiedName;
use skillpkg_schema::signature::{KeyId, PublicKey};
use skillpkg_schema::wire::Key;
use sqlx::SqliteExecutor;

use crate::clock;
use crate::database::Write;
use crate::events::{self, Kind};

type Row = (String, String, String, Option<String>);

/// The keys of an account, in the order in which they were registered, revoked ones among them.
pub async fn of_account(
    executor: impl SqliteExecutor<'_>,
    account: i64,
) -> Result<Vec<Key>, sqlx::Error> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, pem, added, revoked FROM keys WHERE account_id = $1 ORDER BY added, id",
    )
    .bind(account)
    .fetch_all(executor)
    .await?;
    rows.into_iter()
        .map(|(id, pem, added, revoked)| {
            let id = id.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
            Ok(Key { id, pem, added, revoked })
        })
        .collect()
}

/// Registers a key; whether it was free to be.
pub async fn add(write: &mut Write, account: i64, key: &PublicKey) -> Result<bool, sqlx::Error> {
    let id = key.id().to_string();
    let added = sqlx::query(
        "INSERT INTO keys (id, account_id, pem, added) VALUES ($1, $2, $3, $4)
         ON CONFLICT (id) DO NOTHING",
    )
    .bind(&id)
    .bind(account)
    .bind(key.to_pem())
    .bind(clock::now())
    .execute(&mut **write)
    .await?;
    if added.rows_affected() == 0 {
        return Ok(false);
    }
    events::record(write, Some(account), Kind::KeyAdded, &id, "").await?;
    Ok(true)
}

/// The skills of which a key signed a version.
pub async fn signed(
    executor: impl SqliteExecutor<'_>,
    key: &KeyId,
) -> Result<Vec<QualifiedName>, sqlx::Error> {
    let rows: Vec<(String, String)> = sqlx::query_as(
        "SELECT DISTINCT s.name, k.name FROM version_keys vk
         JOIN versions v ON v.id = vk.version_id JOIN skills k ON k.id = v.skill_id
         JOIN scopes s ON s.id = k.scope_id WHERE vk.key_id = $1",
    )
    .bind(key.to_string())
    .fetch_all(executor)
    .await?;
    rows.into_iter()
        .map(|(scope, name)| {
            QualifiedName::from_wire(&scope, &name)
                .map_err(|error| sqlx::Error::Decode(Box::new(error)))
        })
        .collect()
}

/// Revokes a key of the account; whether it had this one unrevoked.
pub async fn revoke(write: &mut Write, account: i64, key: &KeyId) -> Result<bool, sqlx::Error> {
    let id = key.to_string();
    let revoked = sqlx::query(
        "UPDATE keys SET revoked = $1 WHERE id = $2 AND account_id = $3 AND revoked IS NULL",
    )
    .bind(clock::now())
    .bind(&id)
    .bind(account)
    .execute(&mut **write)
    .await?;
    if revoked.rows_affected() == 0 {
        return Ok(false);
    }
    events::record(write, Some(account), Kind::KeyRevoked, &id, "").await?;
    Ok(true)
}
