//! Which directories a skill is placed in: as few as reach the agents that are wanted.

use std::path::{Path, PathBuf};

use super::{Agent, Agents, UNIVERSAL};
use crate::{Error, Kind};

/// How far a skill reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// One project, in directories beneath it.
    Project,
    /// Every project of the user, in directories beneath the user's home.
    Global,
}

/// A directory in which skills are placed, and the agents they are placed there for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDirectory {
    /// Relative to the project or to the user's home; absolute where the configuration has it so.
    pub path: PathBuf,
    /// The agents' ids.
    pub agents: Vec<String>,
}

impl Agents {
    /// The directories for the agents with these ids: one each, however many read it.
    pub fn directories(&self, ids: &[String], reach: Reach) -> Result<Vec<AgentDirectory>, Error> {
        let mut directories: Vec<AgentDirectory> = Vec::new();
        for id in ids {
            let agent = self.get(id)?;
            let Some(path) = agent.directory(reach) else {
                let reach = match reach {
                    Reach::Project => "of a project",
                    Reach::Global => "of a user",
                };
                let message = format!("`{id}` has no directory {reach} that it reads skills from");
                return Err(Error::new(Kind::Usage, "agent_unreachable", message));
            };
            match directories.iter_mut().find(|directory| directory.path == path) {
                Some(directory) if directory.agents.contains(id) => {}
                Some(directory) => directory.agents.push(id.clone()),
                None => directories.push(AgentDirectory { path, agents: vec![id.clone()] }),
            }
        }
        Ok(directories)
    }

    /// The agents to place for where nobody named any: the universal directory, which most agents
    /// read, and those with one of their own that are in use beneath `base`, the project or the
    /// user's home.
    pub fn detected(&self, base: &Path, reach: Reach) -> Vec<String> {
        let universal = self.all().find(|agent| agent.id == UNIVERSAL);
        let shared = universal.and_then(|agent| agent.directory(reach));
        let mut ids = vec![UNIVERSAL.to_owned()];
        for agent in self.all() {
            let Some(directory) = agent.directory(reach) else { continue };
            if Some(&directory) == shared.as_ref() {
                continue;
            }
            if sign(&directory).is_some_and(|sign| base.join(sign).is_dir()) {
                ids.push(agent.id.clone());
            }
        }
        ids
    }
}

impl Agent {
    /// Its directory of skills, relative to the project or the user's home unless it is absolute.
    pub(crate) fn directory(&self, reach: Reach) -> Option<PathBuf> {
        match reach {
            Reach::Project => self.project.as_ref().map(PathBuf::from),
            Reach::Global => self.global.clone(),
        }
    }
}

/// The directory whose presence says that an agent is in use: the one that holds its directory of
/// skills, where its name starts with a dot. One such as `skills` or `data` may be anybody's.
fn sign(directory: &Path) -> Option<&Path> {
    let first = directory.components().find(|part| part.as_os_str() != "/")?;
    let is_hidden = first.as_os_str().to_string_lossy().starts_with('.');
    let above = directory.parent().filter(|above| !above.as_os_str().is_empty());
    if is_hidden || directory.is_absolute() { above } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    fn agents() -> Agents {
        let settings = Settings::new("/h".into(), "/u".into(), "/p".into());
        Agents::of(&settings).unwrap()
    }

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn agents_that_read_one_directory_share_it() {
        let wanted = ids(&["codex", "claude-code", "cursor", "codex"]);
        let directories = agents().directories(&wanted, Reach::Project).unwrap();
        assert_eq!(directories.len(), 2);
        assert_eq!(directories[0].path, Path::new(".agents/skills"));
        assert_eq!(directories[0].agents, ids(&["codex", "cursor"]));
        assert_eq!(directories[1].path, Path::new(".claude/skills"));
    }

    #[test]
    fn an_agent_without_a_global_directory_is_refused_globally() {
        let error = agents().directories(&ids(&["eve"]), Reach::Global).unwrap_err();
        assert_eq!(error.code, "agent_unreachable");
    }

    #[test]
    fn agents_in_use_are_found_by_their_directories_and_a_source_of_skills_is_no_sign() {
        let project = tempfile::tempdir().unwrap();
        for directory in ["skills", "data", "agent", ".claude", ".agents/skills", ".cursor"] {
            std::fs::create_dir_all(project.path().join(directory)).unwrap();
        }
        let found = agents().detected(project.path(), Reach::Project);
        assert_eq!(found, ids(&["universal", "claude-code"]));
    }
}
