//! The SQL behind the registry: `SQLite` in a file, or a `PostgreSQL` server.
//!
//! Either is reached by one driver and asked by one text of SQL a query; what differs is how a
//! connection is made, how the one writer is kept the only one, and the schema.

mod file;
mod lease;
mod schema;
mod server;
mod values;

use std::path::PathBuf;

pub use lease::{Lease, LeaseError};
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
    /// Not opened.
    #[error("`{place}` could not be opened: {source}{}", server::advice(source))]
    Open {
        /// The file, or the server and the database.
        place: String,
        /// Why.
        source: sqlx::Error,
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
    File,
    Server(Server),
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

impl Database {
    /// Opens a database, and brings its schema up to date.
    ///
    /// Two processes must not do this at once with a file: the caller holds a lock. A server's
    /// schema is changed under a lock of the server.
    pub async fn open(place: &Place) -> Result<Self, DatabaseError> {
        sqlx::any::install_default_drivers();
        match place {
            Place::File(path) => {
                let (writer, readers) = file::open(path).await?;
                Ok(Self { readers, writer, engine: Engine::File })
            }
            Place::Server(server) => {
                let (writer, readers) = server.open().await?;
                Ok(Self { readers, writer, engine: Engine::Server(server.clone()) })
            }
        }
    }

    /// Where queries that change nothing run. A transaction of it sees one moment.
    pub fn readers(&self) -> &AnyPool {
        &self.readers
    }

    /// The server that it is on; [`None`] where it is a file.
    pub fn server(&self) -> Option<&Server> {
        match &self.engine {
            Engine::File => None,
            Engine::Server(server) => Some(server),
        }
    }

    /// Begins a transaction that holds the write lock from its start, so that what it reads is what
    /// it writes against.
    pub async fn write(&self) -> Result<Write, sqlx::Error> {
        match &self.engine {
            Engine::File => file::write(&self.writer).await,
            Engine::Server(_) => server::write(&self.writer).await,
        }
    }

    /// The same, though its commit survives a crash of the machine only once one that follows it
    /// does: the write-ahead log of a file is synced as a whole.
    ///
    /// On a server it is as any other. A file's registry ends in the crash that loses a commit;
    /// a server may crash alone, and the registry would answer for what is gone.
    pub async fn write_behind(&self) -> Result<Write, sqlx::Error> {
        match &self.engine {
            Engine::File => file::write_behind(&self.writer).await,
            Engine::Server(_) => server::write(&self.writer).await,
        }
    }

    /// Closes every connection; the write-ahead log of a file is folded into it.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}
