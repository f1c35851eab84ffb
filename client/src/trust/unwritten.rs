//! What would be remembered of logs where nothing is written: as long as something is looked at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::store::LogRecord;

/// Records of logs by their directories, in memory alone.
#[derive(Debug, Clone, Default)]
pub(super) struct Unwritten(Arc<Mutex<BTreeMap<PathBuf, LogRecord>>>);

impl Unwritten {
    fn records(&self) -> MutexGuard<'_, BTreeMap<PathBuf, LogRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What would be written of the log in a directory.
    pub(super) fn get(&self, directory: &Path) -> Option<LogRecord> {
        self.records().get(directory).cloned()
    }

    /// The directories of the logs of which something would be written.
    pub(super) fn directories(&self) -> Vec<PathBuf> {
        self.records().keys().cloned().collect()
    }

    /// Remembers what would be written of the log in a directory.
    pub(super) fn keep(&self, directory: PathBuf, record: LogRecord) {
        self.records().insert(directory, record);
    }
}
