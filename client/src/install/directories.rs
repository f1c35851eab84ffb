//! The directories that each skill of a project is placed in.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;

use super::session::Session;
use super::unknown_agent;
use crate::Error;
use crate::agents::{AgentDirectory, Agents, ChosenBy, Surroundings};
use crate::real_path;
use crate::state::Placement;

/// Directories, absolute, and the agents that each is for.
pub(super) type Places = Vec<(PathBuf, Vec<String>)>;

/// The directories that each skill of a project is placed in.
#[derive(Debug)]
pub(super) struct Directories<'a> {
    session: &'a Session<'a>,
    agents: Option<Agents>,
    /// Those that the project names.
    of_project: Option<Places>,
    /// Those for a skill that is placed nowhere yet.
    otherwise: Option<Choice>,
    /// Those beside the others, by skill.
    beside: BTreeMap<QualifiedName, Places>,
}

/// The agents that skills are placed for where a command names none, and where.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) by: ChosenBy,
    pub(super) ids: Vec<String>,
    pub(super) places: Places,
}

impl Choice {
    /// What the project says, else the user's configuration, else what is remembered, else what is
    /// found now.
    pub(super) fn of(session: &Session<'_>, agents: &Agents) -> Result<Self, Error> {
        let used = session.files.project.agents.used.as_deref().unwrap_or_default();
        if used.is_empty() {
            Self::unless_project(session, agents)
        } else {
            Self::named(session, agents, ChosenBy::Project, used)
        }
    }

    fn unless_project(session: &Session<'_>, agents: &Agents) -> Result<Self, Error> {
        let configured = &session.settings.use_agents;
        if !configured.is_empty() {
            return Self::named(session, agents, ChosenBy::Configuration, configured);
        }
        Ok(match &session.remembered.agents {
            Some(remembered) => {
                Self::found(session, agents, remembered.clone(), ChosenBy::Remembered)
            }
            None => Self::anew(session, agents),
        })
    }

    /// What is found now.
    pub(super) fn anew(session: &Session<'_>, agents: &Agents) -> Self {
        let ids = agents.detected(surroundings(session));
        Self::found(session, agents, ids, ChosenBy::Found)
    }

    /// What somebody named.
    pub(super) fn named(
        session: &Session<'_>,
        agents: &Agents,
        by: ChosenBy,
        ids: &[String],
    ) -> Result<Self, Error> {
        let directories = agents
            .directories(ids, session.options.reach)
            .map_err(|error| unknown_agent::in_its_file(session, agents, by, ids, error))?;
        Ok(Self { by, ids: ids.to_vec(), places: absolute(session, directories) })
    }

    fn found(session: &Session<'_>, agents: &Agents, ids: Vec<String>, by: ChosenBy) -> Self {
        let directories = agents.directories_found(&ids, session.options.reach);
        Self { by, places: absolute(session, directories), ids }
    }
}

/// Where signs of agents are looked for.
pub(super) fn surroundings<'s>(session: &'s Session<'_>) -> Surroundings<'s> {
    let (settings, reach) = (session.settings, session.options.reach);
    Surroundings::of(settings, session.root(), reach, &session.remembered)
}

fn absolute(session: &Session<'_>, directories: Vec<AgentDirectory>) -> Places {
    let base = session.base();
    directories
        .into_iter()
        .map(|one| (real_path::native(base.path.join(one.path)), one.agents))
        .collect()
}

