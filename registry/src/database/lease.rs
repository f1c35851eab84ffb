//! Who takes what is pending into the log of a database that several processes can reach.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use sqlx::{AnyConnection, Connection as _};
use tokio::sync::Mutex;

use super::{Database, DatabaseError, Server, Write};

/// The lock of whoever writes the log.
const LOG: i64 = 0x736b_696c_0002;
/// How long another's lease is waited for: who was killed holds it until the server has noticed.
const PATIENCE: Duration = Duration::from_secs(3);
const AGAIN: Duration = Duration::from_millis(100);

/// Why there is no lease.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Another process has it.
    #[error("the registry in `{place}` is already served{}; stop that one first", by(.holder.as_deref()))]
    Held {
        /// The server and the database.
        place: String,
        /// Which, where the server tells.
        holder: Option<String>,
    },
    /// It could not be asked for.
    #[error(transparent)]
    Unreachable(#[from] DatabaseError),
}

fn by(holder: Option<&str>) -> String {
    holder.map_or_else(String::new, |holder| format!(" by {holder}"))
}

/// The right to write the log: a lock that the server keeps for one connection, and lets go when that
/// ends, however it ends.
#[derive(Debug)]
pub struct Lease {
    server: Server,
    // No connection is `Sync`, and whoever holds this is shared.
    connection: Mutex<Option<AnyConnection>>,
    holder: Holder,
}

/// Which connection has a process's lease, for those of its transactions that need to know.
#[derive(Debug, Clone, Default)]
pub struct Holder(Arc<AtomicI64>);

/// Whose a lease is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// This process's.
    Ours,
    /// Another's.
    Anothers,
    /// Nobody's: this process has lost it, and has not taken it again.
    Nobodys,
}

impl Holder {
    /// Whose the lease is, as a transaction sees it.
    pub async fn stands(&self, write: &mut Write) -> Result<Standing, sqlx::Error> {
        let holder: Option<i64> = sqlx::query_scalar(
            "SELECT CAST(l.pid AS BIGINT) FROM pg_locks l
             JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
             WHERE l.locktype = 'advisory' AND l.granted
             AND (CAST(l.classid AS BIGINT) << 32) + CAST(l.objid AS BIGINT) = $1 LIMIT 1",
        )
        .bind(LOG)
        .fetch_optional(&mut **write)
        .await?;
        Ok(match holder {
            Some(holder) if holder == self.0.load(Ordering::Acquire) => Standing::Ours,
            Some(_) => Standing::Anothers,
            None => Standing::Nobodys,
        })
    }
}

impl Database {
    /// Takes the lease of a server's database; a file's is the claim on its data directory.
    pub async fn lease(&self) -> Result<Option<Lease>, LeaseError> {
        let Some(server) = self.server() else { return Ok(None) };
        let (connection, holder) = (Mutex::default(), Holder::default());
        let mut lease = Lease { server: server.clone(), connection, holder };
        lease.take().await?;
        Ok(Some(lease))
    }
}

impl Lease {
    /// Makes sure that it is held. Where it was lost it is taken again: another may have had it, and
    /// written the log meanwhile.
    pub async fn hold(&mut self) -> Result<(), LeaseError> {
        if let Some(connection) = self.connection.get_mut()
            // A server that is stopped says nothing at all.
            && let Ok(Ok(())) = tokio::time::timeout(PATIENCE, connection.ping()).await
        {
            return Ok(());
        }
        *self.connection.get_mut() = None;
        self.take().await
    }

    /// Which connection has it.
    pub fn holder(&self) -> Holder {
        self.holder.clone()
    }

    /// Lets it go; the next question takes it again.
    pub async fn release(&mut self) {
        if let Some(connection) = self.connection.get_mut().take() {
            // Where the server is gone, so is the lock.
            let _ = connection.close().await;
        }
    }

    async fn take(&mut self) -> Result<(), LeaseError> {
        let place = self.server.to_string();
        let failed = |source| DatabaseError::Open { place: place.clone(), source };
        let mut connection = self.server.connect().await?;
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let super::Truth(taken) = sqlx::query_scalar("SELECT pg_try_advisory_lock($1)")
                .bind(LOG)
                .fetch_one(&mut connection)
                .await
                .map_err(failed)?;
            if taken {
                let process: i64 = sqlx::query_scalar("SELECT CAST(pg_backend_pid() AS BIGINT)")
                    .fetch_one(&mut connection)
                    .await
                    .map_err(failed)?;
                self.holder.0.store(process, Ordering::Release);
                *self.connection.get_mut() = Some(connection);
                return Ok(());
            }
            if tokio::time::Instant::now() >= deadline {
                break;
            }
            tokio::time::sleep(AGAIN).await;
        }
        let holder: Option<String> = sqlx::query_scalar(
            "SELECT CAST(a.application_name || coalesce(' at ' || host(a.client_addr), '')
               || ' since ' || to_char(a.backend_start AT TIME ZONE 'UTC',
               'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') AS TEXT)
             FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
             JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
             WHERE l.locktype = 'advisory' AND l.granted
             AND (CAST(l.classid AS BIGINT) << 32) + CAST(l.objid AS BIGINT) = $1 LIMIT 1",
        )
        .bind(LOG)
        .fetch_optional(&mut connection)
        .await
        .map_err(failed)?;
        Err(LeaseError::Held { place, holder })
    }
}
