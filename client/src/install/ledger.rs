//! What was placed, by where and by which skill.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

use skillpkg_schema::QualifiedName;

use crate::state::{Placed, ProjectState};

/// What was placed, found by where and by which skill.
#[derive(Debug)]
pub(super) struct Ledger<'s> {
    // As text: a path's parts are costly to compare.
    by_path: HashMap<&'s OsStr, &'s Placed>,
    by_name: HashMap<&'s QualifiedName, Vec<&'s Placed>>,
}

impl<'s> Ledger<'s> {
    pub(super) fn of(state: &'s ProjectState) -> Self {
        let mut by_name: HashMap<_, Vec<_>> = HashMap::with_capacity(state.placed.len());
        for placed in &state.placed {
            by_name.entry(&placed.name).or_default().push(placed);
        }
        let by_path = state.placed.iter().map(|placed| (placed.path.as_os_str(), placed)).collect();
        Self { by_path, by_name }
    }

    /// What was placed of `name`, in the order of the ledger.
    pub(super) fn of_skill(&self, name: &QualifiedName) -> &[&'s Placed] {
        self.by_name.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// What was placed at `path`.
    pub(super) fn at(&self, path: &Path) -> Option<&'s Placed> {
        self.by_path.get(path.as_os_str()).copied()
    }
}