impl<'a> Directories<'a> {
    /// Looks up every agent that is named anywhere, so that a wrong one is told before anything is
    /// fetched; and where one of these skills is placed nowhere yet, the agents that are there.
    pub(super) fn choose<'n>(
        session: &'a Session<'a>,
        skills: impl IntoIterator<Item = &'n QualifiedName>,
    ) -> Result<Self, Error> {
        let (named, configured) = (&session.options.agents, &session.settings.use_agents);
        let used = session.files.project.agents.used.as_deref().unwrap_or_default();
        let standing: HashSet<&QualifiedName> =
            session.remembered.placed.iter().map(|placed| &placed.name).collect();
        let is_named = [named, configured, used].iter().any(|ids| !ids.is_empty());
        if !is_named && skills.into_iter().all(|name| standing.contains(name)) {
            let beside = BTreeMap::new();
            return Ok(Self { session, agents: None, of_project: None, otherwise: None, beside });
        }
        let agents = Agents::of(session.settings)?;
        agents.directories(named, session.options.reach)?;
        let of_project = if used.is_empty() {
            None
        } else {
            Some(Choice::named(session, &agents, ChosenBy::Project, used)?.places)
        };
        let (otherwise, beside) = (Choice::unless_project(session, &agents)?, BTreeMap::new());
        let (agents, otherwise) = (Some(agents), Some(otherwise));
        Ok(Self { session, agents, of_project, otherwise, beside })
    }

    /// With these directories beside the others.
    pub(super) fn with(self, beside: BTreeMap<QualifiedName, Places>) -> Self {
        Self { beside, ..self }
    }

    /// The directories of one skill.
    ///
    /// What was named for the command is added to where the skill is; else the project decides, else
    /// the skill stays where it is, else it goes where the agents are.
    pub(super) fn of(&self, name: &QualifiedName) -> Result<Places, Error> {
        let mut places = self.chosen(name)?;
        for (path, agents) in self.beside.get(name).into_iter().flatten() {
            if !places.iter().any(|(there, _)| there == path) {
                places.push((path.clone(), agents.clone()));
            }
        }
        Ok(places)
    }

    fn chosen(&self, name: &QualifiedName) -> Result<Places, Error> {
        let ledger = &self.session.remembered;
        let present: Places = ledger
            .placed_of(name)
            .filter_map(|one| Some((one.path.parent()?.to_owned(), one.agents.clone())))
            .collect();
        let named = &self.session.options.agents;
        if let Some(agents) = self.agents.as_ref().filter(|_| !named.is_empty()) {
            return self.with_named(agents, present);
        }
        Ok(match (&self.of_project, &self.otherwise) {
            (Some(of_project), _) => of_project.clone(),
            (None, _) if !present.is_empty() => present,
            (None, Some(otherwise)) => otherwise.places.clone(),
            (None, None) => present,
        })
    }

    /// Where the skill is, and where the agents that were named find it too: one that reads a
    /// directory in which it is needs no other, in which it would show again.
    fn with_named(&self, agents: &Agents, present: Places) -> Result<Places, Error> {
        let (reach, base) = (self.session.options.reach, self.session.base());
        let mut places = present;
        let mut others = Vec::new();
        for id in &self.session.options.agents {
            let reads: Vec<PathBuf> = agents
                .get(id)?
                .reads_of(reach)
                .map(|path| real_path::native(base.path.join(path)))
                .collect();
            match places.iter_mut().find(|(path, _)| reads.contains(path)) {
                Some((_, ids)) if ids.contains(id) => {}
                Some((_, ids)) => ids.push(id.clone()),
                None => others.push(id.clone()),
            }
        }
        let mut added = absolute(self.session, agents.directories(&others, reach)?);
        added.extend(places);
        Ok(added)
    }

    /// The agents to remember: those that were found, where nobody named any and none are remembered.
    pub(super) fn to_remember(&self) -> Option<&[String]> {
        let found = self.otherwise.as_ref().filter(|choice| choice.by == ChosenBy::Found)?;
        let is_used = self.of_project.is_none() && self.session.options.agents.is_empty();
        is_used.then_some(found.ids.as_slice())
    }

    /// What to say of agents that came into use since, and that skills are not placed for.
    pub(super) fn unserved(&self) -> Option<String> {
        let choice = self.otherwise.as_ref().filter(|one| one.by == ChosenBy::Remembered)?;
        let agents = self.agents.as_ref().filter(|_| self.to_place_by_choice())?;
        let (reach, base) = (self.session.options.reach, self.session.base());
        let is_served = |id: &str| {
            agents.get(id).is_ok_and(|agent| {
                let mut reads =
                    agent.reads_of(reach).map(|path| real_path::native(base.path.join(path)));
                reads.any(|read| choice.places.iter().any(|(path, _)| *path == read))
            })
        };
        let found = agents.detected(surroundings(self.session));
        let names: Vec<String> = found
            .iter()
            .filter(|id| !is_served(id))
            .filter_map(|id| Some(escape(&agents.get(id).ok()?.name)))
            .collect();
        (!names.is_empty()).then(|| {
            format!(
                "skills are not placed for {}, in use since: `skillpkg agents` tells more, \
                 `skillpkg agents reset` places them there too",
                names.join(", ")
            )
        })
    }

    fn to_place_by_choice(&self) -> bool {
        self.of_project.is_none() && self.session.options.agents.is_empty()
    }

    /// How a skill is placed where it is not placed yet.
    pub(super) fn placement(&self) -> Placement {
        placement(self.session)
    }
}

/// How a skill is placed where it is not placed yet. Where links cannot be made, a copy is.
pub(super) fn placement(session: &Session<'_>) -> Placement {
    let asked = session.options.copy || session.files.project.agents.copy.unwrap_or_default();
    if asked { Placement::Copy } else { Placement::Link }
}
