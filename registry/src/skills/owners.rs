//! Who may publish and yank a skill.
//!
//! A bare name is its owners'. A scoped one is the members' of its scope who publish; a member who
//! only reads can be made the owner of one skill.

use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::wire::Owners;
use sqlx::AnyConnection;

use super::{Skill, invitations};
use crate::access::Standing;
use crate::accounts::scopes::Role;
use crate::accounts::{self, Account, Actor};
use crate::auth::Caller;
use crate::clock;
use crate::database::Write;
use crate::events::{self, Change};
use crate::problem::{Answer, Code, Refusal};

/// Most owners of one skill.
pub(super) const MAX_OWNERS: i64 = 100;

/// What an account may do in a scope.
pub async fn role(
    connection: &mut AnyConnection,
    scope: i64,
    account: i64,
) -> Result<Option<Role>, sqlx::Error> {
    let role: Option<String> = sqlx::query_scalar(
        "SELECT role FROM scope_members WHERE scope_id = $1 AND account_id = $2",
    )
    .bind(scope)
    .bind(account)
    .fetch_optional(connection)
    .await?;
    Ok(role.and_then(|role| role.parse().ok()))
}

/// Whether an account is among the skill's own owners.
pub async fn is_owner(
    connection: &mut AnyConnection,
    skill: i64,
    account: i64,
) -> Result<bool, sqlx::Error> {
    let found: Option<i64> =
        sqlx::query_scalar("SELECT 1 FROM owners WHERE skill_id = $1 AND account_id = $2")
            .bind(skill)
            .bind(account)
            .fetch_optional(connection)
            .await?;
    Ok(found.is_some())
}

/// The accounts that may publish the skill, in the order in which they came to.
pub async fn of_skill(
    connection: &mut AnyConnection,
    skill: Skill,
) -> Result<Vec<String>, sqlx::Error> {
    let rows: Vec<(String, String)> = sqlx::query_as(
        "SELECT a.name, o.added FROM owners o JOIN accounts a ON a.id = o.account_id
         WHERE o.skill_id = $1
         UNION ALL
         SELECT a.name, m.added FROM scope_members m JOIN accounts a ON a.id = m.account_id
         WHERE m.scope_id = $2 AND m.role <> 'reader'
         ORDER BY 2, 1",
    )
    .bind(skill.id)
    .bind(skill.scope)
    .fetch_all(connection)
    .await?;
    let mut owners: Vec<String> = Vec::with_capacity(rows.len());
    for (name, _) in rows {
        if !owners.contains(&name) {
            owners.push(name);
        }
    }
    Ok(owners)
}

/// The owners of a skill, and who is invited to be one where `caller` is an owner.
pub async fn shown_to(
    connection: &mut AnyConnection,
    caller: &Caller,
    name: &QualifiedName,
    skill: Skill,
) -> Answer<Owners> {
    let owners = of_skill(connection, skill).await?;
    let standing = super::standing(connection, caller, name, skill).await?;
    let invited = if standing == Standing::Publisher {
        invitations::of_skill(connection, skill).await?
    } else {
        Vec::new()
    };
    Ok(Owners { owners, invited })
}

/// Adds the row of an owner; whether there was none.
pub async fn insert(write: &mut Write, skill: i64, account: i64) -> Result<bool, sqlx::Error> {
    let added = sqlx::query(
        "INSERT INTO owners (skill_id, account_id, added) VALUES ($1, $2, $3)
         ON CONFLICT (skill_id, account_id) DO NOTHING",
    )
    .bind(skill)
    .bind(account)
    .bind(clock::now())
    .execute(&mut **write)
    .await?;
    Ok(added.rows_affected() > 0)
}

