//! What a registry does by itself while it serves: it learns what an operator's commands change, and
//! notes what it counts.

use std::time::{Duration, Instant};

use skillpkg_schema::QualifiedName;

use crate::events::Kind;
use crate::state::Registry;

/// How often it looks for what other processes have changed.
const FOLLOWED: Duration = Duration::from_millis(500);
/// How often it notes what is counted in memory.
const NOTED: Duration = Duration::from_mins(1);

/// Keeps what is remembered true to what other processes write, until it is dropped.
///
/// A deletion counts within a second. Where the database does not answer, the next look tells all.
pub async fn attend(registry: &Registry) {
    let mut look = tokio::time::interval(FOLLOWED);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut last = None;
    let mut again = Vec::new();
    let mut noted = Instant::now();
    loop {
        look.tick().await;
        if noted.elapsed() >= NOTED {
            noted = Instant::now();
            note(registry).await;
        }
        if let Err(error) = follow(registry, &mut last, &mut again).await {
            tracing::warn!(%error, "what other processes changed is not known yet");
        }
    }
}

/// Notes what is counted in memory alone; called once more when a registry ends.
pub async fn note(registry: &Registry) {
    if let Err(error) = registry.downloads.note(&registry.data.database).await {
        tracing::warn!(%error, "downloads are not noted yet");
    }
}

/// Forgets what was deleted since event `last`.
///
/// Twice, a look apart: a request that read the rows before the deletion may come to remember them
/// after the first.
async fn follow(
    registry: &Registry,
    last: &mut Option<i64>,
    again: &mut Vec<QualifiedName>,
) -> Result<(), sqlx::Error> {
    forget(registry, &std::mem::take(again));
    let readers = registry.data.database.readers();
    let newest: i64 =
        sqlx::query_scalar("SELECT coalesce(max(id), 0) FROM events").fetch_one(readers).await?;
    let Some(from) = last.replace(newest) else { return Ok(()) };
    let deleted: Vec<String> = sqlx::query_scalar(
        "SELECT subject FROM events WHERE id > $1 AND id <= $2 AND kind IN ($3, $4)",
    )
    .bind(from)
    .bind(newest)
    .bind(Kind::NameDeleted.text())
    .bind(Kind::VersionDeleted.text())
    .fetch_all(readers)
    .await
    .inspect_err(|_| *last = Some(from))?;
    let names = deleted.iter().filter_map(|subject| subject.split('@').next()?.parse().ok());
    again.extend(names);
    forget(registry, again);
    Ok(())
}

fn forget(registry: &Registry, names: &[QualifiedName]) {
    for name in names {
        registry.documents.forget(name);
    }
    if !names.is_empty() {
        registry.contents.forget_public();
    }
}
