//! Verification of what was placed in agents' directories.

use std::path::Path;

use skillpkg_schema::diagnostic::escape;

use super::snapshot::stored;
use super::{Problem, ProblemKind, Verifier};
use crate::Error;
use crate::state::{Placed, Placement};

impl Verifier<'_> {
    /// Compares what was placed with its snapshot.
    pub(super) fn copy(&self, placed: &Placed) -> Result<Vec<Problem>, Error> {
        let problem =
            |kind, path: &str| Problem::new(&placed.name, kind, path).within(&placed.path);
        match placed.placement {
            Placement::Link => {
                let tree = self.store.tree_path(&placed.address);
                Ok(match link_problem(&placed.path, &tree) {
                    Some((kind, detail)) => vec![problem(kind, "").with_detail(detail)],
                    None => Vec::new(),
                })
            }
            Placement::Copy => {
                // Without its manifest it cannot be compared; that the manifest is gone is a
                // problem of the snapshot.
                let Ok(stored) = stored(&self.store, &placed.address)? else {
                    return Ok(Vec::new());
                };
                let found = self.store.verify_copy(&stored.manifest, &placed.path)?;
                Ok(found.iter().map(|one| problem(one.kind.into(), &one.path)).collect())
            }
        }
    }
}

fn link_problem(path: &Path, tree: &Path) -> Option<(ProblemKind, String)> {
    let Ok(metadata) = path.symlink_metadata() else {
        return Some((ProblemKind::Missing, "the link is gone".to_owned()));
    };
    if !metadata.is_symlink() {
        return Some((
            ProblemKind::Modified,
            "something else stands in the link's place".to_owned(),
        ));
    }
    match path.read_link() {
        Ok(target) if target == *tree => None,
        Ok(target) => {
            let shown = escape(&target.to_string_lossy());
            Some((ProblemKind::Modified, format!("the link leads to `{shown}`")))
        }
        Err(error) => Some((ProblemKind::Modified, error.to_string())),
    }
}
