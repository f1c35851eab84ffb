//! What this machine remembers of logs, beneath `$SKILLPKG_HOME/trust`: see `docs/wire/trust.md`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use skillpkg_schema::log::{Checkpoint, Hash, IdentityChain, VerifiedCheckpoint};
use skillpkg_schema::signature::Envelope;
use url::Url;

use super::error::Refusal;
use super::kept_tree::TREE_FILE;
use super::unwritten::Unwritten;
use crate::Error;
use crate::project::io_hint;
use crate::settings::registry_text;
use crate::state::{Durable, PATIENCE, ProjectLock, StateError, Stored, lock_file};

/// Most logs of one machine.
const MAX_LOGS: usize = 1_000;
/// How much newer a time has to be to be written where nothing else is new, in seconds.
const TIME_STEP: u64 = 60;
/// How long is waited for a turn: [`TURNS_WAITED`] pauses, ten seconds.
const TURN_PAUSE: Duration = Duration::from_millis(5);
const TURNS_WAITED: u32 = 2_000;
/// The file of one log in its directory.
const LOG_FILE: &str = "log.json";
/// Where forgotten logs go.
const FORGOTTEN: &str = "forgotten";

/// How a log came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pinned {
    /// It was the first that its registry showed.
    FirstUse,
    /// The user's configuration names its key.
    Configuration,
    /// The user named its fingerprint.
    User,
}

/// A registry that a log speaks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Bound {
    /// Its base URL, without a trailing `/`.
    pub(super) url: String,
    /// Whether it relays the log of another registry, as it says itself; [`None`] where a bundle
    /// alone was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) relayed: Option<bool>,
    /// Scopes, whose names the log has proven there; sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) scopes: Vec<String>,
}

/// What is remembered of one log, as its file holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LogRecord {
    pub(super) origin: String,
    /// All its identities that were seen.
    pub(super) identities: Vec<Envelope>,
    /// The newest checkpoint that was verified, whole.
    pub(super) checkpoint: String,
    /// When that was, in seconds since 1970.
    pub(super) seen: u64,
    pub(super) pinned: Pinned,
    /// The registries that it speaks for, in the order seen.
    pub(super) registries: Vec<Bound>,
}

/// What is remembered of one log, verified.
#[derive(Debug, Clone)]
pub(super) struct KnownLog {
    pub(super) record: LogRecord,
    pub(super) chain: IdentityChain,
    pub(super) verified: VerifiedCheckpoint,
}

impl KnownLog {
    pub(super) fn origin(&self) -> &str {
        &self.record.origin
    }

    pub(super) fn checkpoint(&self) -> &Checkpoint {
        &self.verified.checkpoint
    }

    fn of(record: LogRecord) -> Result<Self, String> {
        let chain = IdentityChain::verify(record.identities.clone())
            .map_err(|error| format!("its identities: {error}"))?;
        if chain.origin() != record.origin {
            return Err("its identities are those of another log".to_owned());
        }
        let keys = chain.keys_of_all();
        let verified = Checkpoint::verify(record.checkpoint.as_bytes(), &record.origin, &keys, &[])
            .map_err(|error| format!("its checkpoint: {error}"))?;
        Ok(Self { record, chain, verified })
    }

    pub(super) fn bound(&self, registry: &str) -> Option<&Bound> {
        self.record.registries.iter().find(|bound| bound.url == registry)
    }

    /// Whether a registry says that it relays this log of another's.
    pub(super) fn is_relayed(&self, registry: &str) -> bool {
        self.bound(registry).is_some_and(|bound| bound.relayed == Some(true))
    }
}

/// What became of a change of what is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// It is remembered, or was already.
    Yes,
    /// Another process remembered something else meanwhile: what was verified has to be verified
    /// against that.
    Raced,
}

/// What this machine remembers of logs.
#[derive(Debug, Clone)]
pub(super) struct TrustStore {
    directory: PathBuf,
    proofs: PathBuf,
    /// Where nothing of what is known is written: what would be, which is known to this store alone.
    unwritten: Option<Unwritten>,
}

/// What the directory of a log is called: the first 32 digits of the SHA-256 of its origin.
pub(super) fn log_key(origin: &str) -> String {
    let mut key = Hash::of(origin.as_bytes()).to_string();
    key.truncate(32);
    key
}

impl TrustStore {
    /// What is remembered beneath `home`; nothing is read or made yet.
    pub(super) fn new(home: &Path) -> Self {
        Self { directory: home.join("trust"), proofs: home.join("proofs"), unwritten: None }
    }