/// Makes one account the only owner, in the place of those there are.
pub async fn replace(
    write: &mut Write,
    actor: Option<i64>,
    name: &QualifiedName,
    skill: Skill,
    (id, account): (i64, &str),
) -> Result<(), sqlx::Error> {
    let others: Vec<(i64, String)> = sqlx::query_as(
        "SELECT a.id, a.name FROM owners o JOIN accounts a ON a.id = o.account_id
         WHERE o.skill_id = $1 AND a.id <> $2 ORDER BY a.name",
    )
    .bind(skill.id)
    .bind(id)
    .fetch_all(&mut **write)
    .await?;
    // The new one first: a name is never without an owner, in the log either.
    if insert(write, skill.id, id).await? {
        events::record(write, actor, Change::OwnerAdded { name, account }).await?;
    }
    for (other, former) in others {
        sqlx::query("DELETE FROM owners WHERE skill_id = $1 AND account_id = $2")
            .bind(skill.id)
            .bind(other)
            .execute(&mut **write)
            .await?;
        events::record(write, actor, Change::OwnerRemoved { name, account: &former }).await?;
    }
    Ok(())
}

/// Removes the row of an owner.
pub(super) async fn delete(write: &mut Write, skill: i64, account: i64) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM owners WHERE skill_id = $1 AND account_id = $2")
        .bind(skill)
        .bind(account)
        .execute(&mut **write)
        .await?;
    Ok(())
}

/// Removes an owner, though never the last of a bare name, or takes an invitation back.
pub async fn remove(
    write: &mut Write,
    actor: Actor<'_>,
    name: &QualifiedName,
    skill: Skill,
    account: &str,
) -> Answer<()> {
    let found = accounts::find(&mut **write, account).await?;
    let account = found.ok_or_else(|| no_such_owner(name, account))?;
    let owns = is_owner(write, skill.id, account.id).await?;
    if invitations::withdraw(write, actor, name, skill, &account).await? && !owns {
        return Ok(());
    }
    if role(write, skill.scope, account.id).await?.is_some_and(Role::publishes) {
        let detail = format!(
            "`{}` owns `{name}` through its scope; `skillpkg scope` changes who is a member",
            account.name
        );
        return Err(Refusal::new(Code::OwnedThroughScope, detail));
    }
    if !owns {
        return Err(no_such_owner(name, &account.name));
    }
    // The write lock is held since the transaction began: of two that remove the last two owners,
    // the second sees what the first left.
    let owners: i64 = sqlx::query_scalar("SELECT count(*) FROM owners WHERE skill_id = $1")
        .bind(skill.id)
        .fetch_one(&mut **write)
        .await?;
    if owners == 1 && name.scope().is_none() {
        let detail = format!("`{}` is the last owner of `{name}`; add another first", account.name);
        return Err(Refusal::new(Code::LastOwner, detail));
    }
    delete(write, skill.id, account.id).await?;
    let removed = Change::OwnerRemoved { name, account: &account.name };
    events::record(write, Some(actor.id), removed).await?;
    Ok(())
}

/// The account that is to be an owner of a skill. Of a bare name everybody can be one, so that there
/// is nothing to hide in which accounts there are.
pub(super) async fn candidate(
    write: &mut Write,
    name: &QualifiedName,
    account: &str,
) -> Answer<Account> {
    accounts::find(&mut **write, account).await?.ok_or_else(|| {
        if name.scope().is_some() {
            return no_such_owner(name, account);
        }
        let detail = format!("there is no account `{}` at this registry", escape(account));
        Refusal::new(Code::NoSuchAccount, detail)
    })
}

/// One answer for no account, no member and no owner: it tells nobody which accounts there are.
pub(super) fn no_such_owner(name: &QualifiedName, account: &str) -> Refusal {
    let account = escape(account);
    let detail = if name.scope().is_some() {
        format!(
            "`{account}` is not an account that can be or is an owner here; the owner of a scoped \
             skill is a member of its scope"
        )
    } else {
        format!("`{account}` is no owner of `{name}`, and not invited to be one")
    };
    Refusal::new(Code::NoSuchAccount, detail)
}
