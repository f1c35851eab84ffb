//! Invitations to own a skill.
//!
//! Nobody becomes an owner without having agreed, or without an owner who still is one: an invitation
//! holds until its end, and as long as whoever made it owns the skill without having left it since.
//! One that does not hold is not there, for whoever it was made for as for everybody else.

use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::{Invited, OwnerInvitation};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, FromRow, Row as _};

use super::{Skill, owners};
use crate::access::Standing;
use crate::accounts::scopes::Role;
use crate::accounts::{Account, Actor};
use crate::clock;
use crate::database::{Truth, Write};
use crate::documents::stored;
use crate::events::{self, Change};
use crate::problem::{Answer, Code, Refusal};

/// For how many days an invitation holds.
pub const DAYS: u32 = 14;
/// Most invitations of one account that are open at once, of each kind.
pub const MAX_OPEN: i64 = 100;

/// Those that are open at a moment, of which one column is an id.
macro_rules! open {
    ($column:literal) => {
        concat!(
            "SELECT i.skill_id, s.name AS scope, k.name AS name, i.account_id,
    a.name AS account, i.inviter_id, b.name AS inviter, i.transfer = TRUE AS transfer, i.expires,
    o.account_id IS NOT NULL AS inviter_owns, m.role AS inviter_role, own.role AS role
    FROM owner_invitations i
    JOIN skills k ON k.id = i.skill_id JOIN scopes s ON s.id = k.scope_id
    JOIN accounts a ON a.id = i.account_id JOIN accounts b ON b.id = i.inviter_id
    LEFT JOIN owners o
    ON o.skill_id = i.skill_id AND o.account_id = i.inviter_id AND o.added <= i.created
    LEFT JOIN scope_members m
    ON m.scope_id = k.scope_id AND m.account_id = i.inviter_id AND m.added <= i.created
    LEFT JOIN scope_members own ON own.scope_id = k.scope_id AND own.account_id = i.account_id
    WHERE i.expires > $1 AND ",
            $column,
            " = $2 ORDER BY i.created, s.name, k.name, a.name"
        )
    };
}

const OF_ACCOUNT: &str = open!("i.account_id");
const OF_SKILL: &str = open!("i.skill_id");

/// An invitation that is open.
#[derive(Debug)]
struct Open {
    skill: i64,
    name: QualifiedName,
    account: String,
    inviter_id: i64,
    inviter: String,
    transfer: bool,
    expires: String,
    holds: bool,
}

struct Row {
    skill: i64,
    scope: String,
    name: String,
    account: String,
    inviter_id: i64,
    inviter: String,
    transfer: bool,
    expires: String,
    inviter_owns: bool,
    inviter_role: Option<String>,
    role: Option<String>,
}

impl FromRow<'_, AnyRow> for Row {
    fn from_row(row: &AnyRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            skill: row.try_get("skill_id")?,
            scope: row.try_get("scope")?,
            name: row.try_get("name")?,
            account: row.try_get("account")?,
            inviter_id: row.try_get("inviter_id")?,
            inviter: row.try_get("inviter")?,
            transfer: row.try_get::<Truth, _>("transfer")?.0,
            expires: row.try_get("expires")?,
            inviter_owns: row.try_get::<Truth, _>("inviter_owns")?.0,
            inviter_role: row.try_get("inviter_role")?,
            role: row.try_get("role")?,
        })
    }
}

impl Row {
    fn open(self) -> Answer<Open> {
        let name = QualifiedName::from_wire(&self.scope, &self.name)
            .map_err(|error| Refusal::internal(&error))?;
        let role = |text: Option<String>| text.as_deref().map(stored::<Role>).transpose();
        let inviter = Standing::of(&name, role(self.inviter_role)?, self.inviter_owns);
        // An owner of a scoped skill is a member of its scope, whoever invites.
        let may_own = name.scope().is_none() || role(self.role)?.is_some();
        let holds =
            may_own && inviter == Standing::Publisher && (self.inviter_owns || !self.transfer);
        Ok(Open {
            skill: self.skill,
            name,
            account: self.account,
            inviter_id: self.inviter_id,
            inviter: self.inviter,
            transfer: self.transfer,
            expires: self.expires,
            holds,
        })
    }
}

