//! Takes over what other tools placed.

use std::path::{Path, PathBuf};

use skillpkg_schema::{ContentAddress, QualifiedName, Requirement, SkillName};
use skillpkg_store::content::Store;

use super::attend::Attendant;
use super::directories::Places;
use super::goal::{Entry, Goal, GoalSkill, Report};
use super::make::make;
use super::options::Options;
use super::session::Session;
use crate::agents::Agents;
use crate::project::{Locked, Wanted};
use crate::state::{Foreign, Placement};
use crate::{Error, Kind, Settings, real_path};

/// A skill that other tools placed, and the version that it was found to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TakenOver {
    pub(crate) name: QualifiedName,
    /// The snapshot.
    pub(crate) address: ContentAddress,
    /// Another directory name than the skill's own.
    pub(crate) placed_as: Option<SkillName>,
    /// Which versions its user asked for, where that is known.
    pub(crate) requirement: Option<semver::VersionReq>,
    /// Where it lies, absolute, as it was found.
    pub(crate) places: Vec<(PathBuf, Foreign)>,
}

/// Installs exactly these snapshots as `install` does, in place of what other tools placed of them;
/// whoever sees them goes on seeing them.
///
/// A directory that is no longer as it was found is left alone, and then nothing is changed at all.
/// All of it or nothing, also where it is killed.
pub(crate) async fn take_over(
    settings: &Settings,
    options: &Options,
    skills: &[TakenOver],
    attendant: &mut dyn Attendant,
) -> Result<Report, Error> {
    let session = Session::open(settings, options, attendant)?;
    session.require_project_file()?;
    let agents = Agents::of(settings)?;
    let base = session.base();
    let known: Vec<(PathBuf, &str)> = agents
        .all()
        .filter_map(|agent| {
            let directory = agent.directory(options.reach)?;
            Some((real_path::native(base.path.join(directory)), agent.id.as_str()))
        })
        .collect();
    let mut goal = Goal::default();
    for skill in skills {
        goal.skills.push(goal_of(&session, skill)?);
        let mut beside: Places = Vec::new();
        for (path, found) in &skill.places {
            goal.adopted.insert(path.clone(), found.clone());
            let Some(directory) = path.parent() else { continue };
            if beside.iter().any(|(there, _)| there == directory) {
                continue;
            }
            let reads = known.iter().filter(|(known, _)| directory.starts_with(known));
            let ids = reads.map(|(_, id)| (*id).to_owned()).collect();
            beside.push((directory.to_owned(), ids));
        }
        goal.beside.insert(skill.name.clone(), beside);
    }
    make(&session, goal, attendant).await
}

fn goal_of(session: &Session<'_>, skill: &TakenOver) -> Result<GoalSkill, Error> {
    let TakenOver { name, address, placed_as, requirement, .. } = skill;
    let Some(wanted) = session.files.project.skill(name) else {
        let entry = match requirement {
            Some(versions) => Entry::Versions(versions.clone()),
            None => Entry::CaretOfResolved,
        };
        let wanted = Wanted {
            name: name.clone(),
            requirement: Requirement::Address(*address),
            placed_as: placed_as.clone(),
            file: None,
        };
        return Ok(GoalSkill { wanted, keep: None, entry, visible: true });
    };
    let locked = session.files.lock.skill(name).filter(|locked| locked.address == *address);
    let Some(locked) = locked else {
        let message = format!("the project has another version of `{name}` than was found");
        return Err(Error::new(Kind::Refused, "version_differs", message));
    };
    let (wanted, keep) = (wanted.clone(), Some(locked.clone()));
    Ok(GoalSkill { wanted, keep, entry: Entry::Unchanged, visible: true })
}

/// What a project has, as far as it matters to what is taken over.
#[derive(Debug)]
pub(crate) struct Present {
    /// The project, or the user's home.
    pub(crate) base: PathBuf,
    /// Where the project lies.
    pub(crate) root: PathBuf,
    /// What it asks for.
    pub(crate) wanted: Vec<Wanted>,
    /// What is locked.
    pub(crate) locked: Vec<Locked>,
    /// Copies that we placed.
    copies: Vec<PathBuf>,
    /// The store.
    pub(crate) store: Store,
}

impl Present {
    /// Looks, and changes nothing.
    pub(crate) fn look(
        settings: &Settings,
        options: &Options,
        attendant: &mut dyn Attendant,
    ) -> Result<Self, Error> {
        let session = Session::open_to_look(settings, options, attendant)?;
        if session.state.journal(session.root())?.is_some() {
            attendant.warn(
                "a change was cut short here, and is finished by the next command that may change \
                 something",
            );
        }
        let copies = session.remembered.placed.iter();
        let copies = copies.filter(|placed| placed.placement == Placement::Copy);
        Ok(Self {
            base: session.base().path.to_owned(),
            root: session.root().to_owned(),
            wanted: session.files.project.skills.clone(),
            locked: session.files.lock.skills().cloned().collect(),
            copies: copies.map(|placed| placed.path.clone()).collect(),
            store: session.store.clone(),
        })
    }

    /// Whether what stands at a path is ours: a copy that we placed, or a link into our store.
    pub(crate) fn is_ours(&self, path: &Path) -> bool {
        let store = || real_path::of(self.store.root());
        self.copies.iter().any(|copy| copy == path)
            || (path.is_symlink()
                && real_path::of(path)
                    .is_ok_and(|leads| store().is_ok_and(|store| leads.starts_with(store))))
    }
}
