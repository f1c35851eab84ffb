//! The data directory: a database, where it is not on a server, blobs, a place for what is being received, and two locks.

use std::env;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use skillpkg_schema::diagnostic::escape;
use url::Url;

use crate::blobs::{Blobs, BlobsError};
use crate::database::{Database, DatabaseError, Place, Server};
use crate::log::{self, LogError};
use crate::words;

/// The file of the database, in the data directory.
const DATABASE: &str = "registry.db";
/// The file that says that the database is on a server: its log's keys go with that one alone.
const SERVER: &str = "database-server";
/// The file that says where the objects are: the database names them, and the log's tiles lie there.
const BLOBS: &str = "blob-store";
/// How objects that are files are told, and noted.
const OBJECTS: &str = "the directory `objects` in it";
/// How the database in the directory is told.
const FILE: &str = "the database in it";
/// What a registry has written that was served, beside its database.
const TRACES: [&str; 7] = [
    "log/identities.json",
    "log/checkpoint",
    BLOBS,
    "objects/archives",
    "objects/manifests",
    "objects/blobs",
    "objects/log",
];
/// All that lies in a data directory.
const OWN: [&str; 11] = [
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

/// Why a data directory is not used.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// There is none.
    #[error("`{}` holds no registry; is this the directory that is meant? `serve` makes a registry in it", .0.display())]
    Missing(PathBuf),
    /// A registry was there, and its database is gone.
    #[error(
        "`{}` holds a registry's `{trace}`, and {database} is missing: restore it from a backup that \
         is at least as new as `log/checkpoint`, or give the `--database` that the registry had; \
         nothing was made", .path.display()
    )]
    Lost {
        /// The directory.
        path: PathBuf,
        /// What is left of the registry.
        trace: &'static str,
        /// What is missing.
        database: String,
    },
    /// The directory holds something else.
    #[error(
        "`{}` holds no registry, and something else, such as `{entry}`; is this the directory that is \
         meant? `serve` makes a registry in one that is absent or empty", .path.display()
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// The first of what is there.
        entry: String,
    },
    /// Another process serves it.
    #[error("`{}` is already served{}; stop that one first", .path.display(), by(.process.as_deref()))]
    Served {
        /// The directory.
        path: PathBuf,
        /// The other's process id, where it can be read.
        process: Option<String>,
    },
    /// The database.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// What search finds skills by could not be made.
    #[error("the words of the skills could not be made anew: {0}")]
    Words(#[source] sqlx::Error),
    /// What was there before there was a log could not be appended to it.
    #[error("the log could not be begun: {0}")]
    Log(#[from] LogError),
    /// The database of a server has none.
    #[error(
        "`{0}` holds no registry; is this the database that is meant? `serve` makes a registry in it"
    )]
    Empty(String),
    /// The directory goes with another database.
    #[error("`{}` goes with {found}, and {asked} is asked for: {}", .path.display(), instead(found))]
    Elsewhere {
        /// The directory.
        path: PathBuf,
        /// The database that it goes with.
        found: String,
        /// The one that was asked for.
        asked: String,
    },
    /// The directory's registry has its objects elsewhere.
    #[error(
        "the registry in `{}` has its objects in {found}, and {asked} is asked for: {}; where the objects themselves were moved, remove the file `blob-store` in the directory first", .path.display(), stored_in(found)
    )]
    Stored {
        /// The directory.
        path: PathBuf,
        /// Where they are.
        found: String,
        /// Where they were said to be.
        asked: String,
    },
    /// A bucket.
    #[error(transparent)]
    Bucket(BlobsError),
    /// The blob storage.
    #[error("the blobs in `{}` cannot be opened: {source}", .path.display())]
    Blobs {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: BlobsError,
    },
    /// Reading or writing failed.
    #[error("`{}`: {source}{}", .path.display(), whose(source))]
    Io {
        /// What was read or written.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

fn by(process: Option<&str>) -> String {
    process.map_or_else(String::new, |process| format!(" by process {process}"))
}

fn instead(found: &str) -> &'static str {
    if found == FILE {
        "give another directory, or leave `--database` out"
    } else {
        "give that one with `--database`, or another directory; where the database itself was moved, \
         remove the file `database-server` in the directory first"
    }
}

fn stored_in(found: &str) -> &'static str {
    if found == OBJECTS {
        "leave `--blobs` out, or give another directory"
    } else {
        "give that one with `--blobs`, or another directory"
    }
}

