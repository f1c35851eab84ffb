//! The members of a scope, as the scope's owners manage them.
//!
//! Nobody becomes a member without having agreed, unless an operator makes one: an invitation holds
//! until its end, and as long as whoever made it owns the scope without having left it since.

use skillpkg_schema::Scope;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::wire::{InvitedMember, Member, MemberInvitation, Members};
use sqlx::AnyConnection;

use super::scopes::{self, Role};
use super::{Account, AccountError, Actor};
use crate::access::{self, Decision, Need};
use crate::auth::Caller;
use crate::clock;
use crate::database::{Truth, Write};
use crate::documents::stored;
use crate::events::{self, Change};
use crate::problem::{Answer, Code, Refusal};
use crate::skills::invitations::{DAYS, MAX_OPEN};

/// A scope's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The row.
    pub id: i64,
    /// Whether members alone may read its skills.
    pub private: bool,
}

/// The scope of this name, where it is there and the caller has what `need` asks; else the refusal,
/// the same for a scope of others as for one that is not there.
pub async fn find_for(
    connection: &mut AnyConnection,
    caller: &Caller,
    need: Need,
    scope: &Scope,
) -> Answer<Found> {
    let account = caller.account()?.account_id;
    // One query whether it is there or not: the time of the answer must not tell.
    let row: Option<(i64, Truth, Option<String>)> = sqlx::query_as(
        "SELECT s.id, s.private = TRUE, m.role FROM scopes s
         LEFT JOIN scope_members m ON m.scope_id = s.id AND m.account_id = $1
         WHERE s.name = $2 AND s.name <> '_'",
    )
    .bind(account)
    .bind(scope.as_str())
    .fetch_optional(connection)
    .await?;
    let (id, Truth(private), role) = row.ok_or_else(Refusal::not_found)?;
    let role = role.as_deref().map(stored::<Role>).transpose()?;
    match access::decide_scope(need, caller, role) {
        Decision::Allowed => Ok(Found { id, private }),
        Decision::Hidden => Err(Refusal::not_found()),
        Decision::Unauthorized => Err(Refusal::unauthorized("this needs a token")),
        Decision::LacksGrant => {
            let detail = "this needs a token that grants `admin`";
            Err(Refusal::new(Code::TokenLacksGrant, detail))
        }
        Decision::NotAnOwner => {
            let detail = format!(
                "only an owner of the scope `{scope}` may do this; `skillpkg scope list {scope}` shows them"
            );
            Err(Refusal::new(Code::NotAnOwner, detail))
        }
    }
}

/// The members of a scope, and who is invited to be one.
pub async fn of_scope(
    connection: &mut AnyConnection,
    scope: &Scope,
    found: Found,
) -> Answer<Members> {
    let members: Vec<(String, String)> = sqlx::query_as(
        "SELECT a.name, m.role FROM scope_members m JOIN accounts a ON a.id = m.account_id
         WHERE m.scope_id = $1 ORDER BY m.added, a.name",
    )
    .bind(found.id)
    .fetch_all(&mut *connection)
    .await?;
    let invited: Vec<(String, String, String, String)> = sqlx::query_as(
        "SELECT a.name, i.role, b.name, i.expires FROM member_invitations i
         JOIN accounts a ON a.id = i.account_id JOIN accounts b ON b.id = i.inviter_id
         JOIN scope_members m ON m.scope_id = i.scope_id AND m.account_id = i.inviter_id
         AND m.role = 'owner' AND m.added <= i.created
         WHERE i.scope_id = $1 AND i.expires > $2 ORDER BY i.created, a.name",
    )
    .bind(found.id)
    .bind(clock::now())
    .fetch_all(connection)
    .await?;
    Ok(Members {
        scope: scope.clone(),
        private: found.private,
        members: members.into_iter().map(|(account, role)| Member { account, role }).collect(),
        invited: invited
            .into_iter()
            .map(|(account, role, by, expires)| InvitedMember { account, role, by, expires })
            .collect(),
    })
}

