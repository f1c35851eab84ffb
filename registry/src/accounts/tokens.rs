//! Tokens: `skp_` and 256 random bits, of which the registry keeps the SHA-256 alone.

use skillpkg_schema::Sha256Digest;
use skillpkg_schema::wire::{MintedToken, Token};
use sqlx::any::AnyExecutor;

use super::{AccountError, known};
use crate::clock;
use crate::database::{Database, Write};
use crate::events::{self, Change};
use crate::grant::Grant;
use crate::random;

/// What every token starts with, so that a leaked one is found by those who scan for secrets.
pub const PREFIX: &str = "skp_";
/// Longest label, in characters.
pub const MAX_LABEL: usize = 100;

/// The furthest end of a token, in days: a hundred years. One of more is a slip, or has no end.
pub const MOST_DAYS: u32 = 36_500;

/// What a token is to be.
#[derive(Debug, Clone, Copy)]
pub struct Minting<'a> {
    /// What its owner calls it.
    pub label: &'a str,
    /// What it allows.
    pub grants: &'a [Grant],
    /// When it ends, RFC 3339 in UTC.
    pub expires: Option<&'a str>,
}

/// Why a token is not made.
#[derive(Debug, thiserror::Error)]
pub enum MintError {
    /// The account is closed: a request that came before may have been let in.
    #[error("the account `{0}` is closed, for good")]
    Closed(String),
    /// No randomness.
    #[error(transparent)]
    NoRandomness(#[from] random::NoRandomness),
    /// The database.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl From<MintError> for AccountError {
    fn from(error: MintError) -> Self {
        match error {
            MintError::Closed(account) => Self::Closed(account),
            MintError::NoRandomness(error) => error.into(),
            MintError::Database(error) => error.into(),
        }
    }
}

impl From<MintError> for crate::problem::Refusal {
    fn from(error: MintError) -> Self {
        match error {
            MintError::Closed(_) => Self::unauthorized(error.to_string()),
            MintError::NoRandomness(error) => error.into(),
            MintError::Database(error) => error.into(),
        }
    }
}

/// What the registry keeps of a token, and finds it by.
///
/// The secret has 256 random bits: a plain hash of it cannot be searched, and looking it up by that
/// hash tells nothing by its timing.
pub fn hash(secret: &str) -> String {
    Sha256Digest::of(secret.as_bytes()).to_string()
}

/// Grants as they are stored.
pub fn stored_grants(grants: &[Grant]) -> String {
    let texts: Vec<String> = grants.iter().map(ToString::to_string).collect();
    // A list of texts: nothing in it that serialisation can refuse.
    serde_json::to_string(&texts).unwrap_or_default()
}

/// Reads stored grants; one that this version does not know allows nothing.
pub fn read_grants(stored: &str) -> Vec<Grant> {
    let texts: Vec<String> = serde_json::from_str(stored).unwrap_or_default();
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}

/// Makes a token of the account, asked by `actor`.
pub async fn mint(
    write: &mut Write,
    account: i64,
    actor: Option<i64>,
    minting: &Minting<'_>,
) -> Result<MintedToken, MintError> {
    let closed: Option<String> =
        sqlx::query_scalar("SELECT name FROM accounts WHERE id = $1 AND closed IS NOT NULL")
            .bind(account)
            .fetch_optional(&mut **write)
            .await?;
    if let Some(name) = closed {
        return Err(MintError::Closed(name));
    }
    let secret = format!("{PREFIX}{}", random::hex::<32>()?);
    let token = Token {
        id: random::hex::<8>()?,
        label: minting.label.to_owned(),
        grants: minting.grants.iter().map(ToString::to_string).collect(),
        created: clock::now(),
        expires: minting.expires.map(str::to_owned),
        last_used: None,
    };
    sqlx::query(
        "INSERT INTO tokens (id, account_id, label, hash, grants, created, expires)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(&token.id)
    .bind(account)
    .bind(&token.label)
    .bind(hash(&secret))
    .bind(stored_grants(minting.grants))
    .bind(&token.created)
    .bind(&token.expires)
    .execute(&mut **write)
    .await?;
    let change = Change::TokenMinted { token: &token.id, label: &token.label };
    events::record(write, actor, change).await?;
    Ok(MintedToken { secret, token })
}

type Row = (String, String, String, String, Option<String>, Option<String>);

/// The tokens of an account that are not revoked, newest first.
pub async fn of_account(
    executor: impl AnyExecutor<'_>,
    account: i64,
) -> Result<Vec<Token>, sqlx::Error> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, label, grants, created, expires, last_used FROM tokens
         WHERE account_id = $1 AND revoked IS NULL ORDER BY created DESC, id",
    )
    .bind(account)
    .fetch_all(executor)
    .await?;
    Ok(rows
        .into_iter()
        .map(|(id, label, grants, created, expires, last_used)| Token {
            id,
            label,
            grants: serde_json::from_str(&grants).unwrap_or_default(),
            created,
            expires,
            last_used,
        })
        .collect())
}

/// Revokes a token of the account; whether it had one of this id in use.
pub async fn revoke(
    write: &mut Write,
    account: i64,
    actor: Option<i64>,
    id: &str,
) -> Result<bool, sqlx::Error> {
    let revoked = sqlx::query(
        "UPDATE tokens SET revoked = $1 WHERE id = $2 AND account_id = $3 AND revoked IS NULL",
    )
    .bind(clock::now())
    .bind(id)
    .bind(account)
    .execute(&mut **write)
    .await?;
    if revoked.rows_affected() == 0 {
        return Ok(false);
    }
    events::record(write, actor, Change::TokenRevoked { token: id }).await?;
    Ok(true)
}

/// An operator's token for an account; it is committed when this answers.
pub async fn mint_for(
    database: &Database,
    account: &str,
    minting: &Minting<'_>,
) -> Result<MintedToken, AccountError> {
    let mut write = database.write().await?;
    let account = known(&mut write, account).await?;
    let minted = mint(&mut write, account.id, None, minting).await?;
    write.commit().await?;
    Ok(minted)
}

/// The tokens in use of one account, for an operator.
pub async fn list_of(database: &Database, account: &str) -> Result<Vec<Token>, AccountError> {
    let found = super::find(database.readers(), account).await?;
    let found = found.ok_or_else(|| AccountError::UnknownAccount(account.to_owned()))?;
    Ok(of_account(database.readers(), found.id).await?)
}

/// Revokes any account's token, for an operator; it is committed when this answers.
pub async fn revoke_any(database: &Database, id: &str) -> Result<(), AccountError> {
    let mut write = database.write().await?;
    let account: Option<i64> =
        sqlx::query_scalar("SELECT account_id FROM tokens WHERE id = $1 AND revoked IS NULL")
            .bind(id)
            .fetch_optional(&mut *write)
            .await?;
    let unknown = || AccountError::UnknownToken(id.to_owned());
    let revoked = revoke(&mut write, account.ok_or_else(unknown)?, None, id).await?;
    write.commit().await?;
    if revoked { Ok(()) } else { Err(unknown()) }
}
