//! A machine on which attacks are installed: a home, a user and a project.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use skillpkg::install::{Approval, Attendant, Progress};
use skillpkg::state::State;
use skillpkg::{Error, Settings, keys};
use skillpkg_schema::signature::SigningKey;
use skillpkg_store::attacks::SIGNING_KEY;
use skillpkg_store::content::Store;
use tempfile::TempDir;

/// Nobody, whom nothing is asked.
pub(crate) struct Nobody;

impl Attendant for Nobody {
    fn tell(&mut self, _: &str) {}
    fn warn(&mut self, _: &str) {}
    fn progress(&mut self, _: Progress) {}
    fn approve(&mut self, _: &[Approval]) -> Result<bool, Error> {
        Ok(false)
    }
}

/// The machine. It trusts the key that the sample is signed with.
pub(crate) struct Victim {
    directory: TempDir,
}

impl Victim {
    pub(crate) fn new() -> Self {
        // In memory where the system has such a place.
        let memory = Path::new("/dev/shm");
        let directory = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap();
        let victim = Self { directory };
        for directory in [victim.home(), victim.user_home(), victim.project()] {
            fs::create_dir_all(directory).unwrap();
        }
        let key = SigningKey::from_pem(SIGNING_KEY).unwrap().public();
        keys::trust(&victim.home(), &key).unwrap();
        // What every command makes is there before the first.
        victim.collect();
        let state = State::new(&victim.home());
        drop(state.try_lock_project(&victim.project()).unwrap());
        victim
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.at("home")
    }

    pub(crate) fn user_home(&self) -> PathBuf {
        self.at("user")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.at("project")
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::new(self.home(), self.user_home(), self.project())
    }

    /// Removes from the store what nothing uses.
    pub(crate) fn collect(&self) {
        let store = Store::open(&self.home()).unwrap();
        let collection = store.begin_collection().unwrap();
        let live = State::new(&self.home()).live().unwrap();
        collection.finish(&live.snapshots).unwrap();
    }

    /// Every file and link of project, user and home, with what it holds, and every directory
    /// outside the home; without `tmp/`, and without who holds a lock.
    pub(crate) fn picture(&self) -> BTreeMap<String, Vec<u8>> {
        let mut picture = BTreeMap::new();
        let mut directories = vec![self.at("")];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.at("")).unwrap().to_str().unwrap().to_owned();
                let metadata = path.symlink_metadata().unwrap();
                if metadata.is_dir() {
                    if name != "home/tmp" {
                        directories.push(path);
                    }
                    if !name.starts_with("home/") {
                        picture.insert(name, Vec::new());
                    }
                } else if metadata.is_symlink() {
                    let target = fs::read_link(&path).unwrap();
                    picture.insert(name, target.into_os_string().into_encoded_bytes());
                } else {
                    let is_lock = path.extension().is_some_and(|extension| extension == "lock");
                    let bytes = if is_lock { Vec::new() } else { fs::read(&path).unwrap() };
                    picture.insert(name, bytes);
                }
            }
        }
        picture
    }
}