    /// As [`TrustStore::new`], for what is only looked at: what is learnt is known as long as this
    /// is, and not written. What is refused is kept as evidence all the same.
    pub(super) fn looking(home: &Path) -> Self {
        Self { unwritten: Some(Unwritten::default()), ..Self::new(home) }
    }

    /// Whether nothing of what is known is written.
    pub(super) fn is_looking(&self) -> bool {
        self.unwritten.is_some()
    }

    /// Where a log's file lies, and what was seen of it that was refused.
    pub(super) fn directory_of(&self, origin: &str) -> PathBuf {
        self.directory.join(log_key(origin))
    }

    /// Where proofs lie, those of each log in a directory of its own.
    pub(super) fn proofs(&self) -> &Path {
        &self.proofs
    }

    /// Where the proofs of a log's records lie.
    pub(super) fn proofs_of(&self, origin: &str) -> PathBuf {
        self.proofs.join(log_key(origin))
    }

    /// Every log, verified; sorted by origin.
    ///
    /// One that cannot be read refuses all: nobody knows which registries it spoke for, and a log
    /// is never pinned anew for want of what was remembered of it.
    pub(super) fn logs(&self) -> Result<Vec<KnownLog>, Refusal> {
        self.records(|_| true)
    }

    /// The logs that speak for a registry: its own first, then those that it relays.
    pub(super) fn logs_of(&self, registry: &Url) -> Result<Vec<KnownLog>, Refusal> {
        let registry = registry_text(registry);
        let speaks = |record: &LogRecord| record.registries.iter().any(|one| one.url == registry);
        let mut logs = self.records(speaks)?;
        logs.sort_by_key(|log| log.is_relayed(registry));
        Ok(logs)
    }

    /// The origins of the logs that speak for a registry, as their files say, unverified.
    pub(super) fn speaking_for(&self, registry: &Url) -> Result<Vec<String>, Refusal> {
        let registry = registry_text(registry);
        let mut origins = Vec::new();
        for path in self.directories()? {
            if let Some(record) = self.read(&path)?
                && record.registries.iter().any(|bound| bound.url == registry)
            {
                origins.push(record.origin);
            }
        }
        Ok(origins)
    }

    /// One log by its origin.
    pub(super) fn log(&self, origin: &str) -> Result<Option<KnownLog>, Refusal> {
        self.read(&self.directory_of(origin))?.map(|record| self.verify(record)).transpose()
    }

    fn records(&self, wanted: impl Fn(&LogRecord) -> bool) -> Result<Vec<KnownLog>, Refusal> {
        let mut logs = Vec::new();
        for path in self.directories()? {
            if let Some(record) = self.read(&path)?.filter(&wanted) {
                logs.push(self.verify(record)?);
            }
        }
        logs.sort_by(|one, other| one.origin().cmp(other.origin()));
        Ok(logs)
    }

