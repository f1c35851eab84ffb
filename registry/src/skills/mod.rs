//! Skills: whose they are, their versions, and how a version comes to be.

pub mod invitations;
pub mod owners;
pub mod publish;
pub mod versions;

use skillpkg_schema::QualifiedName;
use sqlx::AnyConnection;

use crate::access::{self, Decision, Need, Standing};
use crate::auth::Caller;
use crate::database::Truth;
use crate::problem::{Answer, Code, Refusal};

/// A skill's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skill {
    /// The row.
    pub id: i64,
    /// The scope's row.
    pub scope: i64,
    /// Whether its scope is private.
    pub private: bool,
}

/// The skill of this name.
pub async fn find(
    connection: &mut AnyConnection,
    name: &QualifiedName,
) -> Result<Option<Skill>, sqlx::Error> {
    let row: Option<(i64, i64, Truth)> = sqlx::query_as(
        "SELECT k.id, k.scope_id, s.private = TRUE FROM skills k
         JOIN scopes s ON s.id = k.scope_id WHERE s.name = $1 AND k.name = $2",
    )
    .bind(name.wire_scope())
    .bind(name.name().as_str())
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|(id, scope, Truth(private))| Skill { id, scope, private }))
}

/// What is asked about in the place of a skill that is not there.
const NO_SKILL: Skill = Skill { id: -1, scope: -1, private: true };

/// The skill of this name, where it is there and the caller has what `need` asks; else the refusal.
///
/// What the caller is to it is looked up whether it is there or not: the time of the answer must not
/// tell what the answer hides.
pub async fn find_for(
    connection: &mut AnyConnection,
    caller: &Caller,
    need: Need,
    name: &QualifiedName,
) -> Answer<Skill> {
    refuse(access::decide_unseen(need, caller, Some(name)), need, name)?;
    let found = find(connection, name).await?;
    let standing = standing(connection, caller, name, found.unwrap_or(NO_SKILL)).await?;
    let skill = found.ok_or_else(Refusal::not_found)?;
    refuse(access::decide(need, caller, name, skill.private, standing), need, name)?;
    Ok(skill)
}

/// What the caller is to a skill that is there, as of this connection's snapshot.
pub async fn standing(
    connection: &mut AnyConnection,
    caller: &Caller,
    name: &QualifiedName,
    skill: Skill,
) -> Result<Standing, sqlx::Error> {
    let Some(credential) = caller.credential() else { return Ok(Standing::Stranger) };
    let role = owners::role(connection, skill.scope, credential.account_id).await?;
    let owner = owners::is_owner(connection, skill.id, credential.account_id).await?;
    Ok(Standing::of(name, role, owner))
}

/// Turns a decision into the refusal that it means.
pub fn refuse(decision: Decision, need: Need, name: &QualifiedName) -> Answer<()> {
    Err(match decision {
        Decision::Allowed => return Ok(()),
        Decision::Hidden => Refusal::not_found(),
        Decision::Unauthorized => {
            Refusal::unauthorized("this needs a token: send `Authorization: Bearer skp_…`")
        }
        Decision::LacksGrant => {
            let grant = match need {
                Need::Publish | Need::PublishSome => format!("publish:{name}"),
                Need::Yank => format!("yank:{name}"),
                _ => "admin".to_owned(),
            };
            let detail = format!("this needs a token that grants `{grant}`");
            Refusal::new(Code::TokenLacksGrant, detail)
        }
        Decision::NotAnOwner => Refusal::new(
            Code::NotAnOwner,
            format!(
                "only an owner of `{name}` may do this; `skillpkg owner list {name}` shows them"
            ),
        ),
    })
}