/// Who may: a command that an operator runs as another account than the service is the usual cause.
fn whose(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::PermissionDenied {
        "; run this as the account that owns the data directory and all in it"
    } else {
        ""
    }
}

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
    fn open_blobs(&self, root: &Path) -> Result<Blobs, DataError> {
        if let Some(url) = &self.blobs {
            return Blobs::bucket(url, |name| env::var(name).ok()).map_err(DataError::Bucket);
        }
        let path = root.join("objects");
        Blobs::local(&path).map_err(|source| DataError::Blobs { path, source })
    }

    /// Where the objects are, as it is noted; refused where that is not where they were.
    fn stores(&self) -> Result<String, DataError> {
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
    fn database(&self) -> Result<Place, DataError> {
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
    async fn holds_registry(&self, place: &Place) -> Result<bool, DataError> {
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

/// An open data directory.
#[derive(Debug, Clone)]
pub struct Data {
    /// Accounts, names, versions.
    pub database: Database,
    /// Archives, manifests and files by their digests.
    pub blobs: Blobs,
    root: PathBuf,
    /// Where the blobs are, as it is noted.
    stores: String,
}

impl Data {
    /// Opens the directory, and makes it where there is none. One with other things in it is refused,
    /// and so is one whose database is gone: then nothing is made.
    pub async fn open_or_create(places: impl Into<Places>) -> Result<Self, DataError> {
        let places = places.into();
        places.holds_registry(&places.database()?).await?;
        Self::make(places).await
    }

    async fn make(places: Places) -> Result<Self, DataError> {
        let root = places.root.as_path();
        let failed = |source| DataError::Io { path: root.to_owned(), source };
        let stores = places.stores()?;
        create_private(root).map_err(failed)?;
        let objects = places.blobs.is_none().then_some("objects");
        for beneath in ["tmp", "log"].into_iter().chain(objects) {
            create_private(&root.join(beneath)).map_err(failed)?;
        }
        let root = root.canonicalize().map_err(failed)?;
        let blobs = places.open_blobs(&root)?;
        let migrating = lock_file(&root.join("migrate.lock"))?;
        migrating
            .lock()
            .map_err(|source| DataError::Io { path: root.join("migrate.lock"), source })?;
        let place = places.database()?;
        let database = Database::open(&place).await?;
        if let Place::Server(server) = &place {
            let path = root.join(SERVER);
            fs::write(&path, format!("{server}\n"))
                .map_err(|source| DataError::Io { path, source })?;
        }
        log::complete(&database).await?;
        words::complete(&database).await.map_err(DataError::Words)?;
        drop(migrating);
        Ok(Self { database, blobs, root, stores })
    }

    /// Opens a directory that is there.
    pub async fn open(places: impl Into<Places>) -> Result<Self, DataError> {
        let places = places.into();
        let place = places.database()?;
        if !places.holds_registry(&place).await? {
            return Err(DataError::Missing(places.root));
        }
        if let Place::Server(server) = &place
            && !server.holds_registry().await?
        {
            return Err(DataError::Empty(server.to_string()));
        }
        Self::make(places).await
    }

    /// Opens the directory, and makes it where nothing is there yet: accounts may come before the
    /// first start. Answers whether it was made. A directory with other things in it is refused.
    pub async fn open_or_start(places: impl Into<Places>) -> Result<(Self, bool), DataError> {
        let places = places.into();
        let is_new = match fs::read_dir(&places.root) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if is_new {
            return Ok((Self::open_or_create(places).await?, true));
        }
        Ok((Self::open(places).await?, false))
    }

    /// Where what is being received lies until it is verified.
    pub fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Where the blobs lie that are files.
    pub fn objects(&self) -> Option<PathBuf> {
        self.blobs.are_files().then(|| self.root.join("objects"))
    }

    /// Notes where the blobs are, so that no other place is taken for it by a slip; called once they
    /// are known to be those of the registry. To move them on purpose is to remove the note first.
    pub fn note_blobs(&self) -> io::Result<()> {
        let path = self.root.join(BLOBS);
        if path.exists() { Ok(()) } else { fs::write(path, format!("{}\n", self.stores)) }
    }

    /// Where the keys of the log and its newest checkpoint lie.
    pub fn log(&self) -> PathBuf {
        self.root.join("log")
    }

    /// Claims the directory for one server, until the answer is dropped or the process ends, and
    /// clears what an earlier one left half received.
    pub fn claim(&self) -> Result<Claim, DataError> {
        let path = self.root.join("serve.lock");
        let failed = |source| DataError::Io { path: path.clone(), source };
        let mut file = lock_file(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut process = String::new();
                let read = file.take(32).read_to_string(&mut process);
                let process = read.ok().map(|_| process.trim().to_owned());
                let process = process.filter(|text| text.parse::<u32>().is_ok());
                return Err(DataError::Served { path: self.root.clone(), process });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.set_len(0).map_err(failed)?;
        file.rewind().map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        file.flush().map_err(failed)?;
        clear(&self.temporary()).map_err(failed)?;
        Ok(Claim { _file: file })
    }
}

/// A data directory that this process alone serves.
#[derive(Debug)]
pub struct Claim {
    _file: File,
}

fn lock_file(path: &Path) -> Result<File, DataError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|source| DataError::Io { path: path.to_owned(), source })
}

/// Makes a directory, and those above it, that its owner alone can enter. On Windows its rights are
/// those of the directory above.
fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path)
}

