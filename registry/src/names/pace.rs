//! How fast an account may take new bare names, which are everybody's to take.

use skillpkg_schema::QualifiedName;
use sqlx::AnyConnection;

use crate::auth::Credential;
use crate::clock;
use crate::problem::{Answer, Refusal};

/// For how long a name counts as new, in seconds.
const HOUR: u32 = 3_600;

/// Refuses a bare name to an account that has taken `most` of them within an hour, until the first of
/// those is an hour old. 0 is any number. Names within a scope are not counted: the operator gave the
/// scope to its owners.
pub async fn check(
    connection: &mut AnyConnection,
    most: u32,
    credential: &Credential,
    name: &QualifiedName,
) -> Answer<()> {
    if most == 0 || name.scope().is_some() {
        return Ok(());
    }
    let (taken, first): (i64, Option<String>) = sqlx::query_as(
        "SELECT count(*), min(created) FROM (SELECT skills.created AS created FROM skills
           JOIN scopes ON scopes.id = skills.scope_id
           WHERE scopes.name = '_' AND skills.creator_id = $1 AND skills.created > $2
           ORDER BY skills.created DESC LIMIT $3) recent",
    )
    .bind(credential.account_id)
    .bind(clock::seconds_ago(HOUR))
    .bind(i64::from(most))
    .fetch_one(connection)
    .await?;
    if taken < i64::from(most) {
        return Ok(());
    }
    let age = first.as_deref().map_or(0, clock::seconds_since);
    let detail = format!(
        "`{}` has taken {most} new bare names within an hour, which is the most here; names in a \
         scope of one's own are not counted (`publish --scope SCOPE`), and for a first import an \
         operator raises the bound with `skillpkg-registry serve --new-names-per-hour COUNT`",
        credential.account
    );
    Err(Refusal::rate_limited(detail, HOUR.saturating_sub(age).max(1)))
}
