//! What upstream said that cannot be, for the operator to see.

use serde::Serialize;
use utoipa::ToSchema;

use super::Mirror;
use super::trouble::Trouble;
use crate::clock;

/// One thing that upstream said and that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Alarm {
    /// What it is about: `log`, a skill or a version.
    pub subject: String,
    /// When it was last seen, RFC 3339 in UTC.
    pub at: String,
    /// What is wrong.
    pub detail: String,
}

impl Mirror {
    /// An answer, or the trouble for want of one; a lie raises its alarm.
    pub(super) async fn told<T>(&self, answer: Result<T, Trouble>) -> Result<T, Trouble> {
        if let Err(Trouble::Lie { subject, detail }) = &answer {
            self.alarm(subject, detail).await?;
        }
        answer
    }

    /// Notes an alarm, and writes it to the log.
    pub(super) async fn alarm(&self, subject: &str, detail: &str) -> Result<(), sqlx::Error> {
        tracing::error!(subject, detail, "what the mirrored registry says is refused");
        let mut write = self.0.data.database.write().await?;
        sqlx::query(
            "INSERT INTO mirror_alarms (subject, at, detail) VALUES ($1, $2, $3)
             ON CONFLICT (subject) DO UPDATE SET at = excluded.at, detail = excluded.detail",
        )
        .bind(subject)
        .bind(clock::now())
        .bind(detail)
        .execute(&mut *write)
        .await?;
        write.commit().await
    }

    /// Takes an alarm back: upstream says what can be.
    pub(super) async fn settle(&self, subject: &str) -> Result<(), sqlx::Error> {
        let there: Option<i64> =
            sqlx::query_scalar("SELECT 1 FROM mirror_alarms WHERE subject = $1")
                .bind(subject)
                .fetch_optional(self.0.data.database.readers())
                .await?;
        if there.is_none() {
            return Ok(());
        }
        tracing::info!(subject, "an alarm about the mirrored registry is over");
        let mut write = self.0.data.database.write().await?;
        sqlx::query("DELETE FROM mirror_alarms WHERE subject = $1")
            .bind(subject)
            .execute(&mut *write)
            .await?;
        write.commit().await
    }

    /// Every alarm that is not over, by subject; at most a hundred.
    pub async fn alarms(&self) -> Result<Vec<Alarm>, sqlx::Error> {
        let rows: Vec<(String, String, String)> = sqlx::query_as(
            "SELECT subject, at, detail FROM mirror_alarms ORDER BY subject LIMIT 100",
        )
        .fetch_all(self.0.data.database.readers())
        .await?;
        Ok(rows.into_iter().map(|(subject, at, detail)| Alarm { subject, at, detail }).collect())
    }
}
