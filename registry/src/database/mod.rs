//! The SQL behind the registry: `SQLite` in a file, or a `PostgreSQL` server.
//!
//! Either is reached by one driver and asked by one text of SQL a query; what differs is how a
//! connection is made, how the one writer is kept the only one, and the schema.

mod file;
mod lease;
mod pgpass;
mod schema;
mod server;
mod values;

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use lease::{Holder, Lease, LeaseError, Standing};
pub use server::{Server, ServerError};
use sqlx::migrate::MigrateError;
use sqlx::{Any, AnyConnection, AnyPool, Connection as _, Transaction};
pub use values::{Truth, placeholders};

/// Connections that read at once.
const READERS: u32 = 8;

/// Why the database is not opened.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// Written by a newer program.
    #[error(
        "`{place}` has schema {found}; this program reads up to {known}: run the version that wrote it, or a newer one"
    )]
    Newer {
        /// The file, or the server and the database.
        place: String,
        /// The schema's number.
        found: i64,
        /// The newest that this program knows.
        known: i64,
    },
    /// Its schema could not be brought up to date.
    #[error("the schema of `{place}` could not be brought up to date: {source}")]
    Migrate {
        /// The file, or the server and the database.
        place: String,
        /// Why.
        source: MigrateError,
    },
    /// A file that is no database, or no longer a whole one.
    #[error(
        "`{place}` is damaged ({reason}): restore it from a backup that is at least as new as `log/checkpoint` beside it"
    )]
    Damaged {
        /// The file.
        place: String,
        /// What the engine says of it.
        reason: String,
    },
    /// Not opened.
    #[error("`{place}` could not be opened: {}{}", server::reason(source), server::advice(source))]
    Open {
        /// The file, or the server and the database.
        place: String,
        /// Why.
        source: sqlx::Error,
    },
    /// A path that leads nowhere, or is no text where it has to be one.
    #[error("`{place}` could not be opened: {source}")]
    Path {
        /// The file.
        place: String,
        /// Why.
        source: std::io::Error,
    },
    /// A server that does not answer.
    #[error(
        "`{place}` does not answer within {seconds} seconds: is the server up, and may this machine reach it?"
    )]
    Silent {
        /// The server and the database.
        place: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The text of a database in another encoding.
    #[error(
        "the database `{place}` keeps text as {found}; make one with `createdb --encoding UTF8 --template template0`"
    )]
    Encoding {
        /// The server and the database.
        place: String,
        /// How it keeps text.
        found: String,
    },
    /// A URL that says what cannot be done.
    #[error(transparent)]
    Url(#[from] ServerError),
}

/// Where a database is.
#[derive(Debug, Clone)]
pub enum Place {
    /// A file, which is made where there is none.
    File(PathBuf),
    /// A database of a server, which is there already.
    Server(Server),
}

/// A transaction that may write; dropped, it leaves no trace.
pub type Write = Transaction<'static, Any>;

/// One connection, in a transaction or not.
pub type Connection = AnyConnection;

/// The registry's database.
///
/// A committed transaction survives a crash of the machine: a file has a write-ahead log and
/// `synchronous=FULL`, a server `synchronous_commit=on`.
#[derive(Debug, Clone)]
pub struct Database {
    readers: AnyPool,
    writer: AnyPool,
    engine: Engine,
}

#[derive(Debug, Clone)]
enum Engine {
    /// Kept open where the path to it leads over the descriptor.
    File {
        _directory: Option<Arc<File>>,
    },
    Server(Box<Away>),
}

/// A server, and what is known of whether it answers.
#[derive(Debug, Clone)]
struct Away {
    server: Server,
    silent: Arc<AtomicBool>,
    /// Connections that are hardly waited for: for as long as it does not answer.
    impatient: AnyPool,
}

