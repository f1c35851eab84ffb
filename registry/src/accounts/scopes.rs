//! Scopes and their members.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use skillpkg_schema::name::NameError;
use skillpkg_schema::{QualifiedName, Scope};
use sqlx::any::AnyExecutor;

use super::{Account, AccountError, known, receiver};
use crate::clock;
use crate::database::{Database, Truth, Write};
use crate::events::{self, Change};

/// What a member of a scope may do there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads its private skills.
    Reader,
    /// Publishes and yanks any of its skills, too.
    Publisher,
    /// The same, and answers for the scope.
    Owner,
}

impl Role {
    /// Whether the role publishes any skill of the scope.
    pub fn publishes(self) -> bool {
        self >= Self::Publisher
    }

    /// The role's word.
    pub fn text(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Publisher => "publisher",
            Self::Owner => "owner",
        }
    }
}

/// A text that is no role.
#[derive(Debug, thiserror::Error)]
#[error("expected `reader`, `publisher` or `owner`")]
pub struct RoleError;

impl FromStr for Role {
    type Err = RoleError;

    fn from_str(text: &str) -> Result<Self, RoleError> {
        [Self::Reader, Self::Publisher, Self::Owner]
            .into_iter()
            .find(|role| role.text() == text)
            .ok_or(RoleError)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// A membership as whoever authenticates needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The scope.
    pub scope: Scope,
    /// What the account may do there.
    pub role: Role,
}

/// The memberships of an account, by scope.
pub async fn of_account(
    executor: impl AnyExecutor<'_>,
    account: i64,
) -> Result<Vec<Membership>, sqlx::Error> {
    let rows: Vec<(String, String)> = sqlx::query_as(
        "SELECT s.name, m.role FROM scope_members m JOIN scopes s ON s.id = m.scope_id
         WHERE m.account_id = $1 ORDER BY s.name",
    )
    .bind(account)
    .fetch_all(executor)
    .await?;
    rows.into_iter()
        .map(|(scope, role)| {
            let scope = scope.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
            let role = role.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
            Ok(Membership { scope, role })
        })
        .collect()
}

/// A scope as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Whether members alone may read it.
    pub private: bool,
    /// Its members.
    pub members: Vec<Member>,
}

/// A member of a scope as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Member {
    /// The account.
    pub account: String,
    /// What it may do.
    pub role: Role,
}

/// Every scope with its members, by name.
pub async fn list(database: &Database) -> Result<Vec<Listed>, sqlx::Error> {
    let rows: Vec<(String, Truth, Option<String>, Option<String>)> = sqlx::query_as(
        "SELECT s.name, s.private = TRUE, a.name, m.role FROM scopes s
         LEFT JOIN scope_members m ON m.scope_id = s.id LEFT JOIN accounts a ON a.id = m.account_id
         WHERE s.name <> '_' ORDER BY s.name, a.name",
    )
    .fetch_all(database.readers())
    .await?;
    let mut scopes: Vec<Listed> = Vec::new();
    for (name, Truth(private), account, role) in rows {
        if scopes.last().is_none_or(|scope| scope.name != name) {
            scopes.push(Listed { name, private, members: Vec::new() });
        }
        let role = role.and_then(|role| role.parse().ok());
        if let (Some(scope), Some(account), Some(role)) = (scopes.last_mut(), account, role) {
            scope.members.push(Member { account, role });
        }
    }
    Ok(scopes)
}

/// Makes a scope with its first owner; it is committed when this answers.
pub async fn add(
    database: &Database,
    name: &str,
    owner: &str,
    private: bool,
) -> Result<(), AccountError> {
    let name: Scope = name.parse()?;
    let mut write = database.write().await?;
    let owner = receiver(&mut write, owner).await?;
    let existing: Option<String> =
        sqlx::query_scalar("SELECT name FROM scopes WHERE collision_key = $1")
            .bind(name.collision_key())
            .fetch_optional(&mut *write)
            .await?;
    if let Some(existing) = existing {
        return Err(AccountError::Taken { wanted: name.to_string(), existing });
    }
    let id: i64 = sqlx::query_scalar(
        "INSERT INTO scopes (name, collision_key, private, created) VALUES ($1, $2, $3, $4)
         RETURNING id",
    )
    .bind(name.as_str())
    .bind(name.collision_key())
    .bind(private)
    .bind(clock::now())
    .fetch_one(&mut *write)
    .await?;
    events::record(&mut write, None, Change::ScopeAdded { scope: &name, private }).await?;
    join(&mut write, None, (id, &name), &owner, Role::Owner).await?;
    write.commit().await?;
    Ok(())
}

/// Makes an account a member, or gives a member another role; committed when this answers.
pub async fn add_member(
    database: &Database,
    scope: &str,
    account: &str,
    role: Role,
) -> Result<(), AccountError> {
    let mut write = database.write().await?;
    let (id, scope) = known_scope(&mut write, scope).await?;
    let account = receiver(&mut write, account).await?;
    if role != Role::Owner {
        another_owner(&mut write, (id, &scope), &account).await?;
    }
    join(&mut write, None, (id, &scope), &account, role).await?;
    write.commit().await?;
    Ok(())
}

