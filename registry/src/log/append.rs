//! Leaves that a change appends, in the transaction that makes it.

use skillpkg_schema::log::{Record, Salt, Sealed, Subject};
use skillpkg_schema::{QualifiedName, Scope};

use crate::clock;
use crate::database::{Truth, Write};
use crate::random;

/// A leaf that is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// What it says.
    pub subject: Subject,
    /// When that happened, RFC 3339 in UTC.
    pub at: String,
    /// The scope that it is about, where it is about one: a private one's leaves are blinded.
    pub scope: Option<Scope>,
}

impl Leaf {
    /// A leaf about what happens now.
    pub fn now(subject: Subject) -> Self {
        Self::at(subject, clock::now())
    }

    /// A leaf about what happened then.
    pub fn at(subject: Subject, at: String) -> Self {
        let scope = match &subject {
            Subject::ScopeAdded { scope }
            | Subject::MemberAdded { scope, .. }
            | Subject::MemberRemoved { scope, .. } => Some(scope.clone()),
            other => other.skill().and_then(QualifiedName::scope).cloned(),
        };
        Self { subject, at, scope }
    }
}

/// Appends a leaf; answers with its index.
///
/// The index is this transaction's: rolled back, it takes none, and the next change has it.
pub async fn append(write: &mut Write, leaf: Leaf) -> Result<u64, sqlx::Error> {
    let Leaf { subject, at, scope } = leaf;
    let private = match &scope {
        Some(scope) => sqlx::query_scalar("SELECT private = TRUE FROM scopes WHERE name = $1")
            .bind(scope.as_str())
            .fetch_optional(&mut **write)
            .await?
            // A scope that is not there yet is hidden rather than shown.
            .is_none_or(|Truth(private)| private),
        None => false,
    };
    let salt = if private { Some(salt()?) } else { None };
    let sealed = Sealed { record: Record { at, subject }, salt };
    let index: i64 = sqlx::query_scalar(
        "UPDATE log_state SET next_index = next_index + 1 WHERE id = 1 RETURNING next_index - 1",
    )
    .fetch_one(&mut **write)
    .await?;
    sqlx::query("INSERT INTO log_pending (log_index, entry) VALUES ($1, $2)")
        .bind(index)
        .bind(sealed.entry())
        .execute(&mut **write)
        .await?;
    if let (true, Some(scope)) = (private, scope) {
        let json =
            serde_json::to_string(&sealed).map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
        sqlx::query("INSERT INTO log_records (log_index, scope, sealed) VALUES ($1, $2, $3)")
            .bind(index)
            .bind(scope.as_str())
            .bind(json)
            .execute(&mut **write)
            .await?;
    }
    Ok(index.unsigned_abs())
}

fn salt() -> Result<Salt, sqlx::Error> {
    random::bytes().map(Salt::from_bytes).map_err(|error| sqlx::Error::Encode(Box::new(error)))
}
