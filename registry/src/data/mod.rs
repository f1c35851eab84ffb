//! The data directory: a database, where it is not on a server, blobs, a place for what is being received, and two locks.

mod claim;
mod error;
mod places;

pub use claim::Claim;
pub use error::DataError;
pub use places::{Places, told};

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::blobs::Blobs;
use crate::database::{Database, Place};
use crate::log;
use crate::words;

use places::{BLOBS, SERVER};

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

#[cfg(test)]
mod tests {
    use super::places::TRACES;
    use super::*;

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
