//! Signing keys, each registered by one account that has shown that it holds it.

use skillpkg_schema::signature::{Envelope, KeyId, PublicKey};
use skillpkg_schema::wire::Key;
use sqlx::any::AnyExecutor;

use super::closing::is_closed;
use super::{AccountError, Actor};
use crate::clock;
use crate::database::{Database, Truth, Write};
use crate::events::{self, Change};
use crate::problem::{Answer, Code, Refusal};

/// A key's id, the public key, when it was registered, whether it is proven, whether it is held here,
/// when it was revoked, why.
type Row = (String, String, String, Truth, Truth, Option<String>, Option<String>);

/// The keys of an account, in the order in which they were registered, revoked ones among them.
pub async fn of_account(
    executor: impl AnyExecutor<'_>,
    account: i64,
) -> Result<Vec<Key>, sqlx::Error> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, pem, added, proof IS NOT NULL, held = TRUE, revoked, revoke_reason FROM keys
         WHERE account_id = $1
         UNION ALL
         SELECT k.id, k.pem, f.added, FALSE, FALSE, f.revoked, f.revoke_reason FROM former_keys f
         JOIN keys k ON k.id = f.key_id WHERE f.account_id = $1
         ORDER BY 3, 1",
    )
    .bind(account)
    .fetch_all(executor)
    .await?;
    rows.into_iter()
        .map(|(id, pem, added, Truth(proven), Truth(held), revoked, reason)| {
            let id = id.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
            Ok(Key { id, pem, added, proven, held, revoked, reason })
        })
        .collect()
}

/// The keys of one account, for an operator.
pub async fn list_of(database: &Database, account: &str) -> Result<Vec<Key>, AccountError> {
    let found = super::find(database.readers(), account).await?;
    let found = found.ok_or_else(|| AccountError::UnknownAccount(account.to_owned()))?;
    Ok(of_account(database.readers(), found.id).await?)
}

/// A key that an account has shown that it holds, and the envelope that shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenKey {
    /// The key.
    pub key: PublicKey,
    /// The envelope, verified for the account and this registry.
    pub proof: Envelope,
}

impl ProvenKey {
    fn proof(&self) -> String {
        String::from_utf8_lossy(&self.proof.to_bytes()).into_owned()
    }
}

/// What came of registering a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It is registered.
    Registered,
    /// Another account has shown that it holds it, or has revoked it: it stays that account's.
    Taken,
    /// The account is closed: a request that came before may have been let in.
    Closed,
}

impl Added {
    /// Refuses where it is not registered.
    pub fn or_refused(self, key: &KeyId) -> Answer<()> {
        match self {
            Self::Registered => Ok(()),
            Self::Taken => {
                let detail = format!("the key {key} is registered by another account");
                Err(Refusal::new(Code::KeyTaken, detail))
            }
            Self::Closed => Err(Refusal::unauthorized("the account is closed, for good")),
        }
    }
}

/// Registers a key that the account does not have.
///
/// One that another account registered without a proof is taken over: that registration is revoked,
/// and vouches on for what it signed. A key that was revoked is nobody's to register again: who
/// holds it by then may be whom it was revoked for.
pub async fn add(
    write: &mut Write,
    holder: Actor<'_>,
    proven: &ProvenKey,
) -> Result<Added, sqlx::Error> {
    if is_closed(write, holder.id).await? {
        return Ok(Added::Closed);
    }
    let id = proven.key.id();
    let text = id.to_string();
    let present: Option<(i64, String, String, Truth, Option<String>)> = sqlx::query_as(
        "SELECT k.account_id, a.name, k.added, k.proof IS NOT NULL, k.revoked FROM keys k
         JOIN accounts a ON a.id = k.account_id WHERE k.id = $1",
    )
    .bind(&text)
    .fetch_optional(&mut **write)
    .await?;
    match present {
        None => {
            sqlx::query(
                "INSERT INTO keys (id, account_id, pem, added, proof) VALUES ($1, $2, $3, $4, $5)",
            )
            .bind(&text)
            .bind(holder.id)
            .bind(proven.key.to_pem())
            .bind(clock::now())
            .bind(proven.proof())
            .execute(&mut **write)
            .await?;
        }
        Some((former, name, added, Truth(false), None)) if former != holder.id => {
            take_over(write, holder, proven, (former, &name, &added)).await?;
        }
        Some(_) => return Ok(Added::Taken),
    }
    let added = Change::KeyAdded { key: &id, account: holder.name };
    events::record(write, Some(holder.id), added).await?;
    Ok(Added::Registered)
}

/// Notes that the registry holds the private key of one that is registered.
pub async fn mark_held(write: &mut Write, key: &KeyId) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE keys SET held = TRUE WHERE id = $1")
        .bind(key.to_string())
        .execute(&mut **write)
        .await?;
    Ok(())
}

async fn take_over(
    write: &mut Write,
    holder: Actor<'_>,
    proven: &ProvenKey,
    (former, former_name, added): (i64, &str, &str),
) -> Result<(), sqlx::Error> {
    let id = proven.key.id().to_string();
    let now = clock::now();
    let reason = format!(
        "`{}` has shown that it holds the key, which `{former_name}` never did",
        holder.name
    );
    sqlx::query(
        "INSERT INTO former_keys (key_id, account_id, added, revoked, revoke_reason)
         VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(&id)
    .bind(former)
    .bind(added)
    .bind(&now)
    .bind(&reason)
    .execute(&mut **write)
    .await?;
    sqlx::query("UPDATE keys SET account_id = $1, added = $2, proof = $3 WHERE id = $4")
        .bind(holder.id)
        .bind(&now)
        .bind(proven.proof())
        .bind(&id)
        .execute(&mut **write)
        .await?;
    let (key, former) = (proven.key.id(), Actor { id: former, name: former_name });
    let revoked = Change::KeyRevoked { key: &key, holder: former, reason: Some(&reason) };
    events::record(write, Some(holder.id), revoked).await?;
    Ok(())
}

/// Keeps the proof of a key that the account registered without one; whether it had none.
pub async fn prove(
    write: &mut Write,
    holder: Actor<'_>,
    proven: &ProvenKey,
) -> Result<bool, sqlx::Error> {
    let id = proven.key.id();
    let kept = sqlx::query(
        "UPDATE keys SET proof = $1
         WHERE id = $2 AND account_id = $3 AND proof IS NULL AND revoked IS NULL",
    )
    .bind(proven.proof())
    .bind(id.to_string())
    .bind(holder.id)
    .execute(&mut **write)
    .await?;
    if kept.rows_affected() == 0 {
        return Ok(false);
    }
    let proven = Change::KeyProven { key: &id, account: holder.name };
    events::record(write, Some(holder.id), proven).await?;
    Ok(true)
}

/// Revokes a key of the account, for good; whether it had this one unrevoked. `actor` is [`None`] for an
/// operator.
pub async fn revoke(
    write: &mut Write,
    actor: Option<i64>,
    holder: Actor<'_>,
    key: &KeyId,
    reason: Option<&str>,
) -> Result<bool, sqlx::Error> {
    let revoked = sqlx::query(
        "UPDATE keys SET revoked = $1, revoke_reason = $2
         WHERE id = $3 AND account_id = $4 AND revoked IS NULL",
    )
    .bind(clock::now())
    .bind(reason)
    .bind(key.to_string())
    .bind(holder.id)
    .execute(&mut **write)
    .await?;
    if revoked.rows_affected() == 0 {
        return Ok(false);
    }
    let revoked = Change::KeyRevoked { key, holder, reason };
    events::record(write, actor, revoked).await?;
    Ok(true)
}
