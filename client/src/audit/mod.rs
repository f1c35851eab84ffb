//! The audit: everything that is installed, held against everything that is known of it here.
//!
//! What is checked is one list, `CHECKS`. Each of them looks at every installed skill of a project
//! and answers with problems; none changes anything.

mod checks;
mod problem;
mod sarif;

pub use problem::{Level, Problem};
pub use sarif::sarif;

use std::path::Path;

use crate::project::{Locked, ProjectDirectory};
use crate::{Error, Kind, Settings};
use checks::CHECKS;

/// What one check looks at: a project, or the skills of all the user's projects.
#[derive(Debug)]
pub(crate) struct Audited<'a> {
    pub(crate) settings: &'a Settings,
    /// Where the lockfile lies.
    pub(crate) root: &'a Path,
    /// What is installed.
    pub(crate) locked: Vec<Locked>,
}

/// What an audit found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// How many installed skills were looked at.
    pub checked: usize,
    /// What is wrong, sorted.
    pub problems: Vec<Problem>,
}

impl Report {
    /// The sort of failure that the errors among the problems are: of verification where there is
    /// one, else a refusal by a policy or for a key, else drift; [`None`] where there is none.
    pub fn kind(&self) -> Option<Kind> {
        let has = |kind: Kind| {
            self.problems.iter().any(|one| one.level == Level::Error && one.sort == kind)
        };
        let sorts = [Kind::Verification, Kind::Refused, Kind::Drift];
        sorts.into_iter().find(|kind| has(*kind))
    }
}

/// Audits the skills of the project and those of all the user's projects.
pub async fn audit(settings: &Settings) -> Result<Report, Error> {
    let mut report = Report::default();
    for root in [settings.project.clone(), settings.home.join("global")] {
        let audited = Audited { settings, root: &root, locked: locked(&root)? };
        if audited.locked.is_empty() {
            continue;
        }
        report.checked += audited.locked.len();
        for check in CHECKS {
            report.problems.extend(check(&audited).await?);
        }
    }
    report.problems.sort();
    report.problems.dedup();
    Ok(report)
}

fn locked(root: &Path) -> Result<Vec<Locked>, Error> {
    if !root.is_dir() {
        return Ok(Vec::new());
    }
    Ok(ProjectDirectory::open(root)?.read()?.lock.skills().cloned().collect())
}
