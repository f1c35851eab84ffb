//! The SQL behind the registry: `SQLite` in a file, written by one connection at a time.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Connection as _, SqlSafeStr as _, Sqlite, SqliteConnection, Transaction};

/// Connections that read at once.
const READERS: u32 = 8;
/// How long a statement waits for another process's write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Why the database is not opened.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// Written by a newer program.
    #[error("`{}` has schema {found}; this program reads up to {known}: run the version that wrote it, or a newer one", .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The schema's number.
        found: i64,
        /// The newest that this program knows.
        known: i64,
    },
    /// Its schema could not be brought up to date.
    #[error("the schema of `{}` could not be brought up to date: {source}", .path.display())]
    Migrate {
        /// The file.
        path: PathBuf,
        /// Why.
        source: MigrateError,
    },
    /// Not opened.
    #[error("`{}` could not be opened: {source}", .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: sqlx::Error,
    },
}

/// A transaction that may write; dropped, it leaves no trace.
pub type Write = Transaction<'static, Sqlite>;

/// The registry's database.
///
/// A committed transaction survives a crash of the machine: write-ahead log, `synchronous=FULL`.
#[derive(Debug, Clone)]
pub struct Database {
    readers: SqlitePool,
    writer: SqlitePool,
}

impl Database {
    /// Opens the database in `file`, makes it where there is none, and brings its schema up to date.
    ///
    /// Two processes must not do this at once: the caller holds a lock.
    pub async fn open(file: &Path) -> Result<Self, DatabaseError> {
        let failed = |source| DatabaseError::Open { path: file.to_owned(), source };
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT);
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(Duration::from_secs(30))
            .test_before_acquire(false)
            .after_release(|connection, _| Box::pin(is_outside_transactions(connection)))
            .connect_with(options.clone())
            .await
            .map_err(failed)?;
        migrate(&writer, file).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(Duration::from_secs(10))
            .test_before_acquire(false)
            .connect_with(options.read_only(true).create_if_missing(false))
            .await
            .map_err(failed)?;
        Ok(Self { readers, writer })
    }

    /// Where queries that change nothing run.
    pub fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    /// Begins a transaction that holds the write lock from its start, so that what it reads is what
    /// it writes against.
    pub async fn write(&self) -> Result<Write, sqlx::Error> {
        self.writer.begin_with("PRAGMA synchronous = FULL; BEGIN IMMEDIATE").await
    }

    /// The same, though its commit survives a crash of the machine only once one that follows it
    /// does: the write-ahead log is synced as a whole.
    pub async fn write_behind(&self) -> Result<Write, sqlx::Error> {
        self.writer.begin_with("PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE").await
    }

    /// Closes every connection; the write-ahead log is folded into the file.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// Whether a connection that is given back may be used again: not where a transaction is thought to
/// go on.
///
/// Where the disk is full, `SQLite` ends the transaction by itself. The driver's rollback then finds
/// none and fails, and no transaction could begin on the connection any more.
async fn is_outside_transactions(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    // Answered once the rollback is done.
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

/// The steps of the schema by number: each its name and its SQL, and none needs one that is not
/// `core`, so that they may come in any order.
const SCHEMA: &[(i64, &str, &str)] = &[
    (1, "core", include_str!("../../migrations/sqlite/0001_core.sql")),
    (2, "log", include_str!("../../migrations/sqlite/0002_log.sql")),
    (3, "findings", include_str!("../../migrations/sqlite/0003_findings.sql")),
    (4, "names", include_str!("../../migrations/sqlite/0004_names.sql")),
    (5, "owners", include_str!("../../migrations/sqlite/0005_owners.sql")),
    (6, "mirror", include_str!("../../migrations/sqlite/0006_mirror.sql")),
];

fn migrations() -> Vec<Migration> {
    let migration = |&(number, name, sql): &(i64, &'static str, &'static str)| {
        let sql = sql.into_sql_str();
        Migration::new(number, Cow::Borrowed(name), MigrationType::Simple, sql, false)
    };
    SCHEMA.iter().map(migration).collect()
}

async fn migrate(pool: &SqlitePool, file: &Path) -> Result<(), DatabaseError> {
    let migrations = migrations();
    let known = migrations.iter().map(|migration| migration.version).max().unwrap_or(0);
    let path = file.to_owned();
    match Migrator::with_migrations(migrations).run(pool).await {
        Ok(()) => Ok(()),
        Err(MigrateError::VersionMissing(found)) => {
            Err(DatabaseError::Newer { path, found, known })
        }
        Err(source) => Err(DatabaseError::Migrate { path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_newer_schema_is_refused_by_its_number() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("registry.db");
        let database = Database::open(&file).await.unwrap();
        let mut write = database.write().await.unwrap();
        sqlx::query(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (99, 'later', TRUE, x'00', 0)",
        )
        .execute(&mut *write)
        .await
        .unwrap();
        write.commit().await.unwrap();
        database.close().await;
        let error = Database::open(&file).await.unwrap_err();
        let newest = SCHEMA.iter().map(|(number, ..)| *number).max().unwrap();
        assert!(
            matches!(error, DatabaseError::Newer { found: 99, known, .. } if known == newest),
            "{error}"
        );
    }

    #[test]
    fn the_steps_of_the_schema_stand_by_number() {
        assert!(SCHEMA.is_sorted_by(|one, other| one.0 < other.0));
    }

    #[tokio::test]
    async fn a_step_that_comes_late_is_taken_after_those_with_higher_numbers() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("registry.db");
        let options = SqliteConnectOptions::new().filename(&file).create_if_missing(true);
        let pool = SqlitePool::connect_with(options).await.unwrap();
        let (first, last) = (migrations().remove(0), migrations().pop().unwrap());
        Migrator::with_migrations(vec![first, last]).run(&pool).await.unwrap();
        pool.close().await;
        Database::open(&file).await.unwrap();
    }

    #[tokio::test]
    async fn a_transaction_that_the_engine_ended_by_itself_keeps_no_other_from_beginning() {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::open(&directory.path().join("registry.db")).await.unwrap();
        for _ in 0..2 {
            let mut write = database.write().await.unwrap();
            // As it does where the disk is full, behind the driver's back.
            sqlx::query("ROLLBACK").execute(&mut *write).await.unwrap();
            assert!(write.commit().await.is_err());
        }
        database.write().await.unwrap().commit().await.unwrap();
    }

    #[tokio::test]
    async fn commits_are_synchronous_and_foreign_keys_hold() {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::open(&directory.path().join("registry.db")).await.unwrap();
        let mut write = database.write().await.unwrap();
        let pragma = |name: &str| format!("SELECT * FROM pragma_{name}");
        for (name, value) in [("synchronous", 2), ("foreign_keys", 1)] {
            let sql = sqlx::AssertSqlSafe(pragma(name));
            let found: i64 = sqlx::query_scalar(sql).fetch_one(&mut *write).await.unwrap();
            assert_eq!(found, value, "{name}");
        }
        drop(write);
        for (behind, value) in [(true, 1), (false, 2)] {
            let write = if behind { database.write_behind().await } else { database.write().await };
            let mut write = write.unwrap();
            let found: i64 = sqlx::query_scalar("SELECT * FROM pragma_synchronous")
                .fetch_one(&mut *write)
                .await
                .unwrap();
            assert_eq!(found, value);
        }
    }
}
