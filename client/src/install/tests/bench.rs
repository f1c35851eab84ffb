//! A machine and a project of a test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use skillpkg_schema::signature::{PublicKey, SigningKey, sign_release};
use skillpkg_schema::{Manifest, Sha256Digest};
use skillpkg_store::archive;
use skillpkg_store::pack::{PackOptions, Packing};
use tempfile::TempDir;

use crate::agents::Reach;
use crate::install::{
    Approval, Attendant, Frozen, Options, Outdated, Progress, Report, Request, install, outdated,
    remove, sync, update,
};
use crate::{Error, Kind, Settings};

/// Archives made before, by what is in them: compressing takes longer than all else here.
static ARCHIVES: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());

/// The first test key of RFC 8032: whatever is made twice is the same twice.
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";

/// A machine with a home, a user and a project, all in one temporary directory.
pub(super) struct Machine {
    directory: TempDir,
    pub(super) settings: Settings,
    pub(super) options: Options,
    key: SigningKey,
}

/// What an attendant was told, and what it answers.
#[derive(Debug, Default)]
pub(super) struct Watcher {
    pub(super) told: Vec<String>,
    pub(super) asked: Vec<Approval>,
}

impl Attendant for Watcher {
    fn tell(&mut self, text: &str) {
        self.told.push(text.to_owned());
    }

    fn warn(&mut self, text: &str) {
        self.told.push(format!("warning: {text}"));
    }

    fn progress(&mut self, _: Progress) {}

    fn approve(&mut self, asked: &[Approval]) -> Result<bool, Error> {
        self.asked.extend(asked.iter().cloned());
        Err(Error::new(Kind::Refused, "approval_required", "nobody is there"))
    }
}

impl Machine {
    pub(super) fn new() -> Self {
        // In memory where the system has such a place: each change is synced three times.
        let memory = Path::new("/dev/shm");
        let directory = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir()).unwrap();
        let at = |name: &str| {
            let path = directory.path().join(name);
            fs::create_dir_all(&path).unwrap();
            path.canonicalize().unwrap()
        };
        let mut settings = Settings::new(at("home"), at("user"), at("project"));
        // Agents that whoever runs the tests has installed are not this machine's.
        settings.path = vec!["/usr/bin".into(), "/bin".into()];
        let key = SigningKey::from_pem(KEY).unwrap();
        fs::create_dir_all(settings.home.join("keys")).unwrap();
        fs::write(settings.home.join("keys/default.pem"), key.to_pem().unwrap()).unwrap();
        let options = Options { approve: true, ..Options::new(Reach::Project) };
        Self { directory, settings, options, key }
    }

    /// Signs with another key from here on, which this machine does not know.
    pub(super) fn sign_as_a_stranger(&mut self) {
        self.key = SigningKey::generate().unwrap();
    }

    /// The key that this machine signs with.
    pub(super) fn public_key(&self) -> PublicKey {
        self.key.public()
    }

    pub(super) fn project(&self) -> &Path {
        &self.settings.project
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// An archive of a skill whose `NOTES.md` says `notes`, that runs `runs` where given.
    pub(super) fn archive(
        &self,
        name: &str,
        version: &str,
        notes: &str,
        runs: Option<&str>,
    ) -> String {
        let file = self.path(&format!("{name}-{version}.skill.tar.zst"));
        let what = format!("{name} {version} {notes} {runs:?} {}", self.key.public().id());
        let mut made = ARCHIVES.lock().unwrap();
        let bytes = made.entry(what).or_insert_with(|| self.pack(name, version, notes, runs));
        fs::write(&file, bytes).unwrap();
        file.to_str().unwrap().to_owned()
    }

    fn pack(&self, name: &str, version: &str, notes: &str, runs: Option<&str>) -> Vec<u8> {
        let tool = runs.map_or_else(String::new, |run| {
            format!("\n```tool\nid: go\ndescription: goes\nrun: {run}\n```\n")
        });
        let text = format!(
            "---\nskill: {name}\ndescription: A skill of a test.\nversion: {version}\n\
             includes: NOTES.md\n---\n\nRead NOTES.md.\n{tool}"
        );
        self.pack_text(&text, notes)
    }

    /// The bytes of an archive with this `SKILL.md`, which includes `NOTES.md`.
    pub(super) fn pack_text(&self, text: &str, notes: &str) -> Vec<u8> {
        let source = tempfile::tempdir().unwrap();
        fs::write(source.path().join("SKILL.md"), text).unwrap();
        fs::write(source.path().join("NOTES.md"), notes).unwrap();
        let packing = Packing::plan(source.path(), &PackOptions::default()).unwrap();
        let mut bytes = Vec::new();
        packing.write(&packing.sign(std::slice::from_ref(&self.key)), &mut bytes).unwrap();
        bytes
    }

    /// The bytes of an archive of the skill at `source` under a manifest that `change` made another,
    /// signed as such.
    pub(super) fn pack_changed(&self, source: &Path, change: fn(&mut Manifest)) -> Vec<u8> {
        let mut manifest =
            Packing::plan(source, &PackOptions::default()).unwrap().manifest().clone();
        change(&mut manifest);
        let digest = Sha256Digest::of(&manifest.to_bytes());
        let keys = std::slice::from_ref(&self.key);
        let envelope = sign_release(&manifest.name, &manifest.version, digest, keys);
        let mut bytes = Vec::new();
        archive::write(&mut bytes, &manifest, &envelope, &mut |file| {
            let file = fs::File::open(source.join(file.path.as_str()))?;
            Ok(Box::new(file))
        })
        .unwrap();
        bytes
    }

    pub(super) fn install(&self, references: &[&str]) -> Result<Report, Error> {
        self.install_as(references, None, false, &mut Watcher::default())
    }

    pub(super) fn install_as(
        &self,
        references: &[&str],
        placed_as: Option<&str>,
        hidden: bool,
        watcher: &mut Watcher,
    ) -> Result<Report, Error> {
        let request = Request {
            references: references.iter().map(|text| (*text).to_owned()).collect(),
            placed_as: placed_as.map(str::to_owned),
            hidden,
        };
        block_on(install(&self.settings, &self.options, &request, watcher))
    }

    pub(super) fn sync(&self, frozen: Frozen) -> Result<Report, Error> {
        block_on(sync(&self.settings, &self.options, frozen, &mut Watcher::default()))
    }

    pub(super) fn update(&self, names: &[&str], watcher: &mut Watcher) -> Result<Report, Error> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        block_on(update(&self.settings, &self.options, &names, watcher))
    }

    pub(super) fn outdated(&self) -> Result<Vec<Outdated>, Error> {
        let reach = self.options.reach;
        block_on(outdated(&self.settings, reach, &[], &mut Watcher::default()))
    }

    pub(super) fn remove(&self, names: &[&str]) -> Result<Report, Error> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        block_on(remove(&self.settings, &self.options, &names, &mut Watcher::default()))
    }

    /// Every file, link and directory of the project with what it holds, links followed into the
    /// store.
    pub(super) fn picture(&self) -> BTreeMap<String, String> {
        picture_of(self.project())
    }
}

/// Every path beneath `root` with what is there.
pub(super) fn picture_of(root: &Path) -> BTreeMap<String, String> {
    let mut picture = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let metadata = path.symlink_metadata().unwrap();
            let what = if metadata.is_symlink() {
                format!("link to {}", fs::read_to_string(path.join("NOTES.md")).unwrap_or_default())
            } else if metadata.is_dir() {
                directories.push(path);
                "directory".to_owned()
            } else {
                String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
            };
            picture.insert(name, what);
        }
    }
    picture
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
