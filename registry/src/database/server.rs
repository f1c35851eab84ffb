//! A `PostgreSQL` server, on which whoever writes holds one lock.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyConnection, AnyPool, ConnectOptions as _, Connection as _, Executor as _};
use url::Url;

use super::{DatabaseError, READERS, Write, pgpass, schema};
use crate::data::told;

/// How long a connection is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long one is waited for of a server that is known not to answer: one that does again gives it.
const AT_ONCE: Duration = Duration::from_millis(250);
/// How long a connection may lie idle and is used without a question.
const FRESH: Duration = Duration::from_secs(1);
/// The lock of whoever writes; any number that is no other lock of this program's.
const WRITER: i64 = 0x736b_696c_0001;

/// What every connection says first. A statement ends sometime, and so does the wait for a lock; who
/// is cut off without a word is noticed within half a minute.
const EACH: &str = "SET statement_timeout = '60s'; SET lock_timeout = '5s';
    SET client_min_messages = 'warning';
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3";
/// What a connection says that reads: a transaction sees one moment, and changes nothing.
const READING: &str = "SET default_transaction_isolation = 'repeatable read';
    SET default_transaction_read_only = on";
/// What a connection says that writes: its commit is on the disk, and what it leaves lying holds the
/// lock for no more than a minute.
const WRITING: &str =
    "SET synchronous_commit = on; SET default_transaction_isolation = 'read committed';
    SET idle_in_transaction_session_timeout = '60s'";

/// What a URL of a database may say beside where it is.
const PARAMETERS: [&str; 10] = [
    "dbname",
    "host",
    "password",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "user",
    "options",
];

/// Why a URL is not that of a database.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Another scheme.
    #[error("`{0}:` is no scheme of a database; expected `postgres://USER:PASSWORD@HOST/DATABASE`")]
    Scheme(String),
    /// A parameter that means nothing here.
    #[error("`{name}` means nothing in the URL of a database; these may be in it: `{}`", PARAMETERS.join("`, `"))]
    Parameter {
        /// Its name.
        name: String,
    },
    /// No database is named.
    #[error(
        "the URL of the database names none; expected `postgres://USER:PASSWORD@HOST/DATABASE`"
    )]
    NoDatabase,
}

/// The connections of one process.
pub(super) struct Opened {
    pub(super) writer: AnyPool,
    pub(super) readers: AnyPool,
    /// As the readers, and hardly waited for.
    pub(super) impatient: AnyPool,
}

/// A database of a `PostgreSQL` server.
#[derive(Clone)]
pub struct Server {
    url: Url,
}

/// Tells no password.
impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Server({self})")
    }
}

/// Where it is, without a password.
impl fmt::Display for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&told(&self.url))?;
        for name in ["host", "port", "dbname"] {
            if let Some(value) = parameter(&self.url, name) {
                write!(formatter, " {name}={}", value.escape_debug())?;
            }
        }
        Ok(())
    }
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

impl Server {
    /// Reads a URL. Where it does not say whether the connection is encrypted, it is and the server
    /// is verified, unless the server is on this machine.
    pub fn new(url: &Url) -> Result<Self, ServerError> {
        if !["postgres", "postgresql"].contains(&url.scheme()) {
            return Err(ServerError::Scheme(url.scheme().to_owned()));
        }
        for (name, _) in url.query_pairs() {
            if !PARAMETERS.contains(&&*name) {
                return Err(ServerError::Parameter { name: name.escape_debug().to_string() });
            }
        }
        if url.path().trim_start_matches('/').is_empty() && parameter(url, "dbname").is_none() {
            return Err(ServerError::NoDatabase);
        }
        let mut url = url.clone();
        if parameter(&url, "sslmode").is_none() && !is_here(&url) {
            url.query_pairs_mut().append_pair("sslmode", "verify-full");
        }
        Ok(Self { url })
    }

    /// Opens the pools.
    pub(super) async fn open(&self) -> Result<Opened, DatabaseError> {
        let place = self.to_string();
        let failed = |source| DatabaseError::Open { place: place.clone(), source };
        let mut first = self.connect().await?;
        let asked = sqlx::query_scalar("SELECT current_setting('server_encoding')");
        let found: String = asked.fetch_one(&mut first).await.map_err(failed)?;
        if found != "UTF8" {
            return Err(DatabaseError::Encoding { place, found });
        }
        let _ = first.close().await;
        let options = self.options().map_err(failed)?;
        let writer = pool(1, WRITING, Duration::from_secs(30));
        let writer = writer.connect_with(options.clone()).await.map_err(failed)?;
        schema::migrate(&writer, &place, &schema::SERVER).await?;
        let impatient = pool(READERS, READING, AT_ONCE).connect_lazy_with(options.clone());
        let readers = pool(READERS, READING, PATIENCE).connect_with(options);
        Ok(Opened { writer, readers: readers.await.map_err(failed)?, impatient })
    }

    /// A connection of no pool; what is wrong is told at once.
    pub(super) async fn connect(&self) -> Result<AnyConnection, DatabaseError> {
        let place = self.to_string();
        let failed = |source| DatabaseError::Open { place: place.clone(), source };
        let options = self.options().map_err(failed)?;
        match tokio::time::timeout(PATIENCE, options.connect()).await {
            Ok(Ok(mut connection)) => {
                connection.execute(EACH).await.map_err(failed)?;
                Ok(connection)
            }
            Ok(Err(source)) => Err(failed(source)),
            Err(_) => Err(DatabaseError::Silent { place, seconds: PATIENCE.as_secs() }),
        }
    }