fn clear(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_directory_is_claimed_once_and_the_other_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let data = Data::open_or_create(directory.path()).await.unwrap();
        fs::write(data.temporary().join("left"), "half").unwrap();
        let claim = data.claim().unwrap();
        assert!(!data.temporary().join("left").exists());
        let error = data.claim().unwrap_err().to_string();
        assert!(error.contains(&format!("by process {}", std::process::id())), "{error}");
        drop(claim);
        assert!(data.claim().is_ok());
    }

    #[test]
    fn who_may_is_told_with_what_is_not_permitted() {
        let told = |kind: io::ErrorKind| {
            DataError::Io { path: "/srv/skillpkg".into(), source: kind.into() }.to_string()
        };
        assert!(
            told(io::ErrorKind::PermissionDenied).ends_with("the data directory and all in it")
        );
        assert!(!told(io::ErrorKind::StorageFull).contains("account"));
    }

    /// Whoever may do everything is told nothing of it: then this says so and ends.
    #[cfg(unix)]
    #[tokio::test]
    async fn a_directory_of_somebody_else_is_not_said_to_hold_no_registry() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("data");
        drop(Data::open_or_create(&root).await.unwrap());
        let allow = |mode| fs::set_permissions(&root, fs::Permissions::from_mode(mode)).unwrap();
        allow(0o000);
        let is_closed = fs::read_dir(&root).is_err();
        let (opened, started) = (Data::open(&root).await, Data::open_or_start(&root).await);
        allow(0o700);
        if !is_closed {
            eprintln!("skipped: a closed directory: needs a user who may not do everything");
            return;
        }
        for error in [opened.unwrap_err(), started.unwrap_err()] {
            let error = error.to_string();
            assert!(error.contains("run this as the account"), "{error}");
        }
    }

    #[tokio::test]
    async fn what_is_no_registry_is_not_made_one_by_a_look_at_it() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("nothing");
        assert!(matches!(Data::open(&missing).await, Err(DataError::Missing(_))));
        assert!(!missing.exists());
        let (_, made) = Data::open_or_start(&missing).await.unwrap();
        assert!(made);
        let (_, made) = Data::open_or_start(&missing).await.unwrap();
        assert!(!made);
        let other = directory.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("notes.txt"), "mine").unwrap();
        for refused in [
            Data::open_or_start(&other).await.map(|_| ()),
            Data::open_or_create(&other).await.map(|_| ()),
            Data::open(&other).await.map(|_| ()),
        ] {
            assert!(matches!(refused, Err(DataError::Foreign { .. })), "{refused:?}");
        }
        assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
        // What every file system and every home has makes a directory no less empty.
        fs::rename(other.join("notes.txt"), other.join(".profile")).unwrap();
        fs::create_dir(other.join("lost+found")).unwrap();
        assert!(Data::open_or_create(&other).await.is_ok());
    }

    #[tokio::test]
    async fn a_registry_whose_database_is_gone_is_not_begun_anew() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        Data::open_or_create(root).await.unwrap().database.close().await;
        for trace in TRACES {
            let path = root.join(trace);
            fs::create_dir_all(&path).unwrap();
            Data::open(root).await.unwrap().database.close().await;
            fs::rename(root.join("registry.db"), root.join(".kept")).unwrap();
            for refused in [
                Data::open_or_start(root).await.map(|_| ()),
                Data::open_or_create(root).await.map(|_| ()),
                Data::open(root).await.map(|_| ()),
            ] {
                let refused = refused.unwrap_err();
                assert!(matches!(refused, DataError::Lost { .. }), "{trace}: {refused}");
                let told = refused.to_string();
                assert!(
                    told.contains(trace) && told.contains("`registry.db` is missing"),
                    "{told}"
                );
            }
            assert!(!root.join("registry.db").exists(), "{trace}");
            fs::rename(root.join(".kept"), root.join("registry.db")).unwrap();
            fs::remove_dir(&path).unwrap();
        }
    }
}
