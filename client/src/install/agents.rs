//! `agents`: which agents skills are placed for, told and changed.

use std::path::{Path, PathBuf};

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{ContentAddress, QualifiedName};
use skillpkg_store::content::Stored;

use super::attend::Attendant;
use super::change::Change;
use super::commit::commit;
use super::directories::{Choice, placement, surroundings};
use super::folders::Folders;
use super::list::settle;
use super::options::Options;
use super::placement::{Placing, Target};
use super::prepare::stored;
use super::remove::forbidden;
use super::session::Session;
use crate::activation::intact_tree_at;
use crate::agents::{AgentDirectory, Agents, Base, ChosenBy, Overview, Parts, Reach};
use crate::policy::refuse;
use crate::trust::Standings;
use crate::{Error, Settings};

/// Tells what goes where for which agent, and why. Changes nothing that agents see, save to finish a
/// change that was cut short.
pub fn overview(
    settings: &Settings,
    options: &Options,
    attendant: &mut dyn Attendant,
) -> Result<Overview, Error> {
    settle(settings, options.reach, attendant)?;
    let session = Session::open_to_look(settings, options, attendant)?;
    let agents = Agents::of(settings)?;
    let choice = Choice::of(&session, &agents)?;
    let mut placed = session.remembered.placed.clone();
    if options.reach == Reach::Project {
        placed.extend(session.state.project(&settings.home.join("global"))?.placed);
    }
    let project = (options.reach == Reach::Project).then(|| session.root());
    let directories =
        choice.places.into_iter().map(|(path, agents)| AgentDirectory { path, agents });
    let parts = Parts {
        agents: &agents,
        base: Base { project, user_home: &settings.user_home },
        chosen_by: choice.by,
        chosen: choice.ids,
        directories: directories.collect(),
        found: agents.found(surroundings(&session)),
        placed,
    };
    Ok(parts.overview())
}

/// Writes the agents that skills are placed for into the project's `skillpkg.toml`, and places every
/// active skill for exactly them; all of it or nothing, as an install.
pub fn use_agents(
    settings: &Settings,
    options: &Options,
    ids: &[String],
    attendant: &mut dyn Attendant,
) -> Result<(), Error> {
    let session = Session::open(settings, options, attendant)?;
    let agents = Agents::of(settings)?;
    let mut ids = ids.to_vec();
    let mut seen = std::collections::HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    let choice = Choice::named(&session, &agents, ChosenBy::Project, &ids)?;
    place_by(&session, &choice, Some(&ids), attendant)
}

/// Takes the names of agents out of the project's `skillpkg.toml`, looks anew which are in use,
/// remembers them, and places every active skill for exactly them; all of it or nothing.
pub fn reset_agents(
    settings: &Settings,
    options: &Options,
    attendant: &mut dyn Attendant,
) -> Result<(), Error> {
    let session = Session::open(settings, options, attendant)?;
    let agents = Agents::of(settings)?;
    let configured = &settings.use_agents;
    let choice = if configured.is_empty() {
        Choice::anew(&session, &agents)
    } else {
        Choice::named(&session, &agents, ChosenBy::Configuration, configured)?
    };
    place_by(&session, &choice, None, attendant)
}

fn place_by(
    session: &Session<'_>,
    choice: &Choice,
    named: Option<&[String]>,
    attendant: &mut dyn Attendant,
) -> Result<(), Error> {
    let base = session.base();
    let mut folders = Folders::new(&base, &session.store);
    let mut placing = Placing::of(session, &mut folders);
    let mut change = Change::of(session, []);
    for active in &session.remembered.active {
        let name = &active.name;
        let Some(stored) = stored(&session.store, &active.address)? else {
            attendant.warn(&format!(
                "`{name}` stays where it is: its snapshot is not in the store; `skillpkg sync` \
                 brings it"
            ));
            continue;
        };
        refuse_forbidden(session, name, &active.address, &stored)?;
        // What agents are about to see in another place was re-hashed just before.
        let (_, repaired) = intact_tree_at(&session.store, &active.address, &stored.manifest)?;
        for notice in repaired {
            attendant.warn(&format!("`{name}`: {}", escape(&notice)));
        }
        let plan = placing.place(&Target {
            name,
            directory_name: &active.placed_as,
            address: active.address,
            directories: &choice.places,
            placement: placement(session),
            change_placement: session.options.copy,
        })?;
        change.place_again(name, plan, attendant);
    }
    let remembered = (choice.by == ChosenBy::Found).then_some(choice.ids.as_slice());
    change.name_agents(session, named, remembered)?;
    let Some(journal) = change.into_journal(session) else { return Ok(()) };
    session.store.sync()?;
    let left: Vec<PathBuf> = session
        .remembered
        .placed
        .iter()
        .filter_map(|placed| placed.path.parent())
        .filter(|directory| !journal.state.placed.iter().any(|one| one.path.starts_with(directory)))
        .map(Path::to_owned)
        .collect();
    commit(&session.state, &session.directory, folders, journal)?.tell(attendant);
    // An empty directory would be a sign of an agent that was just left out.
    for directory in &left {
        base.remove_empty(directory);
    }
    Ok(())
}

/// Refuses to show further agents what a policy or an advisory forbids.
fn refuse_forbidden(
    session: &Session<'_>,
    name: &QualifiedName,
    address: &ContentAddress,
    stored: &Stored,
) -> Result<(), Error> {
    let locked = session.files.lock.skill(name).filter(|locked| locked.address == *address);
    let Some(locked) = locked else { return Ok(()) };
    refuse(&forbidden(session, locked, stored)?)?;
    match locked.source.registry() {
        Some(url) => {
            let standing = Standings::read(&session.settings.home)?.of(url, name, &locked.version);
            standing.check(name, &locked.version)
        }
        None => Ok(()),
    }
}
