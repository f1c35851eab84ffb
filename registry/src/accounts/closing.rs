//! Closing an account: from then on nobody can do anything in its name.

use serde::Serialize;
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::{QualifiedName, Scope};

use super::{AccountError, Actor, keys, known, tokens};
use crate::clock;
use crate::database::{Database, Truth, Write};
use crate::events::{self, Change};
use crate::oidc::publishers;
use crate::skills::versions;

/// What closing an account has ended, and what it has left without anybody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Closing {
    /// The account's name, which stays taken.
    pub account: String,
    /// How many tokens were revoked.
    pub tokens: usize,
    /// The keys that were revoked.
    pub keys: Vec<KeyId>,
    /// How many invitations, to it and by it, were withdrawn.
    pub invitations: usize,
    /// How many trusted publishers, whose jobs published in its name, were removed.
    pub publishers: usize,
    /// The bare names that no account which is open owns any more.
    pub ownerless_names: Vec<String>,
    /// The scopes that no account which is open owns any more.
    pub ownerless_scopes: Vec<String>,
}

/// Whether an account is closed.
pub(crate) async fn is_closed(write: &mut Write, account: i64) -> Result<bool, sqlx::Error> {
    let asked = sqlx::query_scalar("SELECT closed IS NOT NULL FROM accounts WHERE id = $1");
    let closed: Option<Truth> = asked.bind(account).fetch_optional(&mut **write).await?;
    Ok(closed == Some(Truth(true)))
}

/// Closes an account, for good, for an operator: its tokens and its keys are revoked, it gets no others,
/// and invitations to it and by it are withdrawn. What it owns it goes on owning, and what it has
/// published stays.
///
/// One transaction: when this answers it has survived a crash, and cut short nothing is changed.
pub async fn close(
    database: &Database,
    account: &str,
    reason: Option<&str>,
) -> Result<Closing, AccountError> {
    check(reason)?;
    let mut write = database.write().await?;
    let account = known(&mut write, account).await?;
    if account.closed.is_some() {
        return Err(AccountError::Closed(account.name));
    }
    sqlx::query("UPDATE accounts SET closed = $1 WHERE id = $2")
        .bind(clock::now())
        .bind(account.id)
        .execute(&mut *write)
        .await?;
    let closed = Change::AccountClosed { account: &account.name, reason };
    events::record(&mut write, None, closed).await?;
    let mut ended = 0;
    for token in tokens::of_account(&mut *write, account.id).await? {
        ended += usize::from(tokens::revoke(&mut write, account.id, None, &token.id).await?);
    }
    let holder = Actor { id: account.id, name: &account.name };
    let mut revoked = Vec::new();
    for key in keys::of_account(&mut *write, account.id).await? {
        if keys::revoke(&mut write, None, holder, &key.id, reason).await? {
            revoked.push(key.id);
        }
    }
    let publishers = publishers::remove_of_account(&mut write, account.id).await?;
    let invitations = withdraw_owners(&mut write, account.id).await?
        + withdraw_members(&mut write, account.id).await?;
    let ownerless_names = sqlx::query_scalar(
        "SELECT k.name FROM owners o JOIN skills k ON k.id = o.skill_id
         JOIN scopes s ON s.id = k.scope_id AND s.name = '_'
         WHERE o.account_id = $1 AND NOT EXISTS (SELECT 1 FROM owners p
           JOIN accounts a ON a.id = p.account_id WHERE p.skill_id = k.id AND a.closed IS NULL)
         ORDER BY k.name",
    )
    .bind(account.id)
    .fetch_all(&mut *write)
    .await?;
    let ownerless_scopes = sqlx::query_scalar(
        "SELECT s.name FROM scope_members m JOIN scopes s ON s.id = m.scope_id
         WHERE m.account_id = $1 AND m.role = 'owner' AND NOT EXISTS (SELECT 1 FROM scope_members n
           JOIN accounts a ON a.id = n.account_id
           WHERE n.scope_id = s.id AND n.role = 'owner' AND a.closed IS NULL)
         ORDER BY s.name",
    )
    .bind(account.id)
    .fetch_all(&mut *write)
    .await?;
    write.commit().await?;
    let (account, tokens, keys) = (account.name, ended, revoked);
    Ok(Closing {
        account,
        tokens,
        keys,
        invitations,
        publishers,
        ownerless_names,
        ownerless_scopes,
    })
}

/// Revokes one key of an account, for good, for an operator; it is committed when this answers.
pub async fn revoke_key(
    database: &Database,
    account: &str,
    key: &KeyId,
    reason: Option<&str>,
) -> Result<(), AccountError> {
    check(reason)?;
    let mut write = database.write().await?;
    let account = known(&mut write, account).await?;
    let holder = Actor { id: account.id, name: &account.name };
    if !keys::revoke(&mut write, None, holder, key, reason).await? {
        return Err(AccountError::UnknownKey { account: account.name, key: *key });
    }
    write.commit().await?;
    Ok(())
}

fn check(reason: Option<&str>) -> Result<(), AccountError> {
    let checked = reason.map(versions::check_reason).transpose();
    checked.map(|_| ()).map_err(|refusal| AccountError::Reason(refusal.told_in_full()))
}

async fn withdraw_owners(write: &mut Write, account: i64) -> Result<usize, sqlx::Error> {
    let open: Vec<(i64, i64, String, String, String)> = sqlx::query_as(
        "SELECT i.skill_id, a.id, s.name, k.name, a.name FROM owner_invitations i
         JOIN skills k ON k.id = i.skill_id JOIN scopes s ON s.id = k.scope_id
         JOIN accounts a ON a.id = i.account_id WHERE i.account_id = $1 OR i.inviter_id = $1
         ORDER BY 3, 4, 5",
    )
    .bind(account)
    .fetch_all(&mut **write)
    .await?;
    for (skill, invited, scope, name, account) in &open {
        sqlx::query("DELETE FROM owner_invitations WHERE skill_id = $1 AND account_id = $2")
            .bind(skill)
            .bind(invited)
            .execute(&mut **write)
            .await?;
        let scope = if scope == "_" { None } else { Some(scope.parse().map_err(decode)?) };
        let name = QualifiedName::new(scope, name.parse().map_err(decode)?);
        let withdrawn = Change::OwnerInvitationWithdrawn { name: &name, account };
        events::record(write, None, withdrawn).await?;
    }
    Ok(open.len())
}

async fn withdraw_members(write: &mut Write, account: i64) -> Result<usize, sqlx::Error> {
    let open: Vec<(i64, i64, String, String)> = sqlx::query_as(
        "SELECT i.scope_id, a.id, s.name, a.name FROM member_invitations i
         JOIN scopes s ON s.id = i.scope_id JOIN accounts a ON a.id = i.account_id
         WHERE i.account_id = $1 OR i.inviter_id = $1 ORDER BY 3, 4",
    )
    .bind(account)
    .fetch_all(&mut **write)
    .await?;
    for (id, invited, scope, account) in &open {
        sqlx::query("DELETE FROM member_invitations WHERE scope_id = $1 AND account_id = $2")
            .bind(id)
            .bind(invited)
            .execute(&mut **write)
            .await?;
        let scope: Scope = scope.parse().map_err(decode)?;
        let withdrawn = Change::MemberInvitationWithdrawn { scope: &scope, account };
        events::record(write, None, withdrawn).await?;
    }
    Ok(open.len())
}

fn decode(error: skillpkg_schema::name::NameError) -> sqlx::Error {
    sqlx::Error::Decode(Box::new(error))
}
