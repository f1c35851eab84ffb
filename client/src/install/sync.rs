//! `sync`: makes a project what its lockfile says.

use std::collections::BTreeSet;

use skillpkg_schema::{QualifiedName, Requirement};

use super::attend::Attendant;
use super::goal::{Entry, Goal, GoalSkill, Report};
use super::make::make;
use super::options::Options;
use super::prepare::stored;
use super::session::{Session, no_project};
use crate::project::{LOCK_FILE, Locked, PROJECT_FILE, Wanted};
use crate::{Error, Kind, Settings};

/// Whether `skillpkg.toml` and `skillpkg.lock` must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frozen {
    /// They must: `lock_outdated` where they do not.
    Yes,
    /// What is missing is resolved, and what is locked is kept.
    No,
}

/// Makes the project what its lockfile says. Asks no registry where the store has everything.
pub async fn sync(
    settings: &Settings,
    options: &Options,
    frozen: Frozen,
    attendant: &mut dyn Attendant,
) -> Result<Report, Error> {
    let session = Session::open(settings, options, attendant)?;
    session.require_project_file()?;
    if frozen == Frozen::Yes {
        let files = &session.files;
        if files.project_text.is_none() && files.lock.skills().next().is_none() {
            return Err(no_project(session.root()));
        }
        let differences = differences(&session)?;
        if !differences.is_empty() {
            let message =
                format!("it is not what `{PROJECT_FILE}` asks for: {}", differences.join("; "));
            return Err(Error::new(Kind::Failed, "lock_outdated", message)
                .in_file(LOCK_FILE)
                .with_hint(
                    "run `skillpkg sync` where you develop, and keep the lockfile it writes",
                ));
        }
    }
    let goal = Goal { refreshes: frozen == Frozen::No, ..goal_of(&session)? };
    make(&session, goal, attendant).await
}

/// Every skill of the project, with what is locked of it, and what is there without being asked for.
pub(super) fn goal_of(session: &Session<'_>) -> Result<Goal, Error> {
    let mut goal = Goal::default();
    for wanted in &session.files.project.skills {
        goal.skills.push(GoalSkill {
            keep: kept(session, wanted)?.cloned(),
            entry: Entry::Unchanged,
            visible: !session.remembered.inactive.contains(&wanted.name),
            wanted: wanted.clone(),
        });
    }
    goal.removed = unwanted(session);
    Ok(goal)
}

/// What is locked of a skill, where that is what is asked for.
pub(super) fn kept<'s>(
    session: &'s Session<'_>,
    wanted: &Wanted,
) -> Result<Option<&'s Locked>, Error> {
    let Some(locked) = session.files.lock.skill(&wanted.name) else { return Ok(None) };
    if wanted.is_met_by(locked) {
        return Ok(Some(locked));
    }
    // By its other address it is the same snapshot, which the manifest tells.
    if let Requirement::Address(address) = &wanted.requirement
        && wanted.file.is_none()
        && let Some(stored) = stored(&session.store, address)?
        && stored.manifest.address() == locked.address
    {
        return Ok(Some(locked));
    }
    Ok(None)
}

/// Skills that are locked or placed and that nobody asks for.
pub(super) fn unwanted(session: &Session<'_>) -> Vec<QualifiedName> {
    let locked = session.files.lock.skills().map(|locked| &locked.name);
    let placed = session.remembered.placed.iter().map(|placed| &placed.name);
    let active = session.remembered.active.iter().map(|active| &active.name);
    let names: BTreeSet<&QualifiedName> = locked
        .chain(placed)
        .chain(active)
        .filter(|name| session.files.project.skill(name).is_none())
        .collect();
    names.into_iter().cloned().collect()
}

/// How the lockfile differs from what the project asks for, a phrase each.
pub(super) fn differences(session: &Session<'_>) -> Result<Vec<String>, Error> {
    let mut differences = Vec::new();
    for wanted in &session.files.project.skills {
        if kept(session, wanted)?.is_none() {
            let name = &wanted.name;
            differences.push(match session.files.lock.skill(name) {
                Some(locked) if wanted.file.is_none() => format!(
                    "`{name}` is locked at `{}`, and asked for as `{}`",
                    locked.version,
                    crate::project::requirement_text(&wanted.requirement)
                ),
                Some(_) => format!("`{name}` is locked from another source"),
                None => format!("`{name}` is not locked"),
            });
        }
    }
    for locked in session.files.lock.skills() {
        if session.files.project.skill(&locked.name).is_none() {
            differences.push(format!("`{}` is locked and not asked for", locked.name));
        }
    }
    Ok(differences)
}
