//! `remove` and `deactivate`: take skills out of a project, or out of the sight of agents.

use skillpkg_schema::QualifiedName;
use skillpkg_store::content::Stored;

use super::attend::Attendant;
use super::goal::{Entry, Goal, GoalSkill, Report};
use super::make::{hide, make};
use super::options::Options;
use super::prepare::stored;
use super::session::Session;
use super::update::named;
use crate::activation::check;
use crate::policy::{Installed, Policy, Rule, Violation, refuse, violations_of};
use crate::project::{Locked, Wanted};
use crate::{Error, Settings};

/// Removes skills from a project: what was placed, both files' entries and the ledger's together.
///
/// What is not ours, or is not ours any more, stays. A copy that its user edited is refused unless
/// the options discard edits.
pub async fn remove(
    settings: &Settings,
    options: &Options,
    names: &[String],
    attendant: &mut dyn Attendant,
) -> Result<Report, Error> {
    let session = Session::open(settings, options, attendant)?;
    let goal = Goal { removed: chosen(&session, names)?, ..Goal::default() };
    make(&session, goal, attendant).await
}

/// Takes skills out of the sight of agents; they stay installed and locked, and `sync` leaves them
/// so. Answers with their names.
pub fn deactivate(
    settings: &Settings,
    options: &Options,
    names: &[String],
    attendant: &mut dyn Attendant,
) -> Result<Vec<QualifiedName>, Error> {
    let session = Session::open(settings, options, attendant)?;
    let names = chosen(&session, names)?;
    hide(&session, &names, attendant)?;
    Ok(names)
}

/// Verifies installed skills and that what they need is here, asks what has to be asked, and lets
/// agents see them.
pub async fn activate(
    settings: &Settings,
    options: &Options,
    names: &[String],
    attendant: &mut dyn Attendant,
) -> Result<Report, Error> {
    let session = Session::open(settings, options, attendant)?;
    let mut goal = Goal::default();
    for name in chosen(&session, names)? {
        let wanted = wanted(&session).into_iter().find(|wanted| wanted.name == name);
        goal.skills.extend(wanted.map(|wanted| GoalSkill {
            keep: session.files.lock.skill(&name).cloned(),
            entry: Entry::Unchanged,
            visible: true,
            wanted,
        }));
    }
    // Where nothing has changed since it was placed, what it needs may still be gone.
    for locked in goal.skills.iter().filter_map(|skill| skill.keep.as_ref()) {
        if let Some(stored) = stored(&session.store, &locked.address)? {
            refuse(&forbidden(&session, locked, &stored)?)?;
            check(&session.store, &stored.manifest, settings)?;
        }
    }
    make(&session, goal, attendant).await
}

/// What the policies forbid of an installed skill, but for its age: of that a registry may have to be
/// asked yet.
pub(super) fn forbidden(
    session: &Session<'_>,
    locked: &Locked,
    stored: &Stored,
) -> Result<Vec<Violation>, Error> {
    let project = session.files.project_text.as_deref();
    let policy = Policy::with_project(session.settings, project)?;
    let installed = Installed {
        manifest: &stored.manifest,
        address: &locked.address,
        envelope: &stored.envelope,
        source: &locked.source,
    };
    let (store, state) = (&session.store, &session.state);
    let mut found = violations_of(&policy, session.settings, store, state, &installed)?;
    found.retain(|violation| violation.rule != Rule::MinimumReleaseAge);
    Ok(found)
}

fn chosen(session: &Session<'_>, names: &[String]) -> Result<Vec<QualifiedName>, Error> {
    let wanted = wanted(session);
    let mut chosen: Vec<QualifiedName> =
        names.iter().map(|text| named(text, &wanted)).collect::<Result<_, _>>()?;
    chosen.sort();
    chosen.dedup();
    Ok(chosen)
}

/// Every skill that the project's files or the ledger know.
fn wanted(session: &Session<'_>) -> Vec<Wanted> {
    let mut wanted = session.files.project.skills.clone();
    let locked = session.files.lock.skills().map(|locked| (&locked.name, None));
    let active = session.remembered.active.iter().map(|one| (&one.name, Some(&one.placed_as)));
    let placed = session.remembered.placed.iter().map(|placed| (&placed.name, None));
    for (name, placed_as) in active.chain(locked).chain(placed) {
        if !wanted.iter().any(|one| one.name == *name) {
            wanted.push(Wanted {
                name: name.clone(),
                requirement: skillpkg_schema::Requirement::Latest,
                placed_as: placed_as.cloned(),
                file: None,
            });
        }
    }
    wanted
}
