//! How far the log has come, as the database knows it.

use sqlx::any::AnyExecutor;

/// The row of `log_state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counters {
    /// The index that the next leaf takes.
    pub(super) next: u64,
    /// Leaves that are sealed.
    pub(super) sealed: u64,
    /// Leaves of the newest checkpoint that the tables follow.
    pub(super) covered: u64,
    /// Number of the newest identity that has a leaf.
    pub(super) identity: u64,
}

impl Counters {
    /// Reads them.
    pub(super) async fn read(executor: impl AnyExecutor<'_>) -> Result<Self, sqlx::Error> {
        let (next, sealed, covered, identity): (i64, i64, i64, i64) = sqlx::query_as(
            "SELECT next_index, sealed, covered, identity FROM log_state WHERE id = 1",
        )
        .fetch_one(executor)
        .await?;
        Ok(Self {
            next: next.unsigned_abs(),
            sealed: sealed.unsigned_abs(),
            covered: covered.unsigned_abs(),
            identity: identity.unsigned_abs(),
        })
    }
}