    /// The directories of all logs. More than there may be are an error: one that was left out would
    /// be taken for one that nobody knows.
    fn directories(&self) -> Result<Vec<PathBuf>, Refusal> {
        let mut found = self.directories_unbounded().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => damaged(&self.directory, "it leads nowhere".to_owned()),
            io::ErrorKind::NotADirectory => {
                damaged(&self.directory, "it is no directory".to_owned())
            }
            _ if is_of_rights(&error) => unreadable(&self.directory, &error),
            _ => damaged(&self.directory, error.to_string()),
        })?;
        found.extend(self.unwritten.iter().flat_map(Unwritten::directories));
        found.sort_unstable();
        found.dedup();
        if found.len() > MAX_LOGS {
            return Err(Refusal::Full { path: self.directory.clone(), most: MAX_LOGS });
        }
        Ok(found)
    }

    /// The same, however many they are; nothing where nothing was ever remembered.
    fn directories_unbounded(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    && self.directory.symlink_metadata().is_err() =>
            {
                return Ok(Vec::new());
            }
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry?.path();
            // One that holds what was refused alone is of no log that is known.
            if is_of_log(&path) && (path.join(LOG_FILE).exists() || self.is_left(&path)) {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// Whether something is left of a log whose file is not there.
    fn is_left(&self, directory: &Path) -> bool {
        let proofs = directory.file_name().map(|name| self.proofs.join(name));
        let has_proofs =
            |path: PathBuf| fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
        directory.join(LOG_FILE).symlink_metadata().is_ok()
            || directory.join(TREE_FILE).symlink_metadata().is_ok()
            || proofs.is_some_and(has_proofs)
    }

    /// What a log's file says; [`None`] where there is none.
    fn read(&self, directory: &Path) -> Result<Option<LogRecord>, Refusal> {
        if let Some(record) = self.unwritten.as_ref().and_then(|all| all.get(directory)) {
            return Ok(Some(record));
        }
        let file = Stored::new(directory.join(LOG_FILE));
        let record: Option<LogRecord> = file.read().map_err(|error| match error {
            StateError::TooNew { path, found } => Refusal::TooNew { path, found },
            StateError::Damaged { reason, .. } => damaged(directory, reason),
            StateError::Io { path, source } if is_of_rights(&source) => unreadable(&path, &source),
            error => damaged(directory, error.to_string()),
        })?;
        if record.is_none() && self.is_left(directory) {
            let reason = format!("`{LOG_FILE}` is gone, and the rest of what was known is there");
            return Err(damaged(directory, reason));
        }
        if let Some(record) = &record
            && self.directory_of(&record.origin) != directory
        {
            return Err(damaged(directory, "it is that of another log".to_owned()));
        }
        Ok(record)
    }

    fn verify(&self, record: LogRecord) -> Result<KnownLog, Refusal> {
        let directory = self.directory_of(&record.origin);
        KnownLog::of(record).map_err(|reason| damaged(&directory, reason))
    }

    /// Lets one process at a time change anything.
    fn lock(&self) -> Result<Option<ProjectLock>, Error> {
        if self.is_looking() {
            return Ok(None);
        }
        Ok(Some(lock_file(&self.directory.join("lock"), PATIENCE)?))
    }

    /// Waits for the turn of this process among those that were overtaken, and keeps it; without a
    /// turn where none comes, which costs another attempt at most.
    pub(super) async fn turn(&self) -> Option<ProjectLock> {
        if self.is_looking() {
            return None;
        }
        let path = self.directory.join("turn");
        for _ in 0..TURNS_WAITED {
            // Others of this process may hold it across what they wait for: no thread waits here.
            match lock_file(&path, Duration::ZERO) {
                Ok(turn) => return Some(turn),
                Err(StateError::Locked { .. }) => tokio::time::sleep(TURN_PAUSE).await,
                Err(_) => return None,
            }
        }
        None
    }

    fn write(&self, record: &LogRecord, durable: Durable) -> Result<(), Error> {
        let directory = self.directory_of(&record.origin);
        if let Some(unwritten) = &self.unwritten {
            unwritten.keep(directory, record.clone());
            return Ok(());
        }
        Ok(Stored::new(directory.join(LOG_FILE)).write_as(record, durable)?)
    }

    /// Remembers a log that is not known yet. On disk when this answers; a kill leaves it unknown
    /// or known whole.
    pub(super) fn pin(&self, record: &LogRecord) -> Result<Kept, Error> {
        let _lock = self.lock()?;
        if self.read(&self.directory_of(&record.origin))?.is_some() {
            return Ok(Kept::Raced);
        }
        if self.directories()?.len() >= MAX_LOGS {
            return Err(Refusal::Full { path: self.directory.clone(), most: MAX_LOGS }.into());
        }
        self.write(record, Durable::Yes)?;
        Ok(Kept::Yes)
    }

    /// Remembers what a log shows now, which was verified to continue `known`.
    ///
    /// What is remembered never goes back, whoever writes: where another process has gone on from
    /// `known` meanwhile, nothing is written. On disk when this answers, unless the time alone is
    /// newer; a kill leaves what was known before, or all of it.
    pub(super) fn advance(&self, known: &KnownLog, now: &KnownLog) -> Result<Kept, Error> {
        let (before, after) = (&known.record, &now.record);
        let is_larger = now.checkpoint() != known.checkpoint();
        let is_new = is_larger
            || before.identities != after.identities
            || before.registries != after.registries
            || before.pinned != after.pinned;
        let is_later = now.verified.time > known.verified.time
            && after.seen >= before.seen.saturating_add(TIME_STEP);
        if !is_new && !is_later && after.seen < before.seen.saturating_add(TIME_STEP) {
            return Ok(Kept::Yes);
        }
        let _lock = self.lock()?;
        let Some(current) = self.read(&self.directory_of(&after.origin))? else {
            return Ok(Kept::Raced);
        };
        let mut record = after.clone();
        // The same checkpoint with another time on it is no other log.
        let current = if current == *before { known.clone() } else { self.verify(current)? };
        if current.checkpoint() == now.checkpoint()
            && current.record.identities == after.identities
            && current.record.registries == after.registries
            && current.verified.time >= now.verified.time
        {
            return Ok(Kept::Yes);
        }
        let is_same = current.checkpoint() == known.checkpoint()
            && current.record.identities == before.identities
            && current.record.registries == before.registries;
        if !is_same {
            return Ok(Kept::Raced);
        }
        if !is_larger && now.verified.time < current.verified.time {
            record.checkpoint.clone_from(&current.record.checkpoint);
        }
        record.seen = record.seen.max(current.record.seen);
        self.write(&record, if is_new { Durable::Yes } else { Durable::No })?;
        Ok(Kept::Yes)
    }

    /// The directories of the logs that are meant: with this origin or a registry of this URL, or,
    /// though they cannot be read, with this name; all where it is `*`.
    pub(super) fn meant(&self, what: &str) -> Result<Vec<PathBuf>, Error> {
        let found = self.directories_unbounded();
        let found = found.map_err(|error| crate::project::io_error(&self.directory, &error))?;
        let mut meant = Vec::new();
        for path in found {
            let is_meant = match self.read(&path) {
                Ok(Some(record)) => {
                    record.origin == what || record.registries.iter().any(|bound| bound.url == what)
                }
                _ => false,
            };
            if is_meant || what == "*" || path.file_name().is_some_and(|name| name == what) {
                meant.push(path);
            }
        }
        Ok(meant)
    }

    /// Forgets the logs that are [meant](Self::meant): moved aside with their proofs, not removed.
    /// Answers with where they lie now.
    pub(super) fn forget(&self, what: &str) -> Result<Vec<PathBuf>, Error> {
        let _lock = self.lock()?;
        let mut moved = Vec::new();
        let failed = |path: &Path, error: &io::Error| crate::project::io_error(path, error);
        for path in self.meant(what)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let aside = self.aside(&name).map_err(|error| failed(&self.directory, &error))?;
            // The proofs first: no log that is pinned later finds those of this one.
            let proofs = self.proofs.join(&name);
            match fs::rename(&proofs, aside.join("proofs")) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed(&proofs, &error));
                }
                _ => {}
            }
            fs::rename(&path, aside.join("trust")).map_err(|error| failed(&path, &error))?;
            moved.push(aside);
        }
        Ok(moved)
    }

    /// Whether a log of this origin was known here and forgotten.
    pub(super) fn was_forgotten(&self, origin: &str) -> bool {
        let start = format!("{}-", log_key(origin));
        let entries = fs::read_dir(self.directory.join(FORGOTTEN)).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(&start))
    }

    /// A new directory for what is moved aside.
    fn aside(&self, name: &str) -> io::Result<PathBuf> {
        let parent = self.directory.join(FORGOTTEN);
        fs::create_dir_all(&parent)?;
        for number in 1..10_000_u32 {
            let path = parent.join(format!("{name}-{number}"));
            match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok(path),
            }
        }
        Err(io::Error::other("more was forgotten than is kept"))
    }
}