/// The open invitations of which `column` is `id`, oldest first; those alone that hold.
async fn open(connection: &mut AnyConnection, column: Column, id: i64) -> Answer<Vec<Open>> {
    let query = match column {
        Column::Account => OF_ACCOUNT,
        Column::Skill => OF_SKILL,
    };
    let rows: Vec<Row> =
        sqlx::query_as(query).bind(clock::now()).bind(id).fetch_all(connection).await?;
    let mut all = rows.into_iter().map(Row::open).collect::<Answer<Vec<Open>>>()?;
    all.retain(|one| one.holds);
    Ok(all)
}

#[derive(Debug, Clone, Copy)]
enum Column {
    Account,
    Skill,
}

/// Who is invited to own a skill.
pub async fn of_skill(connection: &mut AnyConnection, skill: Skill) -> Answer<Vec<Invited>> {
    let all = open(connection, Column::Skill, skill.id).await?;
    Ok(all
        .into_iter()
        .map(|Open { account, inviter, expires, transfer, .. }| Invited {
            account,
            by: inviter,
            expires,
            transfer,
        })
        .collect())
}

/// What an account is invited to own.
pub async fn of_account(
    connection: &mut AnyConnection,
    account: i64,
) -> Answer<Vec<OwnerInvitation>> {
    let all = open(connection, Column::Account, account).await?;
    Ok(all
        .into_iter()
        .map(|Open { name, inviter, expires, transfer, .. }| OwnerInvitation {
            name,
            by: inviter,
            expires,
            transfer,
        })
        .collect())
}

/// Invites an account to own a skill, in the place of the actor where it is a transfer; one that is
/// an owner already stays one, and one that is invited already is invited anew.
pub async fn invite(
    write: &mut Write,
    actor: Actor<'_>,
    name: &QualifiedName,
    skill: Skill,
    account: &str,
    transfer: bool,
) -> Answer<()> {
    let account = owners::candidate(write, name, account).await?;
    let role = owners::role(write, skill.scope, account.id).await?;
    if name.scope().is_some() && role.is_none() {
        return Err(owners::no_such_owner(name, &account.name));
    }
    if transfer {
        may_transfer(write, actor, name, skill, &account).await?;
    } else {
        let owner = owners::is_owner(write, skill.id, account.id).await?;
        if Standing::of(name, role, owner) == Standing::Publisher {
            return Ok(());
        }
    }
    within_bounds(write, actor, name, skill, &account).await?;
    sqlx::query(
        "INSERT INTO owner_invitations (skill_id, account_id, inviter_id, transfer, created, expires)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (skill_id, account_id) DO UPDATE SET inviter_id = excluded.inviter_id,
         transfer = excluded.transfer, created = excluded.created, expires = excluded.expires",
    )
    .bind(skill.id)
    .bind(account.id)
    .bind(actor.id)
    .bind(transfer)
    .bind(clock::now())
    .bind(clock::in_days(DAYS))
    .execute(&mut **write)
    .await?;
    let invited = Change::OwnerInvited { name, account: &account.name, transfer };
    events::record(write, Some(actor.id), invited).await?;
    Ok(())
}

/// A skill is handed on by one of its own owners, to somebody else.
async fn may_transfer(
    write: &mut Write,
    actor: Actor<'_>,
    name: &QualifiedName,
    skill: Skill,
    account: &Account,
) -> Answer<()> {
    if account.id == actor.id {
        let detail = format!("`{name}` is handed on to another account than your own");
        return Err(Refusal::new(Code::InvalidRequest, detail));
    }
    let role = owners::role(write, skill.scope, actor.id).await?;
    let through_scope = role.is_some_and(Role::publishes);
    if through_scope || !owners::is_owner(write, skill.id, actor.id).await? {
        let detail = format!(
            "`{}` owns `{name}` through its scope, and cannot hand that on; add an owner instead",
            actor.name
        );
        return Err(Refusal::new(Code::OwnedThroughScope, detail));
    }
    Ok(())
}

