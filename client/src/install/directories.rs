//! The directories that each skill of a project is placed in.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use skillpkg_schema::QualifiedName;

use super::session::Session;
use crate::Error;
use crate::agents::Agents;
use crate::real_path;
use crate::state::Placement;

/// Directories, absolute, and the agents that each is for.
pub(super) type Places = Vec<(PathBuf, Vec<String>)>;

/// The directories that each skill of a project is placed in.
#[derive(Debug)]
pub(super) struct Directories<'a> {
    session: &'a Session<'a>,
    /// Those that were named for this command.
    named: Option<Places>,
    /// Those that the project names.
    of_project: Option<Places>,
    /// Those for a skill that is placed nowhere yet.
    otherwise: Places,
    /// Those beside the others, by skill.
    beside: BTreeMap<QualifiedName, Places>,
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
            let (otherwise, beside) = (Vec::new(), BTreeMap::new());
            return Ok(Self { session, named: None, of_project: None, otherwise, beside });
        }
        let agents = Agents::of(session.settings)?;
        let (reach, base) = (session.options.reach, session.base());
        let places = |ids: &[String]| -> Result<Places, Error> {
            let directories = agents.directories(ids, reach)?;
            Ok(directories
                .into_iter()
                .map(|one| (real_path::native(base.path.join(one.path)), one.agents))
                .collect())
        };
        let some = |ids: &[String]| {
            if ids.is_empty() { Ok(None) } else { places(ids).map(Some) }
        };
        let otherwise = match some(configured)? {
            Some(places) => places,
            None => places(&agents.detected(base.path, reach))?,
        };
        let (named, of_project) = (some(named)?, some(used)?);
        Ok(Self { session, named, of_project, otherwise, beside: BTreeMap::new() })
    }

    /// With these directories beside the others.
    pub(super) fn with(self, beside: BTreeMap<QualifiedName, Places>) -> Self {
        Self { beside, ..self }
    }

    /// The directories of one skill.
    ///
    /// What was named for the command is added to where the skill is; else the project decides, else
    /// the skill stays where it is, else it goes where the agents are.
    pub(super) fn of(&self, name: &QualifiedName) -> Places {
        let mut places = self.chosen(name);
        for (path, agents) in self.beside.get(name).into_iter().flatten() {
            if !places.iter().any(|(there, _)| there == path) {
                places.push((path.clone(), agents.clone()));
            }
        }
        places
    }

    fn chosen(&self, name: &QualifiedName) -> Places {
        let ledger = &self.session.remembered;
        let present: Places = ledger
            .placed_of(name)
            .filter_map(|one| Some((one.path.parent()?.to_owned(), one.agents.clone())))
            .collect();
        match (&self.named, &self.of_project) {
            (Some(named), _) => {
                let mut places = named.clone();
                for (path, agents) in present {
                    if !places.iter().any(|(there, _)| *there == path) {
                        places.push((path, agents));
                    }
                }
                places
            }
            (None, Some(of_project)) => of_project.clone(),
            (None, None) if !present.is_empty() => present,
            (None, None) => self.otherwise.clone(),
        }
    }

    /// How a skill is placed where it is not placed yet.
    pub(super) fn placement(&self) -> Placement {
        let asked =
            self.session.options.copy || self.session.files.project.agents.copy.unwrap_or_default();
        // A link to a directory is a privilege on Windows.
        if asked || cfg!(windows) { Placement::Copy } else { Placement::Link }
    }
}
