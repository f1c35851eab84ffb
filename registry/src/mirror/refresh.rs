//! Compares what is held with upstream, now and then.

use std::time::Duration;

use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::MAX_INDEX_NAMES;

use super::Mirror;
use super::relay::Through;
use super::trouble::Trouble;
use crate::problem::{Answer, Refusal};
use crate::upstream::UpstreamError;
use crate::upstream::hops::Hops;

/// How often upstream is tried while it does not answer.
const RETRIED: Duration = Duration::from_secs(15);
/// How long after something new was fetched the rest is compared: all that is held is of one moment
/// again, and can be proven together though upstream should be gone.
const ALIGNED: Duration = Duration::from_secs(2);
/// How often that is done at most.
const ALIGNED_EVERY: Duration = Duration::from_mins(1);
/// How often uses are written.
const WRITTEN: Duration = Duration::from_mins(1);
/// Names asked about at once: their documents fit into one answer most of the time.
const NAMES: usize = 500;

impl Mirror {
    /// Keeps what is held true to upstream, until it is dropped.
    pub async fn attend(&self) {
        let mut written = tokio::time::interval(WRITTEN);
        let mut next = tokio::time::Instant::now();
        let mut aligns = next;
        loop {
            tokio::select! {
                _ = written.tick() => {
                    if let Err(error) = self.write_uses().await {
                        tracing::warn!(%error, "what was used of the mirror is not noted yet");
                    }
                }
                () = self.0.fetched.notified() => {
                    if self.is_of_many_moments().await {
                        let aligned = aligns.max(tokio::time::Instant::now() + ALIGNED);
                        if aligned < next {
                            next = aligned;
                            aligns = aligned + ALIGNED_EVERY;
                        }
                    }
                }
                () = tokio::time::sleep_until(next) => {
                    let waits = match self.refresh().await {
                        Ok(()) => self.0.every,
                        Err(_) => RETRIED.min(self.0.every),
                    };
                    next = tokio::time::Instant::now() + waits;
                }
            }
        }
    }

    /// Compares all that is held with upstream once, and makes room.
    pub async fn refresh(&self) -> Answer<()> {
        let through = self.through(&Hops::default())?;
        let compared = self.compare(&through).await;
        if let Err(trouble) = &compared {
            tracing::warn!(%trouble, upstream = self.upstream(), "upstream was compared in vain");
        }
        self.make_room(None).await?;
        Ok(compared?)
    }

    async fn compare(&self, through: Through<'_>) -> Result<(), Trouble> {
        // No names, but a checkpoint and the root of all documents: most of the time nothing else
        // is needed.
        let live = self.ask(&[], through).await?;
        let changed = self.names_of_other_moments(&live.moment.heads.to_string()).await?;
        let mut pending: Vec<Vec<QualifiedName>> =
            changed.chunks(NAMES.min(MAX_INDEX_NAMES)).rev().map(<[_]>::to_vec).collect();
        while let Some(names) = pending.pop() {
            match self.ask(&names, through).await {
                Ok(_) => {}
                Err(Trouble::Upstream(UpstreamError::AnswerTooLarge { .. })) if names.len() > 1 => {
                    let (first, second) = names.split_at(names.len() / 2);
                    pending.push(second.to_vec());
                    pending.push(first.to_vec());
                }
                // One that lies about a name must not keep the others from what is true.
                Err(Trouble::Lie { .. }) if names.len() > 1 => {
                    pending.extend(names.into_iter().map(|name| vec![name]));
                }
                Err(Trouble::Lie { subject, .. }) if subject != "log" => {}
                Err(trouble) => return Err(trouble),
            }
        }
        if !changed.is_empty() {
            self.let_go_of_deleted().await?;
        }
        self.prune().await?;
        Ok(())
    }

    /// Whether what is held cannot be proven together.
    async fn is_of_many_moments(&self) -> bool {
        let moments: Result<i64, sqlx::Error> =
            sqlx::query_scalar("SELECT COUNT(DISTINCT heads) FROM mirrored_skills")
                .fetch_one(self.0.data.database.readers())
                .await;
        moments.is_ok_and(|moments| moments > 1)
    }

    /// The names whose documents are of another moment than this.
    async fn names_of_other_moments(&self, heads: &str) -> Result<Vec<QualifiedName>, Trouble> {
        let rows: Vec<(String, String)> =
            sqlx::query_as("SELECT scope, name FROM mirrored_skills WHERE heads <> $1 ORDER BY id")
                .bind(heads)
                .fetch_all(self.0.data.database.readers())
                .await?;
        let names = rows.iter().map(|(scope, name)| {
            QualifiedName::from_wire(scope, name).map_err(|error| Refusal::internal(&error))
        });
        Ok(names.collect::<Answer<_>>()?)
    }

    /// Forgets the moments that no document is of any more.
    async fn prune(&self) -> Result<(), sqlx::Error> {
        let mut write = self.0.data.database.write().await?;
        for query in [
            "DELETE FROM relayed_buckets WHERE heads NOT IN (SELECT heads FROM mirrored_skills)",
            "DELETE FROM relayed_moments WHERE heads NOT IN (SELECT heads FROM mirrored_skills)
             AND heads NOT IN (SELECT heads FROM relayed_log)",
        ] {
            sqlx::query(query).execute(&mut *write).await?;
        }
        write.commit().await
    }
}