/// Whether a connection that is given back may be used again: not where a transaction is thought to
/// go on.
///
/// Where the disk is full, `SQLite` ends the transaction by itself. The driver's rollback then finds
/// none and fails, and no transaction could begin on the connection any more.
async fn is_outside_transactions(connection: &mut AnyConnection) -> Result<bool, sqlx::Error> {
    // Answered once the rollback is done.
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

/// Whether a file is no database, or no longer a whole one.
fn is_damaged(error: &sqlx::Error) -> bool {
    const CORRUPT: i32 = 11;
    const NOT_A_DATABASE: i32 = 26;
    file_code(error).is_some_and(|code| [CORRUPT, NOT_A_DATABASE].contains(&code))
}

/// The primary code of what `SQLite` says; a server's codes have five characters.
pub(crate) fn file_code(error: &sqlx::Error) -> Option<i32> {
    let code = error.as_database_error()?.code().filter(|code| code.len() < 5)?;
    Some(code.parse::<i32>().ok()? & 0xff)
}

impl Database {
    /// Opens a database, and brings its schema up to date.
    ///
    /// Two processes must not do this at once with a file: the caller holds a lock. A server's
    /// schema is changed under a lock of the server.
    pub async fn open(place: &Place) -> Result<Self, DatabaseError> {
        sqlx::any::install_default_drivers();
        match place {
            Place::File(path) => {
                let file::Opened { writer, readers, directory } = file::open(path).await?;
                Ok(Self { readers, writer, engine: Engine::File { _directory: directory } })
            }
            Place::Server(server) => {
                let server::Opened { writer, readers, impatient } = server.open().await?;
                let (server, silent) = (server.clone(), Arc::default());
                let away = Box::new(Away { server, silent, impatient });
                Ok(Self { readers, writer, engine: Engine::Server(away) })
            }
        }
    }

    /// Where queries that change nothing run. A transaction of it sees one moment.
    ///
    /// Of a server that is known not to answer, a connection is waited for a moment alone.
    pub fn readers(&self) -> &AnyPool {
        match &self.engine {
            Engine::Server(away) if away.silent.load(Ordering::Acquire) => &away.impatient,
            _ => &self.readers,
        }
    }

    /// Notes whether the server answers, and tells the operator where that is news.
    pub(crate) fn note_away(&self, is_away: bool) {
        let Engine::Server(away) = &self.engine else { return };
        if away.silent.swap(is_away, Ordering::AcqRel) == is_away {
            return;
        }
        let database = &away.server;
        if is_away {
            tracing::error!(%database, "the database does not answer; what is in memory is served");
        } else {
            tracing::info!(%database, "the database answers again");
        }
    }

    /// Refuses at once to wait for a server that is known not to answer.
    fn answers(&self) -> Result<(), sqlx::Error> {
        match &self.engine {
            Engine::Server(away) if away.silent.load(Ordering::Acquire) => {
                Err(sqlx::Error::PoolTimedOut)
            }
            _ => Ok(()),
        }
    }

    /// The server that it is on; [`None`] where it is a file.
    pub fn server(&self) -> Option<&Server> {
        match &self.engine {
            Engine::File { .. } => None,
            Engine::Server(away) => Some(&away.server),
        }
    }

    /// Begins a transaction that holds the write lock from its start, so that what it reads is what
    /// it writes against.
    pub async fn write(&self) -> Result<Write, sqlx::Error> {
        self.answers()?;
        match &self.engine {
            Engine::File { .. } => file::write(&self.writer).await,
            Engine::Server(_) => server::write(&self.writer).await,
        }
    }

    /// The same, though its commit survives a crash of the machine only once one that follows it
    /// does: the write-ahead log of a file is synced as a whole.
    ///
    /// On a server it is as any other. A file's registry ends in the crash that loses a commit;
    /// a server may crash alone, and the registry would answer for what is gone.
    pub async fn write_behind(&self) -> Result<Write, sqlx::Error> {
        self.answers()?;
        match &self.engine {
            Engine::File { .. } => file::write_behind(&self.writer).await,
            Engine::Server(_) => server::write(&self.writer).await,
        }
    }

    /// Closes every connection; the write-ahead log of a file is folded into it.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
        if let Engine::Server(away) = &self.engine {
            away.impatient.close().await;
        }
    }
}