    /// Whether a registry is in it.
    pub async fn holds_registry(&self) -> Result<bool, DatabaseError> {
        sqlx::any::install_default_drivers();
        let failed = |source| DatabaseError::Open { place: self.to_string(), source };
        let mut connection = self.connect().await?;
        let asked = sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL");
        let holds = asked.fetch_one(&mut connection).await.map_err(failed)?;
        let _ = connection.close().await;
        Ok(holds)
    }

    fn options(&self) -> Result<AnyConnectOptions, sqlx::Error> {
        let mut url = self.url.clone();
        let name = format!("skillpkg-registry process {}", std::process::id());
        url.query_pairs_mut().append_pair("application_name", &name);
        AnyConnectOptions::from_url(&url)
    }
}

/// Whether a server is on this machine: a socket, or a loopback address.
fn is_here(url: &Url) -> bool {
    let host = parameter(url, "host").or_else(|| url.host_str().map(ToOwned::to_owned));
    let Some(host) = host.filter(|host| !host.is_empty()) else { return true };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost"
        || host.starts_with('/')
        || host.to_ascii_lowercase().starts_with("%2f")
        || address.is_ok_and(|address| address.is_loopback())
}

fn pool(most: u32, says: &'static str, patience: Duration) -> AnyPoolOptions {
    AnyPoolOptions::new()
        .max_connections(most)
        .acquire_timeout(patience)
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            let said = async move {
                connection.execute(EACH).await?;
                connection.execute(says).await?;
                Ok(())
            };
            said.boxed()
        })
        .before_acquire(|connection, meta| {
            let usable: BoxFuture<'_, Result<bool, sqlx::Error>> = async move {
                if meta.idle_for > FRESH {
                    connection.ping().await?;
                }
                Ok(true)
            }
            .boxed();
            usable
        })
}

/// Begins a transaction, and waits until no other that writes is under way.
pub(super) async fn write(writer: &AnyPool) -> Result<Write, sqlx::Error> {
    // Not in the statement that begins it: where that fails midway, the driver does not know that
    // there is a transaction to end.
    let mut write = writer.begin().await?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(WRITER).execute(&mut *write).await?;
    Ok(write)
}

/// What to do about a database that is not opened.
pub(super) fn advice(error: &sqlx::Error) -> Cow<'static, str> {
    let advice = match error {
        sqlx::Error::Database(error) => match error.code().as_deref() {
            Some("28000" | "28P01") => return pgpass::advice().into(),
            Some("3D000") => "; make it first, with `createdb`",
            Some("42501") => {
                "; the role must own the database, or be granted `CREATE` on its schema"
            }
            Some("53300") => "; the server takes more connections with a higher `max_connections`",
            _ => "",
        },
        sqlx::Error::Io(_) => "; is the server up, and does it listen there?",
        sqlx::Error::Tls(_) => {
            "; `sslrootcert=FILE` in the URL names the authority of the server's certificate, \
             `sslmode=` how much is asked of it"
        }
        _ => "",
    };
    advice.into()
}

/// Why, without the line of the server's own source that the driver repeats.
pub(super) fn reason(error: &sqlx::Error) -> Cow<'_, str> {
    match error {
        sqlx::Error::Database(error) => error.message().into(),
        error => error.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(url: &str) -> Result<Server, ServerError> {
        Server::new(&Url::parse(url).unwrap())
    }

    #[test]
    fn a_server_elsewhere_is_verified_unless_the_url_says_otherwise() {
        for (url, mode) in [
            ("postgres://db.example.org/skills", Some("verify-full")),
            ("postgres://10.0.0.7/skills", Some("verify-full")),
            ("postgres:///skills?host=db.example.org", Some("verify-full")),
            ("postgres://db.example.org/skills?sslmode=require", Some("require")),
            ("postgres://localhost/skills", None),
            ("postgres://127.0.0.1:5433/skills", None),
            ("postgres://[::1]/skills", None),
            ("postgres:///skills?host=/run/postgresql", None),
            ("postgres://%2Frun%2Fpostgresql/skills", None),
            ("postgres:///skills", None),
        ] {
            let server = server(url).unwrap();
            assert_eq!(parameter(&server.url, "sslmode").as_deref(), mode, "{url}");
        }
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let refused = server("postgres://host/skills?sslmodus=require").unwrap_err();
        assert!(refused.to_string().contains("`sslmodus`"), "{refused}");
        assert!(matches!(server("postgres://host").unwrap_err(), ServerError::NoDatabase));
        assert!(matches!(server("mysql://host/x").unwrap_err(), ServerError::Scheme(_)));
    }

    #[test]
    fn no_password_is_told() {
        for url in ["postgres://ana:secret@host/skills", "postgres://host/skills?password=secret"] {
            let server = server(url).unwrap();
            let told =
                format!("{server} {server:?} {:?}", super::super::Place::Server(server.clone()));
            assert!(told.contains("host/skills") && !told.contains("secret"), "{told}");
        }
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_named() {
        let here = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = here.local_addr().unwrap();
        drop(here);
        let url = format!("postgres://ana:secret@{address}/skills");
        let refused = server(&url).unwrap().holds_registry().await.unwrap_err().to_string();
        assert!(refused.contains(&format!("postgres://{address}/skills")), "{refused}");
        assert!(refused.contains("is the server up") && !refused.contains("secret"), "{refused}");
    }
}