/// Removes a member, and makes it an owner of none of the scope's skills; committed when this
/// answers.
pub async fn remove_member(
    database: &Database,
    scope: &str,
    account: &str,
) -> Result<(), AccountError> {
    let mut write = database.write().await?;
    let (id, scope) = known_scope(&mut write, scope).await?;
    let account = known(&mut write, account).await?;
    leave(&mut write, None, (id, &scope), &account).await?;
    write.commit().await?;
    Ok(())
}

/// Removes a member, though never the last owner, and makes it an owner of none of the scope's
/// skills; `actor` is [`None`] for an operator.
pub(super) async fn leave(
    write: &mut Write,
    actor: Option<i64>,
    (id, scope): (i64, &Scope),
    account: &Account,
) -> Result<(), AccountError> {
    another_owner(write, (id, scope), account).await?;
    let removed = sqlx::query("DELETE FROM scope_members WHERE scope_id = $1 AND account_id = $2")
        .bind(id)
        .bind(account.id)
        .execute(&mut **write)
        .await?;
    if removed.rows_affected() == 0 {
        let (account, scope) = (account.name.clone(), scope.to_string());
        return Err(AccountError::NotAMember { account, scope });
    }
    let owned: Vec<(i64, String)> = sqlx::query_as(
        "SELECT k.id, k.name FROM owners o JOIN skills k ON k.id = o.skill_id
         WHERE o.account_id = $1 AND k.scope_id = $2 ORDER BY k.name",
    )
    .bind(account.id)
    .bind(id)
    .fetch_all(&mut **write)
    .await?;
    for (skill, name) in owned {
        sqlx::query("DELETE FROM owners WHERE skill_id = $1 AND account_id = $2")
            .bind(skill)
            .bind(account.id)
            .execute(&mut **write)
            .await?;
        let name = QualifiedName::new(Some(scope.clone()), name.parse().map_err(decode)?);
        let removed = Change::OwnerRemoved { name: &name, account: &account.name };
        events::record(write, actor, removed).await?;
    }
    let removed = Change::MemberRemoved { scope, account: &account.name };
    events::record(write, actor, removed).await?;
    Ok(())
}

fn decode(error: NameError) -> sqlx::Error {
    sqlx::Error::Decode(Box::new(error))
}

async fn known_scope(write: &mut Write, scope: &str) -> Result<(i64, Scope), AccountError> {
    let unknown = || AccountError::UnknownScope(scope.to_owned());
    let name: Scope = scope.parse().map_err(|_| unknown())?;
    let id = sqlx::query_scalar("SELECT id FROM scopes WHERE name = $1")
        .bind(name.as_str())
        .fetch_optional(&mut **write)
        .await?;
    Ok((id.ok_or_else(unknown)?, name))
}

/// Refuses where `account` is the scope's only owner.
pub(super) async fn another_owner(
    write: &mut Write,
    (id, scope): (i64, &Scope),
    account: &Account,
) -> Result<(), AccountError> {
    let owners: Vec<i64> = sqlx::query_scalar(
        "SELECT account_id FROM scope_members WHERE scope_id = $1 AND role = 'owner'",
    )
    .bind(id)
    .fetch_all(&mut **write)
    .await?;
    if owners == [account.id] {
        let (account, scope) = (account.name.clone(), scope.to_string());
        return Err(AccountError::LastScopeOwner { account, scope });
    }
    Ok(())
}

/// Makes an account a member, or gives a member another role; an invitation that it had is over, and
/// so are those that it made and may make no more.
pub(super) async fn join(
    write: &mut Write,
    actor: Option<i64>,
    (id, scope): (i64, &Scope),
    account: &Account,
    role: Role,
) -> Result<(), AccountError> {
    sqlx::query(
        "INSERT INTO scope_members (scope_id, account_id, role, added) VALUES ($1, $2, $3, $4)
         ON CONFLICT (scope_id, account_id) DO UPDATE SET role = excluded.role",
    )
    .bind(id)
    .bind(account.id)
    .bind(role.text())
    .bind(clock::now())
    .execute(&mut **write)
    .await?;
    sqlx::query("DELETE FROM member_invitations WHERE scope_id = $1 AND account_id = $2")
        .bind(id)
        .bind(account.id)
        .execute(&mut **write)
        .await?;
    if role != Role::Owner {
        sqlx::query("DELETE FROM member_invitations WHERE scope_id = $1 AND inviter_id = $2")
            .bind(id)
            .bind(account.id)
            .execute(&mut **write)
            .await?;
    }
    if !role.publishes() {
        sqlx::query(
            "DELETE FROM owner_invitations WHERE inviter_id = $1
             AND skill_id IN (SELECT id FROM skills WHERE scope_id = $2)
             AND skill_id NOT IN (SELECT skill_id FROM owners WHERE account_id = $1)",
        )
        .bind(account.id)
        .bind(id)
        .execute(&mut **write)
        .await?;
    }
    let added = Change::MemberAdded { scope, account: &account.name, role };
    events::record(write, actor, added).await?;
    Ok(())
}
