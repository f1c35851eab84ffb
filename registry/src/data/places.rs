//! Where a registry keeps what it keeps, and what is there.

use std::env;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use skillpkg_schema::diagnostic::escape;
use url::Url;

use crate::blobs::Blobs;
use crate::database::{DatabaseError, Place, Server};

use super::DataError;

/// The file of the database, in the data directory.
pub(super) const DATABASE: &str = "registry.db";
/// The file that says that the database is on a server: its log's keys go with that one alone.
pub(super) const SERVER: &str = "database-server";
/// The file that says where the objects are: the database names them, and the log's tiles lie there.
pub(super) const BLOBS: &str = "blob-store";
/// How objects that are files are told, and noted.
pub(super) const OBJECTS: &str = "the directory `objects` in it";
/// How the database in the directory is told.
pub(super) const FILE: &str = "the database in it";
/// What a registry has written that was served, beside its database.
pub(super) const TRACES: [&str; 7] = [
    "log/identities.json",
    "log/checkpoint",
    BLOBS,
    "objects/archives",
    "objects/manifests",
    "objects/blobs",
    "objects/log",
];
/// All that lies in a data directory.
pub(super) const OWN: [&str; 11] = [
    DATABASE,
    "registry.db-wal",
    "registry.db-shm",
    "registry.db-journal",
    SERVER,
    BLOBS,
    "objects",
    "log",
    "tmp",
    "serve.lock",
    "migrate.lock",
];

/// Where a registry keeps what it keeps: all in one directory, unless a URL says otherwise.
///
/// A path alone is the directory.
#[derive(Clone)]
pub struct Places {
    /// The data directory.
    pub root: PathBuf,
    /// A database server instead of a file in the directory: `postgres://…`.
    pub database: Option<Url>,
    /// An object store instead of files in the directory: `s3://…`.
    pub blobs: Option<Url>,
}

impl From<&Path> for Places {
    fn from(root: &Path) -> Self {
        Self { root: root.to_owned(), database: None, blobs: None }
    }
}

impl From<&PathBuf> for Places {
    fn from(root: &PathBuf) -> Self {
        root.as_path().into()
    }
}

impl Places {
    /// The blobs: files of the data directory, or a bucket, of which nothing is asked here.
    pub(super) fn open_blobs(&self, root: &Path) -> Result<Blobs, DataError> {
        if let Some(url) = &self.blobs {
            return Blobs::bucket(url, |name| env::var(name).ok()).map_err(DataError::Bucket);
        }
        let path = root.join("objects");
        Blobs::local(&path).map_err(|source| DataError::Blobs { path, source })
    }

    /// Where the objects are, as it is noted; refused where that is not where they were.
    pub(super) fn stores(&self) -> Result<String, DataError> {
        let asked = match &self.blobs {
            None => OBJECTS.to_owned(),
            Some(url) => Blobs::told(url, |name| env::var(name).ok()).map_err(DataError::Bucket)?,
        };
        match fs::read_to_string(self.root.join(BLOBS)) {
            Ok(found) if !["", asked.as_str()].contains(&found.trim()) => {
                let (path, found) = (self.root.clone(), found.trim().to_owned());
                Err(DataError::Stored { path, found, asked })
            }
            _ => Ok(asked),
        }
    }

    /// Where the database is; refused where the directory goes with another.
    pub(super) fn database(&self) -> Result<Place, DataError> {
        let (file, server) = (self.root.join(DATABASE), self.root.join(SERVER));
        let elsewhere = |found: String, asked: String| {
            Err(DataError::Elsewhere { path: self.root.clone(), found, asked })
        };
        let Some(url) = &self.database else {
            return match fs::read_to_string(server) {
                Ok(found) => elsewhere(format!("`{}`", found.trim()), FILE.to_owned()),
                Err(_) => Ok(Place::File(file)),
            };
        };
        let asked = Server::new(url).map_err(DatabaseError::Url)?;
        if file.exists() {
            return elsewhere(FILE.to_owned(), format!("`{asked}`"));
        }
        match fs::read_to_string(server) {
            Ok(found) if found.trim() != asked.to_string() => {
                elsewhere(format!("`{}`", found.trim()), format!("`{asked}`"))
            }
            _ => Ok(Place::Server(asked)),
        }
    }

    /// Whether a registry is there. Where one was whose database is gone, or where something else is,
    /// it is refused; nothing is changed.
    pub(super) async fn holds_registry(&self, place: &Place) -> Result<bool, DataError> {
        let root = self.root.as_path();
        // Looked for before the database is: whoever makes a registry meanwhile makes that first.
        let trace = TRACES.into_iter().find(|trace| root.join(trace).exists());
        let lost = |trace, database| {
            let path = root.to_owned();
            DataError::Lost { path, trace, database }
        };
        let marker = match place {
            Place::File(path) => path.clone(),
            Place::Server(_) => root.join(SERVER),
        };
        let is_marked = match fs::metadata(marker) {
            Ok(marker) => marker.is_file(),
            // Somebody else's registry is not one that is missing.
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                return Err(DataError::Io { path: root.to_owned(), source });
            }
            Err(_) => false,
        };
        match (place, trace) {
            (Place::File(_), Some(trace)) if !is_marked => {
                return Err(lost(trace, format!("`{DATABASE}`")));
            }
            (Place::Server(server), Some(trace)) if !server.holds_registry().await? => {
                return Err(lost(trace, format!("the registry in the database `{server}`")));
            }
            (_, None) if !is_marked => {
                let found = other_entry(root);
                let found =
                    found.map_err(|source| DataError::Io { path: root.to_owned(), source })?;
                if let Some(entry) = found {
                    return Err(DataError::Foreign { path: root.to_owned(), entry });
                }
            }
            _ => {}
        }
        Ok(is_marked)
    }
}

/// Something in a directory that no registry has put there. What the system or a home has in every
/// directory counts for nothing: `lost+found`, and names that begin with a dot.
fn other_entry(root: &Path) -> io::Result<Option<String>> {
    let entries = match fs::read_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    for entry in entries {
        let name = entry?.file_name();
        let is_usual = name == "lost+found" || name.as_encoded_bytes().starts_with(b".");
        if !is_usual && !OWN.iter().any(|own| name == *own) {
            return Ok(Some(escape(&name.to_string_lossy())));
        }
    }
    Ok(None)
}

/// Tells neither URL in full: each may hold a password.
impl fmt::Debug for Places {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = |url: &Option<Url>| url.as_ref().map(told);
        formatter
            .debug_struct("Places")
            .field("root", &self.root)
            .field("database", &told(&self.database))
            .field("blobs", &told(&self.blobs))
            .finish()
    }
}

/// A URL without what may be secret in it: scheme, host, port and path.
pub fn told(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}
