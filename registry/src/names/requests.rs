//! Names that read like others, who asked for them, and what an operator said.

use serde::Serialize;
use skillpkg_schema::QualifiedName;
use sqlx::AnyConnection;

use super::ChangeError;
use super::likeness::Resemblance;
use crate::auth::Credential;
use crate::clock;
use crate::database::{Database, Truth, Write};
use crate::problem::{Answer, Refusal};
use crate::skills;

/// Names of one account that may wait at once.
const MOST_HELD: i64 = 100;

/// What became of a name that reads like another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is published, and no operator has looked at it.
    Flagged,
    /// It waits.
    Held,
    /// An operator released it to the account.
    Released,
    /// An operator refused it.
    Refused,
}

impl State {
    const ALL: [Self; 4] = [Self::Flagged, Self::Held, Self::Released, Self::Refused];

    /// The state's word.
    pub fn text(self) -> &'static str {
        match self {
            Self::Flagged => "flagged",
            Self::Held => "held",
            Self::Released => "released",
            Self::Refused => "refused",
        }
    }
}

fn read_state(text: &str) -> Option<State> {
    State::ALL.into_iter().find(|state| state.text() == text)
}

/// A name that was judged, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The name.
    pub name: String,
    /// What became of it.
    pub state: State,
    /// Who asked for it; absent where an operator refused it unasked.
    pub account: Option<String>,
    /// The name that it is like.
    pub resembles: Option<String>,
    /// How it is like that.
    pub likeness: Option<String>,
    /// When it was asked for, or refused unasked, RFC 3339 in UTC.
    pub asked: String,
}

/// Whether an operator gives the name to nobody.
pub async fn is_refused(
    connection: &mut AnyConnection,
    name: &QualifiedName,
) -> Result<bool, sqlx::Error> {
    let asked = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM refused_names WHERE name = $1)");
    let Truth(is_refused) = asked.bind(name.to_string()).fetch_one(connection).await?;
    Ok(is_refused)
}

/// What became of a name that an account asked for.
pub async fn state(
    connection: &mut AnyConnection,
    name: &QualifiedName,
    account: i64,
) -> Result<Option<State>, sqlx::Error> {
    let state: Option<String> = sqlx::query_scalar(
        "SELECT state FROM confusable_names WHERE name = $1 AND account_id = $2",
    )
    .bind(name.to_string())
    .bind(account)
    .fetch_optional(connection)
    .await?;
    Ok(state.as_deref().and_then(read_state))
}

/// Notes that an account asked for a name, once; it is committed with the transaction.
pub async fn note(
    write: &mut Write,
    credential: &Credential,
    name: &QualifiedName,
    resemblance: &Resemblance,
    state: State,
) -> Answer<()> {
    let known = self::state(write, name, credential.account_id).await?;
    if state == State::Held && known.is_none() {
        let held: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM confusable_names WHERE account_id = $1 AND state = 'held'",
        )
        .bind(credential.account_id)
        .fetch_one(&mut **write)
        .await?;
        if held >= MOST_HELD {
            let detail = format!("{held} names of `{}` wait already", credential.account);
            return Err(Refusal::rate_limited(detail, 3_600));
        }
    }
    sqlx::query(
        "INSERT INTO confusable_names (name, account_id, resembles, likeness, state, asked)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (name, account_id) DO UPDATE SET resembles = excluded.resembles,
           likeness = excluded.likeness, state = excluded.state, decided = NULL
         WHERE confusable_names.state <> excluded.state",
    )
    .bind(name.to_string())
    .bind(credential.account_id)
    .bind(&resemblance.name)
    .bind(resemblance.likeness.text())
    .bind(state.text())
    .bind(clock::now())
    .execute(&mut **write)
    .await?;
    Ok(())
}

/// The names in one of these states, the oldest first; in any where none is given.
pub async fn list(database: &Database, states: &[State]) -> Result<Vec<Listed>, sqlx::Error> {
    type Row = (String, String, Option<String>, Option<String>, Option<String>, String);
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT c.name, c.state, a.name, c.resembles, c.likeness, c.asked
         FROM confusable_names c JOIN accounts a ON a.id = c.account_id
         UNION ALL
         SELECT r.name, 'refused', NULL, NULL, NULL, r.refused FROM refused_names r
         WHERE NOT EXISTS (SELECT 1 FROM confusable_names c WHERE c.name = r.name)
         ORDER BY 6, 1, 3",
    )
    .fetch_all(database.readers())
    .await?;
    let listed = rows.into_iter().filter_map(|row| {
        let (name, state, account, resembles, likeness, asked) = row;
        let state = read_state(&state)?;
        Some(Listed { name, state, account, resembles, likeness, asked })
    });
    Ok(listed.filter(|one| states.is_empty() || states.contains(&one.state)).collect())
}

