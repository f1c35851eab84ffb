//! Advisories: what is known to be wrong with versions of a skill.

use skillpkg_schema::wire::{Advisory, Effect};
use sqlx::SqliteConnection;

use crate::problem::{Answer, Refusal};

/// The advisories of a skill that are not withdrawn, oldest first.
pub async fn of_skill(read: &mut SqliteConnection, skill: i64) -> Answer<Vec<Advisory>> {
    let rows: Vec<(String, String, String, String, String, Option<i64>)> = sqlx::query_as(
        "SELECT id, versions, effect, summary, published, log_index FROM advisories
         WHERE skill_id = $1 AND withdrawn IS NULL ORDER BY published, id",
    )
    .bind(skill)
    .fetch_all(read)
    .await?;
    rows.into_iter()
        .map(|(id, versions, effect, summary, published, log_index)| {
            let effect = effect_of(&effect)?;
            let log_index = log_index.map(i64::unsigned_abs);
            Ok(Advisory { id, versions, effect, summary, published, log_index })
        })
        .collect()
}

fn effect_of(text: &str) -> Answer<Effect> {
    match text {
        "warn" => Ok(Effect::Warn),
        "forbid" => Ok(Effect::Forbid),
        other => Err(Refusal::internal(&format!("`{other}` is no effect of an advisory"))),
    }
}
