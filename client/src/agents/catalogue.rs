//! The agents that are known: those of the data file, with what the user's configuration changes.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use skillpkg_schema::diagnostic::{escape, nearest};

use super::Agent;
use super::signs::sign_of;
use crate::settings::AgentDirectories;
use crate::{Error, Kind, Settings};

const DATA: &str = include_str!("agents.toml");

/// The agents that are known, in the order of the data file, then those of the configuration.
#[derive(Debug, Clone)]
pub struct Agents {
    agents: Vec<Agent>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    agent: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Entry {
    id: String,
    name: String,
    project: Option<String>,
    global: Option<PathBuf>,
    global_variable: Option<String>,
    #[serde(default)]
    reads: Vec<PathBuf>,
    #[serde(default)]
    reads_global: Vec<PathBuf>,
    #[serde(default)]
    programs: Vec<String>,
    #[serde(default)]
    signs: Vec<PathBuf>,
    #[serde(default)]
    home_signs: Vec<PathBuf>,
}

impl Agents {
    /// The agents that `settings` know.
    pub fn of(settings: &Settings) -> Result<Self, Error> {
        Self::read(DATA, &settings.agents, &settings.environment)
    }

    fn read(
        data: &str,
        overrides: &BTreeMap<String, AgentDirectories>,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, Error> {
        let data: Data = toml::from_str(data).map_err(|error| {
            Error::new(Kind::Failed, "agents_invalid", error.message().trim().to_owned())
        })?;
        let mut agents: Vec<Agent> = Vec::with_capacity(data.agent.len());
        for entry in data.agent {
            agents.push(entry.into_agent(environment));
        }
        for (id, directories) in overrides {
            let position = agents.iter().position(|agent| agent.id == *id).unwrap_or_else(|| {
                agents.push(Agent::named(id));
                agents.len() - 1
            });
            let Some(changed) = agents.get_mut(position) else { continue };
            if let Some(project) = &directories.project {
                check_relative(id, project)?;
                changed.project = Some(project.clone());
                changed.reads = vec![PathBuf::from(project)];
                changed.signs.extend(sign_of(Path::new(project)));
            }
            if let Some(global) = &directories.global {
                if !Path::new(global).is_absolute() {
                    check_relative(id, global)?;
                }
                changed.global = Some(PathBuf::from(global));
                changed.reads_global = vec![PathBuf::from(global)];
                changed.home_signs.extend(sign_of(Path::new(global)));
            }
        }
        Ok(Self { agents })
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Agent> {
        self.agents.iter()
    }

    /// The agent with this id; the nearest is offered where there is none.
    pub fn get(&self, id: &str) -> Result<&Agent, Error> {
        self.agents.iter().find(|agent| agent.id == id).ok_or_else(|| {
            let message = format!("no agent is known as `{}`", escape(id));
            let hint = match self.near(id).as_slice() {
                [] => format!(
                    "`skillpkg agents --all` tells those that are known; the configuration can teach \
                     another: `[agents.{}]` with `project` and `global`",
                    escape(id)
                ),
                [near] => format!("did you mean `{}`?", escape(near)),
                several => {
                    let several: Vec<String> =
                        several.iter().map(|near| format!("`{}`", escape(near))).collect();
                    format!("did you mean one of {}?", several.join(", "))
                }
            };
            Error::new(Kind::Usage, "unknown_agent", message).with_hint(hint)
        })
    }
}

impl Agents {
    /// The ids that somebody may mean who writes `text`: the one that is spelled nearly so, else those
    /// of which it is a part, in the id or in the name.
    fn near(&self, text: &str) -> Vec<&str> {
        /// More than these are no answer.
        const MOST: usize = 5;
        let ids = || self.agents.iter().map(|agent| agent.id.as_str());
        if let Some(near) = nearest(text, ids()) {
            return vec![near];
        }
        let part = text.to_lowercase();
        if part.trim().is_empty() {
            return Vec::new();
        }
        let starting: Vec<&str> = ids().filter(|id| id.starts_with(&part)).collect();
        let holding = self
            .agents
            .iter()
            .filter(|agent| agent.id.contains(&part) || agent.name.to_lowercase().contains(&part))
            .map(|agent| agent.id.as_str());
        let near = if starting.is_empty() { holding.collect() } else { starting };
        if near.len() > MOST { Vec::new() } else { near }
    }
}

impl Entry {
    fn into_agent(self, environment: &BTreeMap<String, String>) -> Agent {
        let Self { id, name, project, global, global_variable, programs, .. } = self;
        let Self { mut reads, mut reads_global, mut signs, mut home_signs, .. } = self;
        let moved = global_variable
            .and_then(|variable| environment.get(&variable))
            .filter(|directory| Path::new(directory).is_absolute())
            .map(|directory| Path::new(directory).join("skills"));
        if reads.is_empty() {
            reads.extend(project.as_ref().map(PathBuf::from));
        }
        if reads_global.is_empty() {
            reads_global.extend(global.clone());
        }
        if let Some(moved) = &moved {
            reads_global.retain(|read| Some(read) != global.as_ref());
            reads_global.insert(0, moved.clone());
        }
        let global = moved.or(global);
        signs.extend(project.as_deref().and_then(|project| sign_of(Path::new(project))));
        home_signs.extend(global.as_deref().and_then(sign_of));
        Agent { id, name, project, global, reads, reads_global, programs, signs, home_signs }
    }
}

impl Agent {
    /// One of the configuration alone.
    fn named(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: id.to_owned(),
            project: None,
            global: None,
            reads: Vec::new(),
            reads_global: Vec::new(),
            programs: Vec::new(),
            signs: Vec::new(),
            home_signs: Vec::new(),
        }
    }
}

/// A directory of the configuration stays beneath what it is relative to.
fn check_relative(id: &str, directory: &str) -> Result<(), Error> {
    let path = Path::new(directory);
    let is_beneath = path.components().all(|part| matches!(part, Component::Normal(_)));
    if is_beneath && path.components().next().is_some() {
        return Ok(());
    }
    let message = format!(
        "the directory `{}` of the agent `{}` must be relative and without `..`",
        escape(directory),
        escape(id)
    );
    Err(Error::new(Kind::Usage, "agents_invalid", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(overrides: &[(&str, Option<&str>, Option<&str>)]) -> Result<Agents, Error> {
        let overrides = overrides
            .iter()
            .map(|(id, project, global)| {
                let directories = AgentDirectories {
                    project: project.map(str::to_owned),
                    global: global.map(str::to_owned),
                };
                ((*id).to_owned(), directories)
            })
            .collect();
        let environment = BTreeMap::from([("CLAUDE_CONFIG_DIR".to_owned(), "/c".to_owned())]);
        Agents::read(DATA, &overrides, &environment)
    }

    #[test]
    fn the_data_file_is_sound() {
        let agents = read(&[]).unwrap();
        assert!(agents.all().count() >= 75);
        let mut ids: Vec<&str> = agents.all().map(|agent| agent.id.as_str()).collect();
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count, "an id is there twice");
        for agent in agents.all() {
            check_relative(&agent.id, agent.project.as_deref().unwrap()).unwrap();
            let own = agent.project.as_ref().map(PathBuf::from);
            assert!(own.is_none_or(|own| agent.reads.contains(&own)), "{}", agent.id);
            let global = agent.global.as_ref();
            assert!(global.is_none_or(|own| agent.reads_global.contains(own)), "{}", agent.id);
            let files = agent.reads.iter().chain(&agent.signs);
            for path in files.chain(agent.reads_global.iter().chain(&agent.home_signs)) {
                assert!(path.is_absolute() || path.components().count() > 0, "{}", agent.id);
                let mut parts = path.components().skip(usize::from(path.is_absolute()));
                assert!(parts.all(|part| matches!(part, Component::Normal(_))), "{path:?}");
            }
            assert!(agent.programs.iter().all(|program| !program.contains('/')), "{}", agent.id);
        }
    }

    #[test]
    fn a_variable_of_the_environment_moves_a_global_directory() {
        let agents = read(&[]).unwrap();
        let agent = agents.get("claude-code").unwrap();
        assert_eq!(agent.global, Some(PathBuf::from("/c/skills")));
        assert_eq!(agent.reads_global, [Path::new("/c/skills")]);
        assert!(agent.home_signs.contains(&PathBuf::from("/c")));
    }

    #[test]
    fn an_agent_that_the_configuration_moves_reads_its_new_directory_alone() {
        let moved = read(&[("cursor", Some(".mine/skills"), Some(".mine/all"))]).unwrap();
        let cursor = moved.get("cursor").unwrap();
        assert_eq!(cursor.reads, [Path::new(".mine/skills")]);
        assert_eq!(cursor.reads_global, [Path::new(".mine/all")]);
        assert!(cursor.signs.contains(&PathBuf::from(".mine")));
    }

    #[test]
    fn the_configuration_changes_agents_and_adds_them() {
        let agents =
            read(&[("codex", Some(".codex/skills"), None), ("mine", Some(".mine"), Some("/m"))])
                .unwrap();
        assert_eq!(agents.get("codex").unwrap().project.as_deref(), Some(".codex/skills"));
        assert_eq!(agents.get("mine").unwrap().global, Some(PathBuf::from("/m")));
        for outside in ["../x", "/x", "", "a/../b"] {
            assert!(read(&[("mine", Some(outside), None)]).is_err(), "{outside}");
        }
    }

    #[test]
    fn the_nearest_agent_is_offered() {
        let error = read(&[]).unwrap().get("claud-code").unwrap_err();
        assert_eq!((error.code.as_str(), error.kind), ("unknown_agent", Kind::Usage));
        assert_eq!(error.hint.as_deref(), Some("did you mean `claude-code`?"));
        let agents = read(&[]).unwrap();
        for (text, near) in [
            ("claude", "claude-code"),
            ("claud", "claude-code"),
            ("Claude Code", "claude-code"),
            ("open", "did you mean one of `opencode`, `openclaw`, `openhands`?"),
            ("a", "`[agents.a]`"),
            ("", "`[agents.]`"),
            ("nobody-calls-one-so", "`skillpkg agents --all`"),
        ] {
            let hint = agents.get(text).unwrap_err().hint.unwrap();
            assert!(hint.contains(near), "{text}: {hint}");
        }
    }
}
