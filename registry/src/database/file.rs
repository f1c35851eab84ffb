//! `SQLite` in a file, written by one connection at a time.

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyPool, ConnectOptions as _, Connection as _, Executor as _};

use super::{DatabaseError, READERS, Write, schema};

/// `SQLITE_BUSY`.
const BUSY: i32 = 5;
/// `SQLITE_LOCKED`.
const LOCKED: i32 = 6;

/// The connections of one process.
pub(super) struct Opened {
    pub(super) writer: AnyPool,
    pub(super) readers: AnyPool,
    /// The directory, where connections are made by way of its descriptor.
    pub(super) directory: Option<Arc<File>>,
}

/// Opens the pools of the writer and of the readers, and makes the file where there is none.
pub(super) async fn open(path: &Path) -> Result<Opened, DatabaseError> {
    let place = path.display().to_string();
    let (path, directory) =
        as_text(path).map_err(|source| DatabaseError::Path { place: place.clone(), source })?;
    let path = path.as_path();
    let failed = |source| DatabaseError::Open { place: place.clone(), source };
    if std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
        examine(path, &place).await?;
    }
    // A statement waits five seconds for another process's write, and foreign keys hold: the
    // driver's own choice.
    let pool = |most: u32, patience: u64| {
        AnyPoolOptions::new()
            .max_connections(most)
            .acquire_timeout(Duration::from_secs(patience))
            .test_before_acquire(false)
    };
    let writer = pool(1, 30)
        .after_connect(|connection, _| {
            let pragmas = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL";
            async move { connection.execute(pragmas).await.map(|_| ()) }.boxed()
        })
        .after_release(|connection, _| super::is_outside_transactions(connection).boxed())
        .connect_with(options(path, "rwc").map_err(failed)?)
        .await
        .map_err(failed)?;
    schema::migrate(&writer, &place, &schema::FILE).await?;
    let readers = pool(READERS, 10)
        .connect_with(options(path, "ro").map_err(failed)?)
        .await
        .map_err(failed)?;
    Ok(Opened { writer, readers, directory })
}

/// Reads what tables there are, of a file that is there: a pool goes on trying for half a minute where
/// it is no database, and then says nothing of that.
async fn examine(path: &Path, place: &str) -> Result<(), DatabaseError> {
    let failed = |source| DatabaseError::Open { place: place.to_owned(), source };
    let asked = async {
        let mut connection = options(path, "rw")?.connect().await?;
        let tables: Result<i64, _> = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema")
            .fetch_one(&mut connection)
            .await;
        let _ = connection.close().await;
        tables
    };
    match asked.await {
        Err(error) if super::is_damaged(&error) => {
            let reason = super::server::reason(&error).into_owned();
            Err(DatabaseError::Damaged { place: place.to_owned(), reason })
        }
        // Another process holds it for now, and the pools wait for that.
        Err(error) if [Some(BUSY), Some(LOCKED)].contains(&super::file_code(&error)) => Ok(()),
        Err(error) => Err(failed(error)),
        Ok(_) => Ok(()),
    }
}

/// The path as a text, which the driver takes alone. Where it is none, the way leads over a descriptor
/// of the directory, as long as that is open: the engine itself follows it to the path that it is.
#[cfg(target_os = "linux")]
fn as_text(path: &Path) -> io::Result<(PathBuf, Option<Arc<File>>)> {
    use std::os::fd::AsRawFd as _;
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok((path.to_owned(), None));
    };
    if path.to_str().is_some() {
        return Ok((path.to_owned(), None));
    }
    let directory = File::open(directory)?;
    let path = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
    Ok((path, Some(Arc::new(directory))))
}

#[cfg(not(target_os = "linux"))]
fn as_text(path: &Path) -> io::Result<(PathBuf, Option<Arc<File>>)> {
    if path.to_str().is_some() {
        return Ok((path.to_owned(), None));
    }
    Err(io::Error::other("its path is no text, and a database is opened by one alone here"))
}

pub(super) async fn write(writer: &AnyPool) -> Result<Write, sqlx::Error> {
    writer.begin_with("PRAGMA synchronous = FULL; BEGIN IMMEDIATE").await
}

pub(super) async fn write_behind(writer: &AnyPool) -> Result<Write, sqlx::Error> {
    writer.begin_with("PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE").await
}

/// The driver takes a file as a URL alone.
fn options(path: &Path, mode: &str) -> Result<AnyConnectOptions, sqlx::Error> {
    let mut url = String::from("sqlite://");
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(byte) {
            url.push(char::from(*byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
    let _ = write!(url, "?mode={mode}");
    url.parse()
}

#[cfg(test)]
mod tests {
    use super::super::{Database, DatabaseError, Place};

    #[tokio::test]
    async fn commits_are_synchronous_and_foreign_keys_hold() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place::File(directory.path().join("registry.db"));
        let database = Database::open(&place).await.unwrap();
        let mut write = database.write().await.unwrap();
        let pragma = |name: &str| format!("SELECT * FROM pragma_{name}");
        for (name, value) in [("synchronous", 2), ("foreign_keys", 1), ("busy_timeout", 5000)] {
            let sql = sqlx::AssertSqlSafe(pragma(name));
            let found: i64 = sqlx::query_scalar(sql).fetch_one(&mut *write).await.unwrap();
            assert_eq!(found, value, "{name}");
        }
        let mode: String = sqlx::query_scalar("SELECT * FROM pragma_journal_mode")
            .fetch_one(&mut *write)
            .await
            .unwrap();
        assert_eq!(mode, "wal");
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
        let refused = sqlx::query("DELETE FROM log_state").execute(database.readers()).await;
        assert!(refused.unwrap_err().to_string().contains("readonly"));
    }

    #[tokio::test]
    async fn a_transaction_that_the_engine_ended_by_itself_keeps_no_other_from_beginning() {
        let directory = tempfile::tempdir().unwrap();
        let place = Place::File(directory.path().join("registry.db"));
        let database = Database::open(&place).await.unwrap();
        for _ in 0..2 {
            let mut write = database.write().await.unwrap();
            // As it does where the disk is full, behind the driver's back.
            sqlx::query("ROLLBACK").execute(&mut *write).await.unwrap();
            assert!(write.commit().await.is_err());
        }
        database.write().await.unwrap().commit().await.unwrap();
    }

    #[tokio::test]
    async fn a_file_that_is_no_database_or_a_damaged_one_is_told_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("registry.db");
        let place = Place::File(path.clone());
        Database::open(&place).await.unwrap().close().await;
        let whole = std::fs::read(&path).unwrap();
        let mut torn = whole.clone();
        torn[100..].fill(0x5a);
        for bytes in [&b"garbage\n"[..], &[0x5a; 8192], &torn] {
            std::fs::write(&path, bytes).unwrap();
            let start = std::time::Instant::now();
            let refused = Database::open(&place).await.unwrap_err();
            assert!(matches!(refused, DatabaseError::Damaged { .. }), "{refused}");
            let told = refused.to_string();
            assert!(
                told.contains("registry.db") && told.contains("restore it from a backup"),
                "{told}"
            );
            assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
        }
        std::fs::write(&path, whole).unwrap();
        Database::open(&place).await.unwrap();
    }

    #[tokio::test]
    async fn a_path_that_reads_like_a_url_is_the_path_that_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().join("50%20 #1?mode=ro & é");
        std::fs::create_dir(&directory).unwrap();
        let path = directory.join("registry.db");
        Database::open(&Place::File(path.clone())).await.unwrap().close().await;
        assert!(path.is_file());
    }
}
