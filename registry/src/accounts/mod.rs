//! Accounts, and what is theirs: tokens, keys, scopes.

pub mod closing;
pub mod keys;
pub mod members;
pub mod proof;
pub mod scopes;
pub mod tokens;

use serde::Serialize;
use skillpkg_schema::SkillName;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::name::NameError;
use skillpkg_schema::signature::KeyId;
use sqlx::any::AnyExecutor;

use crate::clock;
use crate::database::{Database, Write};
use crate::events::{self, Change};
use crate::grant::{Grant, GrantError};
use crate::random::NoRandomness;

/// What is told of a name that cannot be had.
fn taken(wanted: &str, existing: &str) -> String {
    if wanted == existing {
        format!("`{wanted}` is there already")
    } else {
        format!("`{wanted}` reads like `{existing}`, which is there already")
    }
}

/// Why an operator's change to accounts is not made.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// Not a name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Not a grant.
    #[error(transparent)]
    Grant(#[from] GrantError),
    /// The name, or one that reads like it, is another's.
    #[error("{}", taken(wanted, existing))]
    Taken {
        /// The name asked for.
        wanted: String,
        /// The one that is there.
        existing: String,
    },
    /// The name is that of an account that was closed, and stays so.
    #[error(
        "`{0}` was an account that is closed, for good: its name stays taken, so that nobody else \
         is taken for it; choose another"
    )]
    ClosedName(String),
    /// There is no account of this name.
    #[error("there is no account `{}`; `user list` shows those there are", escape(.0))]
    UnknownAccount(String),
    /// The account is closed.
    #[error("the account `{0}` is closed, for good")]
    Closed(String),
    /// The account has no such key that is not revoked.
    #[error(
        "`{account}` has no key {key} that is not revoked; `user keys {account}` shows those there are"
    )]
    UnknownKey {
        /// The account.
        account: String,
        /// The key.
        key: KeyId,
    },
    /// A reason that is none.
    #[error("{0}")]
    Reason(String),
    /// There is no scope of this name.
    #[error("there is no scope `{}`; `scope list` shows those there are", escape(.0))]
    UnknownScope(String),
    /// There is no token with this id.
    #[error("there is no token `{}` in use; `token list` shows those there are", escape(.0))]
    UnknownToken(String),
    /// The account is not a member of the scope.
    #[error("`{account}` is not a member of `{scope}`")]
    NotAMember {
        /// The account.
        account: String,
        /// The scope.
        scope: String,
    },
    /// Nobody would be left to manage the scope.
    #[error("`{account}` is the last owner of `{scope}`; make another member one first")]
    LastScopeOwner {
        /// The account.
        account: String,
        /// The scope.
        scope: String,
    },
    /// No randomness.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// The database.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
}

/// The account that makes a change.
#[derive(Debug, Clone, Copy)]
pub struct Actor<'a> {
    /// Its row.
    pub id: i64,
    /// Its name.
    pub name: &'a str,
}

/// An account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Account {
    /// The row.
    #[serde(skip)]
    pub id: i64,
    /// Its name.
    pub name: String,
    /// When it was made, RFC 3339 in UTC.
    pub created: String,
    /// When it was closed, RFC 3339 in UTC, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<String>,
}

type Row = (i64, String, String, Option<String>);

fn account((id, name, created, closed): Row) -> Account {
    Account { id, name, created, closed }
}

/// The account of this name.
pub async fn find(
    executor: impl AnyExecutor<'_>,
    name: &str,
) -> Result<Option<Account>, sqlx::Error> {
    let row: Option<Row> =
        sqlx::query_as("SELECT id, name, created, closed FROM accounts WHERE name = $1")
            .bind(name)
            .fetch_optional(executor)
            .await?;
    Ok(row.map(account))
}

async fn known(write: &mut Write, name: &str) -> Result<Account, AccountError> {
    find(&mut **write, name).await?.ok_or_else(|| AccountError::UnknownAccount(name.to_owned()))
}

/// An account that is to be given something.
async fn receiver(write: &mut Write, name: &str) -> Result<Account, AccountError> {
    let account = known(write, name).await?;
    if account.closed.is_some() {
        return Err(AccountError::Closed(account.name));
    }
    Ok(account)
}

/// Every account, by name.
pub async fn list(database: &Database) -> Result<Vec<Account>, sqlx::Error> {
    let rows: Vec<Row> =
        sqlx::query_as("SELECT id, name, created, closed FROM accounts ORDER BY name")
            .fetch_all(database.readers())
            .await?;
    Ok(rows.into_iter().map(account).collect())
}

/// Makes an account, and its first token, which allows everything that the account may do.
///
/// Answers with the token's secret. Both survive a crash, or neither does.
pub async fn add(database: &Database, name: &str) -> Result<String, AccountError> {
    let name: SkillName = name.parse()?;
    let mut write = database.write().await?;
    let existing: Option<(String, Option<String>)> =
        sqlx::query_as("SELECT name, closed FROM accounts WHERE collision_key = $1")
            .bind(name.collision_key())
            .fetch_optional(&mut *write)
            .await?;
    if let Some((existing, closed)) = existing {
        if closed.is_some() && existing == name.as_str() {
            return Err(AccountError::ClosedName(existing));
        }
        return Err(AccountError::Taken { wanted: name.to_string(), existing });
    }
    let id: i64 = sqlx::query_scalar(
        "INSERT INTO accounts (name, collision_key, created) VALUES ($1, $2, $3) RETURNING id",
    )
    .bind(name.as_str())
    .bind(name.collision_key())
    .bind(clock::now())
    .fetch_one(&mut *write)
    .await?;
    let added = Change::AccountAdded { account: name.as_str() };
    events::record(&mut write, None, added).await?;
    let minting = tokens::Minting { label: "first", grants: &Grant::everything(), expires: None };
    let minted = tokens::mint(&mut write, id, None, &minting).await?;
    write.commit().await?;
    Ok(minted.secret)
}