/// Lets an account have a name whatever it resembles, or keep it unlisted; committed when this
/// answers. Without `account`, the one that asked for it; and a name that was refused is whoever's asks
/// for it from now on.
///
/// Answers with the account; [`None`] where a refusal was taken back, and not one account alone had
/// asked.
pub async fn release(
    database: &Database,
    name: &QualifiedName,
    account: Option<&str>,
) -> Result<Option<String>, ChangeError> {
    let mut write = database.write().await?;
    let was_refused = is_refused(&mut write, name).await?;
    let asked: Vec<(i64, String)> = sqlx::query_as(
        "SELECT a.id, a.name FROM confusable_names c JOIN accounts a ON a.id = c.account_id
         WHERE c.name = $1 ORDER BY c.asked, a.name",
    )
    .bind(name.to_string())
    .fetch_all(&mut *write)
    .await?;
    let released = match account {
        Some(account) => {
            let found = super::receiver(&mut write, account).await?;
            Some((found.id, found.name))
        }
        None => match asked.as_slice() {
            [(id, account)] => Some((*id, account.clone())),
            _ if was_refused => None,
            [] => return Err(ChangeError::NobodyAsked(name.clone())),
            many => {
                let accounts = many.iter().map(|(_, account)| account.clone()).collect();
                return Err(ChangeError::ManyAsked { name: name.clone(), accounts });
            }
        },
    };
    if let Some((id, _)) = &released {
        sqlx::query(
            "INSERT INTO confusable_names
               (name, account_id, resembles, likeness, state, asked, decided)
             VALUES ($1, $2, '', '', 'released', $3, $3)
             ON CONFLICT (name, account_id) DO UPDATE SET state = 'released', decided = $3",
        )
        .bind(name.to_string())
        .bind(id)
        .bind(clock::now())
        .execute(&mut *write)
        .await?;
    }
    // Those who are given nothing are judged anew when they ask again.
    sqlx::query("DELETE FROM confusable_names WHERE name = $1 AND state = 'refused'")
        .bind(name.to_string())
        .execute(&mut *write)
        .await?;
    sqlx::query("DELETE FROM refused_names WHERE name = $1")
        .bind(name.to_string())
        .execute(&mut *write)
        .await?;
    write.commit().await?;
    Ok(released.map(|(_, account)| account))
}

/// Gives a name that has no version to nobody, until it is released; committed when this answers.
pub async fn refuse(database: &Database, name: &QualifiedName) -> Result<(), ChangeError> {
    let mut write = database.write().await?;
    if let Some(skill) = skills::find(&mut write, name).await? {
        let versions: i64 = sqlx::query_scalar("SELECT count(*) FROM versions WHERE skill_id = $1")
            .bind(skill.id)
            .fetch_one(&mut *write)
            .await?;
        if versions > 0 {
            return Err(ChangeError::InUse(name.clone()));
        }
    }
    let now = clock::now();
    sqlx::query(
        "INSERT INTO refused_names (name, refused) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
    )
    .bind(name.to_string())
    .bind(&now)
    .execute(&mut *write)
    .await?;
    sqlx::query("UPDATE confusable_names SET state = 'refused', decided = $2 WHERE name = $1")
        .bind(name.to_string())
        .bind(&now)
        .execute(&mut *write)
        .await?;
    write.commit().await?;
    Ok(())
}

/// The scopes that a name of a scope is like.
pub async fn scopes_like(
    database: &Database,
    scope: &str,
) -> Result<Vec<Resemblance>, sqlx::Error> {
    let scopes: Vec<String> =
        sqlx::query_scalar("SELECT name FROM scopes WHERE name NOT IN ('_', $1)")
            .bind(scope)
            .fetch_all(database.readers())
            .await?;
    let others: super::likeness::Names = scopes.into_iter().collect();
    Ok(others.resembled_by(scope))
}