/// An invitation that holds: the scope's row and name, the role, who made it, until when.
type Open = (i64, String, String, String, String);

async fn open(connection: &mut AnyConnection, account: i64) -> Result<Vec<Open>, sqlx::Error> {
    sqlx::query_as(
        "SELECT i.scope_id, s.name, i.role, b.name, i.expires FROM member_invitations i
         JOIN scopes s ON s.id = i.scope_id JOIN accounts b ON b.id = i.inviter_id
         JOIN scope_members m ON m.scope_id = i.scope_id AND m.account_id = i.inviter_id
         AND m.role = 'owner' AND m.added <= i.created
         WHERE i.account_id = $1 AND i.expires > $2 ORDER BY i.created, s.name",
    )
    .bind(account)
    .bind(clock::now())
    .fetch_all(connection)
    .await
}

/// The scopes that an account is invited to be a member of.
pub async fn invitations_of(
    connection: &mut AnyConnection,
    account: i64,
) -> Answer<Vec<MemberInvitation>> {
    let all = open(connection, account).await?;
    all.into_iter()
        .map(|(_, scope, role, by, expires)| {
            Ok(MemberInvitation { scope: stored(&scope)?, role, by, expires })
        })
        .collect()
}

/// Invites an account to be a member; one that is invited already is invited anew.
pub async fn invite(
    write: &mut Write,
    actor: Actor<'_>,
    scope: &Scope,
    found: Found,
    account: &str,
    role: Role,
) -> Answer<()> {
    let account = candidate(write, account).await?;
    if let Some(present) = role_of(write, found, &account).await? {
        if present == role {
            return Ok(());
        }
        let detail = format!(
            "`{}` is a member of `{scope}` already, as {present}; `skillpkg scope role` changes that",
            account.name
        );
        return Err(Refusal::new(Code::AlreadyAMember, detail));
    }
    let invited: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM member_invitations
         WHERE inviter_id = $1 AND NOT (scope_id = $2 AND account_id = $3) AND expires > $4",
    )
    .bind(actor.id)
    .bind(found.id)
    .bind(account.id)
    .bind(clock::now())
    .fetch_one(&mut **write)
    .await?;
    if invited >= MAX_OPEN {
        let detail = format!("`{}` has {MAX_OPEN} open invitations, which is the most", actor.name);
        return Err(Refusal::new(Code::TooMany, detail));
    }
    sqlx::query(
        "INSERT INTO member_invitations (scope_id, account_id, inviter_id, role, created, expires)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (scope_id, account_id) DO UPDATE SET inviter_id = excluded.inviter_id,
         role = excluded.role, created = excluded.created, expires = excluded.expires",
    )
    .bind(found.id)
    .bind(account.id)
    .bind(actor.id)
    .bind(role.text())
    .bind(clock::now())
    .bind(clock::in_days(DAYS))
    .execute(&mut **write)
    .await?;
    let invited = Change::MemberInvited { scope, account: &account.name, role };
    events::record(write, Some(actor.id), invited).await?;
    Ok(())
}

/// Gives a member another role; the scope keeps an owner.
pub async fn set_role(
    write: &mut Write,
    actor: Actor<'_>,
    scope: &Scope,
    found: Found,
    account: &str,
    role: Role,
) -> Answer<()> {
    let account = candidate(write, account).await?;
    match role_of(write, found, &account).await? {
        None => return Err(no_role(write, scope, found, &account).await?),
        Some(present) if present == role => return Ok(()),
        Some(_) => {}
    }
    let scope = (found.id, scope);
    if role != Role::Owner {
        scopes::another_owner(write, scope, &account).await.map_err(refusal)?;
    }
    scopes::join(write, Some(actor.id), scope, &account, role).await.map_err(refusal)
}

