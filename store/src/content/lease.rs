//! Leases: what an install brings in is safe from collection until something refers to it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::directory::{create_file, open_regular};
use super::error::{AtPath as _, StoreError};
use super::layout::Layout;
use super::lock::{Lock, LockFile, Unlocked, holder, is_unsupported};
use super::temporary::with_free_name;

/// What stands before the process's number in the name of a lease's file in `tmp/`.
const KIND: &str = "lease";

/// How long each waits for the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// A new lease lets a collection that is waiting go first, for this long: so that installs
    /// without end do not keep it out, and one that cannot start does not hold them up.
    pub(super) gate: Duration,
    /// A new lease waits for a collection at work.
    pub(super) lease: Duration,
    /// A collection waits for the leases that are held.
    pub(super) collection: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            gate: Duration::from_secs(2),
            lease: Duration::from_mins(1),
            collection: Duration::from_secs(10),
        }
    }
}

/// Held while an install puts things into the store that nothing refers to yet: `gc` removes
/// nothing that was there or came while any lease was held. Let go when dropped, or when its
/// process ends however it ends.
///
/// One lease an install; taking a second while holding one only waits longer for a collection.
#[derive(Debug)]
pub struct Lease {
    // The order matters: the file that names us goes while the lock is still held.
    _name: Option<Named>,
    _lock: Option<Lock>,
}

/// A file in `tmp/` whose name says which process holds a lease, locked while that is true.
#[derive(Debug)]
struct Named {
    layout: Arc<Layout>,
    name: String,
    _lock: Option<Lock>,
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = self.layout.temporary().remove_file(&self.name);
    }
}

impl Lease {
    /// Waits for a collection at work, then shares the store's lock. Of a store that is only looked
    /// at, which nothing is brought into, it is held in name alone.
    pub(super) fn take(layout: &Arc<Layout>, patience: &Patience) -> Result<Self, StoreError> {
        if layout.is_looking() {
            return Ok(Self { _name: None, _lock: None });
        }
        let path = |lock: LockFile| layout.path().join(lock.name());
        // Whether it opened in time does not matter: the gate is a courtesy.
        match LockFile::Gate.open(layout).at(|| path(LockFile::Gate))?.shared(patience.gate) {
            Ok(gate) => drop(gate),
            Err(error) if is_unsupported(&error) => return Ok(Self { _name: None, _lock: None }),
            Err(error) => return Err(StoreError::io(path(LockFile::Gate), error)),
        }
        let lock = LockFile::Store
            .open(layout)
            .and_then(|lock| lock.shared(patience.lease))
            .at(|| path(LockFile::Store))?;
        let Some(lock) = lock else {
            let pid = holder(layout, LockFile::Gate);
            return Err(StoreError::Held { path: layout.path().to_owned(), pid });
        };
        let (name, file) =
            with_free_name(KIND, |name| create_file(layout.temporary(), name, 0o644))
                .at(|| layout.temporary_path(KIND))?;
        let own =
            Unlocked::from(file).exclusive(Duration::ZERO).at(|| layout.temporary_path(&name))?;
        let named = Named { layout: layout.clone(), name, _lock: own };
        Ok(Self { _name: Some(named), _lock: Some(lock) })
    }
}

/// The process that holds a lease, of several the first found; `unknown` where none is found.
pub(super) fn lease_holder(layout: &Layout) -> String {
    let find = || -> io::Result<Option<String>> {
        for entry in layout.temporary().entries()? {
            let name = entry?.file_name();
            let Some(name) = name.to_str().filter(|name| name.starts_with(KIND)) else { continue };
            let (file, _) = open_regular(layout.temporary(), name)?;
            // A file that can be locked was left by a process that ended.
            if Unlocked::from(file).exclusive(Duration::ZERO)?.is_none() {
                return Ok(name.split('-').nth(1).map(str::to_owned));
            }
        }
        Ok(None)
    };
    find().ok().flatten().unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Collection;
    use crate::content::lock::Lock;

    const SHORT: Patience = Patience {
        gate: Duration::from_millis(30),
        lease: Duration::from_millis(60),
        collection: Duration::from_millis(60),
    };

    fn layout(home: &tempfile::TempDir) -> Arc<Layout> {
        Arc::new(Layout::open(home.path()).unwrap())
    }

    fn held_by(error: &StoreError) -> &str {
        match error {
            StoreError::Held { pid, .. } => pid,
            error => panic!("{error}"),
        }
    }

    #[test]
    fn who_waits_too_long_is_told_for_which_process() {
        let home = tempfile::tempdir().unwrap();
        let layout = layout(&home);
        let own = std::process::id().to_string();
        let (first, second) =
            (Lease::take(&layout, &SHORT).unwrap(), Lease::take(&layout, &SHORT).unwrap());
        // Left by a process that was killed.
        std::fs::write(home.path().join("tmp/lease-1-1"), "").unwrap();
        assert_eq!(held_by(&Collection::begin(&layout, &SHORT).unwrap_err()), own);
        drop(first);
        assert_eq!(held_by(&Collection::begin(&layout, &SHORT).unwrap_err()), own);
        drop(second);
        let collection = Collection::begin(&layout, &SHORT).unwrap();
        assert_eq!(held_by(&Lease::take(&layout, &SHORT).unwrap_err()), own);
        assert_eq!(held_by(&Collection::begin(&layout, &SHORT).unwrap_err()), own);
        drop(collection);
        Lease::take(&layout, &SHORT).unwrap();
    }

    #[test]
    fn a_waiting_collection_goes_before_new_leases() {
        let home = tempfile::tempdir().unwrap();
        let layout = layout(&home);
        let patience = Patience { gate: Duration::from_secs(20), ..Patience::default() };
        let first = Lease::take(&layout, &patience).unwrap();
        std::thread::scope(|scope| {
            let collecting = scope.spawn(|| Collection::begin(&layout, &patience).unwrap());
            // Until it is at the gate.
            while LockFile::Gate.open(&layout).unwrap().shared(Duration::ZERO).unwrap().is_some() {}
            let late = scope.spawn(|| Lease::take(&layout, &patience).unwrap());
            std::thread::sleep(Duration::from_millis(20));
            assert!(!late.is_finished() && !collecting.is_finished());
            drop(first);
            let collection = collecting.join().unwrap();
            assert!(!late.is_finished());
            drop(collection);
            late.join().unwrap();
        });
    }

    #[test]
    fn a_collection_that_cannot_start_does_not_keep_leases_out() {
        let home = tempfile::tempdir().unwrap();
        let layout = layout(&home);
        let first = Lease::take(&layout, &SHORT).unwrap();
        let gate: Lock =
            LockFile::Gate.open(&layout).unwrap().exclusive(Duration::ZERO).unwrap().unwrap();
        let second = Lease::take(&layout, &SHORT).unwrap();
        drop((first, second, gate));
    }
}
