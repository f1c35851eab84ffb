//! What the projects of this machine still use.

use std::fs;
use std::io;
use std::path::Path;

use skillpkg_schema::ContentAddress;
use skillpkg_schema::diagnostic::escape;

use super::document::Stored;
use super::error::StateError;
use super::journal::Journal;
use super::{PATIENCE, ProjectRecord, ProjectState, State};
use crate::Error;
use crate::project::{LOCK_FILE, LockFile, ProjectDirectory};

/// What the projects of this machine still use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Live {
    /// Every snapshot that some project locks, has placed or has active; sorted, none twice.
    pub snapshots: Vec<ContentAddress>,
    /// What could not be read, and what was kept in its stead.
    pub warnings: Vec<String>,
}

impl State {
    /// Remembers that a project is at `root`, where it has a lockfile and nothing is remembered of
    /// it: what it locks counts as used from then on.
    ///
    /// A lockfile that cannot be read is an error: nobody knows what it names.
    pub fn register(&self, root: &Path) -> Result<(), Error> {
        let Ok(directory) = ProjectDirectory::open(root) else { return Ok(()) };
        let Some(text) = directory.read_text(LOCK_FILE)? else { return Ok(()) };
        if self.record(root, "json").path().exists() {
            return Ok(());
        }
        LockFile::parse(&text)?;
        let _lock = self.lock_project(root, PATIENCE)?;
        // Another process may have been first.
        let remembered = self.project(root)?;
        self.set_project(root, &remembered)
    }

    /// Every snapshot that some project on this machine locks or has active: what `gc` keeps.
    ///
    /// A project whose directory is gone no longer counts. Where a lockfile cannot be read, what
    /// the state lists of its project is kept, with a warning; a file of the state that cannot be
    /// read is an error, since nobody knows what it kept.
    pub fn live(&self) -> Result<Live, Error> {
        let mut live = Live::default();
        let projects = self.projects();
        let failed = |source| StateError::Io { path: projects.clone(), source };
        let entries = match fs::read_dir(&projects) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(live),
            Err(error) => return Err(failed(error).into()),
        };
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("json") => {
                    if let Some(record) = Stored::new(path).read::<ProjectRecord>()? {
                        live.add_project(&record);
                    }
                }
                // A change that a kill cut short is made whole by whoever comes next.
                Some("journal") => {
                    if let Some(journal) = Stored::new(path).read::<Journal>()? {
                        live.add_state(&journal.state);
                        if let Some(lock) = &journal.lock {
                            live.add_lock(&lock.after);
                        }
                    }
                }
                _ => {}
            }
        }
        live.snapshots.sort_unstable();
        live.snapshots.dedup();
        Ok(live)
    }
}

impl Live {
    fn add_project(&mut self, record: &ProjectRecord) {
        if !record.root.is_dir() {
            return;
        }
        self.add_state(&record.state);
        let lock = ProjectDirectory::open(&record.root)
            .and_then(|directory| directory.read_text(LOCK_FILE))
            .and_then(|text| Ok(LockFile::parse(text.as_deref().unwrap_or("version = 1"))?));
        match lock {
            Ok(lock) => self.snapshots.extend(lock.skills().map(|locked| locked.address)),
            Err(error) => self.warnings.push(format!(
                "the lockfile of `{}` cannot be read, so what was last placed there is kept: {}",
                escape(&record.root.to_string_lossy()),
                error.message
            )),
        }
    }

    fn add_state(&mut self, state: &ProjectState) {
        self.snapshots.extend(state.placed.iter().map(|placed| placed.address));
        self.snapshots.extend(state.active.iter().map(|active| active.address));
    }

    fn add_lock(&mut self, text: &str) {
        if let Ok(lock) = LockFile::parse(text) {
            self.snapshots.extend(lock.skills().map(|locked| locked.address));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Locked;
    use crate::state::{Active, Placed, Placement, TextChange};
    use skillpkg_schema::Sha256Digest;

    fn address(text: &str) -> ContentAddress {
        Sha256Digest::of(text.as_bytes()).address()
    }

    fn active(text: &str) -> Active {
        Active {
            programs: std::collections::BTreeMap::new(),
            name: text.parse().unwrap(),
            placed_as: text.parse().unwrap(),
            version: "1.0.0".parse().unwrap(),
            address: address(text),
            key: None,
            proven: None,
        }
    }

    fn lock_of(text: &str) -> String {
        let mut lock = LockFile::default();
        lock.insert(Locked {
            name: text.parse().unwrap(),
            version: "1.0.0".parse().unwrap(),
            source: crate::project::Source::File("x".to_owned()),
            address: address(text),
            archive: address("archive"),
            key: Sha256Digest::of(b"key").to_string().parse().unwrap(),
            log_index: None,
        });
        lock.to_text()
    }

    #[test]
    fn locks_active_sets_and_cut_short_changes_count_and_vanished_projects_do_not() {
        let home = tempfile::tempdir().unwrap();
        let state = State::new(home.path());
        assert_eq!(state.live().unwrap(), Live::default());

        let (kept, gone, cut) =
            (home.path().join("a"), home.path().join("b"), home.path().join("c"));
        for root in [&kept, &gone, &cut] {
            fs::create_dir(root).unwrap();
        }
        let of =
            |text: &str| ProjectState { active: vec![active(text)], ..ProjectState::default() };
        state.set_project(&kept, &of("one")).unwrap();
        fs::write(kept.join(LOCK_FILE), lock_of("two")).unwrap();
        state.set_project(&gone, &of("three")).unwrap();
        fs::remove_dir(&gone).unwrap();
        state.set_project(&cut, &ProjectState::default()).unwrap();
        let lock = Some(TextChange { before: None, after: lock_of("four") });
        let journal = Journal { lock, state: of("five"), ..Journal::default() };
        state.begin(&cut, &journal).unwrap();

        let live = state.live().unwrap();
        let mut expected: Vec<_> = ["one", "two", "four", "five"].map(address).to_vec();
        expected.sort_unstable();
        assert_eq!(live.snapshots, expected);
        assert!(live.warnings.is_empty());
    }

    #[test]
    fn where_a_lockfile_cannot_be_read_what_was_placed_is_kept_and_told() {
        let home = tempfile::tempdir().unwrap();
        let state = State::new(home.path());
        let root = home.path().join("project");
        fs::create_dir(&root).unwrap();
        let placed = Placed {
            path: root.join("x"),
            name: "x".parse().unwrap(),
            address: address("x"),
            placement: Placement::Copy,
            agents: vec!["universal".to_owned()],
        };
        let remembered = ProjectState { placed: vec![placed], ..ProjectState::default() };
        state.set_project(&root, &remembered).unwrap();
        assert_eq!(state.project(&root).unwrap(), remembered);
        fs::write(root.join(LOCK_FILE), "version = 9").unwrap();
        let live = state.live().unwrap();
        assert_eq!(live.snapshots, [address("x")]);
        assert_eq!(live.warnings.len(), 1);
    }

    #[test]
    fn state_of_a_later_version_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let state = State::new(home.path());
        state.set_project(home.path(), &ProjectState::default()).unwrap();
        let file = fs::read_dir(state.projects()).unwrap().next().unwrap().unwrap().path();
        fs::write(&file, "{\"version\": 2}").unwrap();
        let error = state.project(home.path()).unwrap_err();
        assert_eq!(error.code, "format_too_new");
        assert!(error.hint.unwrap().contains("version 2"));
        assert!(state.live().is_err());
    }
}