/// Removes a member, or takes an invitation back; the scope keeps an owner.
pub async fn remove(
    write: &mut Write,
    actor: Actor<'_>,
    scope: &Scope,
    found: Found,
    account: &str,
) -> Answer<()> {
    let account = candidate(write, account).await?;
    if role_of(write, found, &account).await?.is_some() {
        let scope = (found.id, scope);
        return scopes::leave(write, Some(actor.id), scope, &account).await.map_err(refusal);
    }
    if !end(write, found.id, account.id).await? {
        return Err(no_such_member(&account.name));
    }
    let withdrawn = Change::MemberInvitationWithdrawn { scope, account: &account.name };
    events::record(write, Some(actor.id), withdrawn).await?;
    Ok(())
}

/// Accepts the invitation that an account has to be a member of a scope; one that is a member by
/// then keeps the role that it has.
pub async fn accept(write: &mut Write, actor: Actor<'_>, scope: &Scope) -> Answer<()> {
    let (id, role) = held(write, actor.id, scope).await?;
    end(write, id, actor.id).await?;
    let account = candidate(write, actor.name).await?;
    let found = Found { id, private: true };
    if role_of(write, found, &account).await?.is_some() {
        return Ok(());
    }
    let scope = (id, scope);
    scopes::join(write, Some(actor.id), scope, &account, role).await.map_err(refusal)
}

/// Declines the invitation that an account has to be a member of a scope.
pub async fn decline(write: &mut Write, actor: Actor<'_>, scope: &Scope) -> Answer<()> {
    let (id, _) = held(write, actor.id, scope).await?;
    end(write, id, actor.id).await?;
    let declined = Change::MemberDeclined { scope, account: actor.name };
    events::record(write, Some(actor.id), declined).await?;
    Ok(())
}

async fn held(write: &mut Write, account: i64, scope: &Scope) -> Answer<(i64, Role)> {
    let all = open(write, account).await?;
    let held = all.into_iter().find(|(_, name, ..)| name == scope.as_str());
    let (id, _, role, ..) = held.ok_or_else(Refusal::not_found)?;
    Ok((id, stored(&role)?))
}

async fn end(write: &mut Write, scope: i64, account: i64) -> Result<bool, sqlx::Error> {
    let ended =
        sqlx::query("DELETE FROM member_invitations WHERE scope_id = $1 AND account_id = $2")
            .bind(scope)
            .bind(account)
            .execute(&mut **write)
            .await?;
    Ok(ended.rows_affected() > 0)
}

async fn role_of(write: &mut Write, found: Found, account: &Account) -> Answer<Option<Role>> {
    Ok(crate::skills::owners::role(write, found.id, account.id).await?)
}

async fn candidate(write: &mut Write, account: &str) -> Answer<Account> {
    super::find(&mut **write, account).await?.ok_or_else(|| no_such_member(account))
}

/// Why an account that is no member is given no other role: it has not accepted yet, or is none here.
async fn no_role(
    write: &mut Write,
    scope: &Scope,
    found: Found,
    account: &Account,
) -> Answer<Refusal> {
    let invited = open(write, account.id).await?.into_iter().any(|(id, ..)| id == found.id);
    if !invited {
        return Ok(no_such_member(&account.name));
    }
    let detail = format!(
        "`{}` is invited to `{scope}` and has not accepted yet; \
         `skillpkg scope invite` again gives the invitation another role",
        account.name
    );
    Ok(Refusal::new(Code::NoSuchAccount, detail))
}

/// One answer for no account and no member.
fn no_such_member(account: &str) -> Refusal {
    let detail = format!("`{}` is not an account that can be or is a member here", escape(account));
    Refusal::new(Code::NoSuchAccount, detail)
}

fn refusal(error: AccountError) -> Refusal {
    match error {
        AccountError::Database(error) => error.into(),
        AccountError::LastScopeOwner { .. } => Refusal::new(Code::LastOwner, error.to_string()),
        error => Refusal::new(Code::NoSuchAccount, error.to_string()),
    }
}