/// Whether a path is that of the directory of a log, by its name.
fn is_of_log(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.len() == 32 && name.iter().all(u8::is_ascii_hexdigit)
}

/// Whether a failure says that this user may not, and nothing of what is there.
fn is_of_rights(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

fn unreadable(path: &Path, error: &io::Error) -> Refusal {
    Refusal::Unreadable { path: path.to_owned(), reason: error.to_string(), hint: io_hint(error) }
}

fn damaged(path: &Path, reason: String) -> Refusal {
    Refusal::State { path: path.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_log_is_pinned_beyond_those_that_are_remembered() {
        let home = tempfile::tempdir().unwrap();
        let store = TrustStore::new(home.path());
        let record = |origin: &str| LogRecord {
            origin: origin.to_owned(),
            identities: Vec::new(),
            checkpoint: String::new(),
            seen: 0,
            pinned: Pinned::FirstUse,
            registries: Vec::new(),
        };
        for number in 1..MAX_LOGS {
            let directory = store.directory_of(&number.to_string());
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join(LOG_FILE), "{}").unwrap();
        }
        // What was refused of a log that is not known counts for none.
        fs::create_dir_all(store.directory_of("refused").join("evidence")).unwrap();
        assert_eq!(store.pin(&record("the last")).unwrap(), Kept::Yes);
        assert_eq!(store.pin(&record("the last")).unwrap(), Kept::Raced);
        let error = store.pin(&record("one more")).unwrap_err();
        assert_eq!(error.code, "trust_state_full");
        assert!(!store.directory_of("one more").exists());
    }
}