async fn within_bounds(
    write: &mut Write,
    actor: Actor<'_>,
    name: &QualifiedName,
    skill: Skill,
    account: &Account,
) -> Answer<()> {
    let now = clock::now();
    let (of_skill, of_inviter): (i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM owners WHERE skill_id = $1) + (SELECT count(*)
         FROM owner_invitations WHERE skill_id = $1 AND account_id <> $2 AND expires > $4),
         (SELECT count(*) FROM owner_invitations
         WHERE inviter_id = $3 AND NOT (skill_id = $1 AND account_id = $2) AND expires > $4)",
    )
    .bind(skill.id)
    .bind(account.id)
    .bind(actor.id)
    .bind(&now)
    .fetch_one(&mut **write)
    .await?;
    let most = owners::MAX_OWNERS;
    let detail = if of_skill >= most {
        format!("`{name}` has {most} owners and invitations, which is the most")
    } else if of_inviter >= MAX_OPEN {
        format!("`{}` has {MAX_OPEN} open invitations, which is the most", actor.name)
    } else {
        return Ok(());
    };
    Err(Refusal::new(Code::TooMany, detail))
}

/// Takes an invitation back, or declines it; whether there was one.
async fn end(write: &mut Write, skill: i64, account: i64) -> Result<bool, sqlx::Error> {
    let ended =
        sqlx::query("DELETE FROM owner_invitations WHERE skill_id = $1 AND account_id = $2")
            .bind(skill)
            .bind(account)
            .execute(&mut **write)
            .await?;
    Ok(ended.rows_affected() > 0)
}

/// Takes back the invitation of an account to own a skill; whether there was one.
pub async fn withdraw(
    write: &mut Write,
    actor: Actor<'_>,
    name: &QualifiedName,
    skill: Skill,
    account: &Account,
) -> Result<bool, sqlx::Error> {
    if !end(write, skill.id, account.id).await? {
        return Ok(false);
    }
    let withdrawn = Change::OwnerInvitationWithdrawn { name, account: &account.name };
    events::record(write, Some(actor.id), withdrawn).await?;
    Ok(true)
}

async fn held(write: &mut Write, account: i64, name: &QualifiedName) -> Answer<Open> {
    let all = open(write, Column::Account, account).await?;
    all.into_iter().find(|one| one.name == *name).ok_or_else(Refusal::not_found)
}

/// Declines the invitation that an account has to own a skill.
pub async fn decline(write: &mut Write, actor: Actor<'_>, name: &QualifiedName) -> Answer<()> {
    let held = held(write, actor.id, name).await?;
    end(write, held.skill, actor.id).await?;
    let declined = Change::OwnerDeclined { name, account: actor.name };
    events::record(write, Some(actor.id), declined).await?;
    Ok(())
}

/// Accepts the invitation that an account has to own a skill: it is an owner from the commit on, and
/// whoever handed the skill on is none any more.
pub async fn accept(write: &mut Write, actor: Actor<'_>, name: &QualifiedName) -> Answer<()> {
    let held = held(write, actor.id, name).await?;
    end(write, held.skill, actor.id).await?;
    // The new one first: a name is never without an owner, in what is recorded either.
    if owners::insert(write, held.skill, actor.id).await? {
        let added = Change::OwnerAdded { name, account: actor.name };
        events::record(write, Some(actor.id), added).await?;
    }
    if held.transfer {
        owners::delete(write, held.skill, held.inviter_id).await?;
        let removed = Change::OwnerRemoved { name, account: &held.inviter };
        events::record(write, Some(actor.id), removed).await?;
    }
    Ok(())
}
