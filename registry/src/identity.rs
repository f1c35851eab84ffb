//! What tells this registry from every other, wherever it is reached.

use sqlx::SqliteExecutor;

/// The registry's identity: one line, fixed when its database was made.
///
/// What is signed for one registry names it, so that it counts at no other.
pub async fn of(executor: impl SqliteExecutor<'_>) -> Result<String, sqlx::Error> {
    sqlx::query_scalar("SELECT identity FROM registry_identity WHERE id = 1")
        .fetch_one(executor)
        .await
}
