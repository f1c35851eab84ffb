//! What becomes of a new name that reads like one which many use.

use std::fmt;
use std::str::FromStr;

use skillpkg_schema::{Diagnostic, QualifiedName};
use sqlx::AnyConnection;

use super::likeness::{Names, Resemblance};
use super::requests::{self, State};
use crate::auth::Credential;
use crate::database::{Database, Truth, Write};
use crate::problem::{Answer, Code, Refusal};

/// What an operator wants done with names that read like popular ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Confusable {
    /// Nothing.
    Allow,
    /// They are published, and listed.
    #[default]
    Flag,
    /// They wait until an operator releases them.
    Hold,
    /// They are refused.
    Refuse,
}

impl Confusable {
    const ALL: [Self; 4] = [Self::Allow, Self::Flag, Self::Hold, Self::Refuse];

    fn text(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Flag => "flag",
            Self::Hold => "hold",
            Self::Refuse => "refuse",
        }
    }
}

impl fmt::Display for Confusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// A text that is no such choice.
#[derive(Debug, thiserror::Error)]
#[error("expected `allow`, `flag`, `hold` or `refuse`")]
pub struct ConfusableError;

impl FromStr for Confusable {
    type Err = ConfusableError;

    fn from_str(text: &str) -> Result<Self, ConfusableError> {
        Self::ALL.into_iter().find(|one| one.text() == text).ok_or(ConfusableError)
    }
}

/// What is to be done with a name that is not there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is taken.
    Free,
    /// It is taken, and listed.
    Flagged(Resemblance),
    /// It waits until an operator releases it.
    Held(Resemblance),
    /// It is refused.
    Refused(Resemblance),
}

/// Judges a name that is not there, for the account that would take it.
///
/// Bare names are compared with bare names alone: what is within a scope is told by the scope. An
/// account that owns the name which it resembles, or that is a member of a scope with an owner of
/// it, may name things alike. A name that an operator refused is refused whatever the policy.
pub async fn judge(
    connection: &mut AnyConnection,
    policy: Confusable,
    popular: &Names,
    credential: &Credential,
    name: &QualifiedName,
) -> Answer<Verdict> {
    if requests::is_refused(connection, name).await? {
        let detail =
            format!("an operator of this registry gives `{name}` to nobody; choose another");
        return Err(Refusal::new(Code::NameRefused, detail));
    }
    if policy == Confusable::Allow || name.scope().is_some() {
        return Ok(Verdict::Free);
    }
    for resemblance in popular.resembled_by(name.name().as_str()) {
        if is_kin(connection, credential.account_id, &resemblance.name).await? {
            continue;
        }
        let state = requests::state(connection, name, credential.account_id).await?;
        return Ok(match policy {
            _ if state == Some(State::Released) => Verdict::Free,
            Confusable::Allow => Verdict::Free,
            Confusable::Flag => Verdict::Flagged(resemblance),
            Confusable::Hold => Verdict::Held(resemblance),
            Confusable::Refuse => Verdict::Refused(resemblance),
        });
    }
    Ok(Verdict::Free)
}

/// Whether an account owns a bare name, or shares a scope with an account that does.
async fn is_kin(
    connection: &mut AnyConnection,
    account: i64,
    name: &str,
) -> Result<bool, sqlx::Error> {
    let Truth(is_own) = sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM skills k JOIN scopes s ON s.id = k.scope_id
           JOIN owners o ON o.skill_id = k.id
           WHERE s.name = '_' AND k.name = $1 AND (o.account_id = $2
             OR EXISTS (SELECT 1 FROM scope_members a
               JOIN scope_members b ON b.scope_id = a.scope_id
               WHERE a.account_id = $2 AND b.account_id = o.account_id)))",
    )
    .bind(name)
    .bind(account)
    .fetch_one(connection)
    .await?;
    Ok(is_own)
}

/// Turns a verdict into the refusal that it means.
pub fn refuse(name: &QualifiedName, verdict: &Verdict) -> Answer<()> {
    match verdict {
        Verdict::Free | Verdict::Flagged(_) => Ok(()),
        Verdict::Held(resemblance) => {
            let detail = format!(
                "`{name}` {resemblance}, which many use: the name waits until an operator releases \
                 it with `skillpkg-registry name release {name}`; publish again then, or choose \
                 another name"
            );
            Err(Refusal::new(Code::NameHeld, detail))
        }
        Verdict::Refused(resemblance) => {
            let detail = format!(
                "`{name}` {resemblance}, which many use: choose a name that nobody takes for that \
                 one, or publish it within a scope of yours"
            );
            Err(Refusal::new(Code::NameConfusable, detail))
        }
    }
}

/// Judges a name before anything of it is received, and notes where it is to wait; refuses what is
/// refused.
pub async fn admit(
    database: &Database,
    policy: Confusable,
    popular: &Names,
    credential: &Credential,
    name: &QualifiedName,
) -> Answer<()> {
    let mut read = database.readers().acquire().await?;
    let verdict = judge(&mut read, policy, popular, credential, name).await?;
    drop(read);
    if let Verdict::Held(resemblance) = &verdict {
        let mut write = database.write().await?;
        requests::note(&mut write, credential, name, resemblance, State::Held).await?;
        write.commit().await?;
    }
    refuse(name, &verdict)
}

/// Judges a name that is being taken, under the write lock; answers with what its publisher is told.
pub async fn settle(
    write: &mut Write,
    policy: Confusable,
    popular: &Names,
    credential: &Credential,
    name: &QualifiedName,
) -> Answer<Option<Diagnostic>> {
    let verdict = judge(write, policy, popular, credential, name).await?;
    refuse(name, &verdict)?;
    let Verdict::Flagged(resemblance) = verdict else { return Ok(None) };
    requests::note(write, credential, name, &resemblance, State::Flagged).await?;
    let message =
        format!("`{name}` {resemblance}, which many use; the registry's operators see that");
    Ok(Some(Diagnostic::warning("name_resembles", message).with_hint(
        "whoever mistakes one for the other runs the wrong skill: a name of its own, or one within a \
         scope, is safer for both",
    )))
}
