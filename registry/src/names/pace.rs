//! How fast an account may take new names.

use sqlx::AnyConnection;

use crate::auth::Credential;
use crate::clock;
use crate::problem::{Answer, Refusal};

/// For how long a name counts as new, in seconds.
const HOUR: u32 = 3_600;

/// Refuses an account that has taken `most` new names within an hour, until the first of them is an
/// hour old.
pub async fn check(
    connection: &mut AnyConnection,
    most: u32,
    credential: &Credential,
) -> Answer<()> {
    let (taken, first): (i64, Option<String>) = sqlx::query_as(
        "SELECT count(*), min(created) FROM (SELECT created FROM skills
           WHERE creator_id = $1 AND created > $2 ORDER BY created DESC LIMIT $3) recent",
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
        "`{}` has taken {most} new names within an hour, which is the most here; for a first import \
         an operator raises it with `skillpkg-registry serve --new-names-per-hour COUNT`",
        credential.account
    );
    Err(Refusal::rate_limited(detail, HOUR.saturating_sub(age).max(1)))
}
