//! What goes where for which agent, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;

use super::{Agent, AgentDirectory, Agents, Found, Reach, Sign, UNIVERSAL};
use crate::real_path;
use crate::state::Placed;

/// Most entries of a directory that are looked at.
const MOST_ENTRIES: usize = 10_000;

/// Who decided which agents skills are placed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChosenBy {
    /// `use` of `[agents]` in the project's `skillpkg.toml`.
    Project,
    /// `use` of `[agents]` in the user's configuration.
    Configuration,
    /// What was found on this machine when a skill was first placed in the project.
    Remembered,
    /// What is found now: nothing was placed yet.
    Found,
}

/// What goes where for which agent, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Overview {
    /// Who decided.
    pub chosen_by: ChosenBy,
    /// The agents that skills are placed for, by id.
    pub chosen: Vec<String>,
    /// The directories that a new skill is placed in, absolute.
    pub directories: Vec<AgentDirectory>,
    /// Agents that are in use and read none of them, by id.
    pub unserved: Vec<String>,
    /// The agents that are known.
    pub agents: Vec<AgentView>,
}

/// What one agent sees, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentView {
    /// What `--agent` takes.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What says that it is in use; nothing where it was not found.
    pub found: Vec<Sign>,
    /// Every directory that it reads.
    pub reads: Vec<ReadDirectory>,
    /// The directory through which it gets new skills; [`None`] where it gets none.
    pub writes: Option<PathBuf>,
    /// Why that one, or why none, a sentence that can be printed.
    pub why: String,
    /// The skills that it finds, by the names that it shows.
    pub skills: Vec<Seen>,
    /// The skills that it shows more than once.
    pub twice: Vec<Twice>,
    /// What to do, sentences that can be printed.
    pub advice: Vec<String>,
}

/// A directory that an agent reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadDirectory {
    /// Absolute.
    pub path: PathBuf,
    /// Whether it is there.
    pub exists: bool,
    /// Whether it is the user's, and not the project's.
    pub global: bool,
}

/// A skill that an agent finds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// The name of its directory.
    pub name: String,
    /// Where, absolute.
    pub path: PathBuf,
    /// The skill that we placed there; [`None`] where somebody else did.
    pub placed: Option<QualifiedName>,
}

/// A skill that an agent shows more than once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Twice {
    /// The name of its directories.
    pub name: String,
    /// Where it stands, absolute.
    pub paths: Vec<PathBuf>,
}

/// Where the directories of both reaches lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Base<'b> {
    /// The project; [`None`] where all of the user's are meant.
    pub(crate) project: Option<&'b Path>,
    /// The user's home directory.
    pub(crate) user_home: &'b Path,
}

/// What an overview is made of.
#[derive(Debug)]
pub(crate) struct Parts<'p> {
    pub(crate) agents: &'p Agents,
    pub(crate) base: Base<'p>,
    pub(crate) chosen_by: ChosenBy,
    pub(crate) chosen: Vec<String>,
    /// Absolute.
    pub(crate) directories: Vec<AgentDirectory>,
    pub(crate) found: Vec<Found>,
    /// What was placed, in the project and for the user.
    pub(crate) placed: Vec<Placed>,
}

impl Parts<'_> {
    /// Looks into every directory that a known agent reads. Writes nothing.
    pub(crate) fn overview(self) -> Overview {
        let mut looked = Looked::default();
        let found: BTreeMap<&str, &[Sign]> =
            self.found.iter().map(|one| (one.id.as_str(), one.signs.as_slice())).collect();
        let agents: Vec<AgentView> = self
            .agents
            .all()
            .map(|agent| {
                let signs = found.get(agent.id.as_str()).copied().unwrap_or_default();
                self.view(agent, signs, &mut looked)
            })
            .collect();
        let is_unserved = |view: &&AgentView| !view.found.is_empty() && view.writes.is_none();
        let unserved = agents.iter().filter(is_unserved).map(|view| view.id.clone()).collect();
        let Self { chosen_by, chosen, directories, .. } = self;
        Overview { chosen_by, chosen, directories, unserved, agents }
    }

    fn view(&self, agent: &Agent, signs: &[Sign], looked: &mut Looked) -> AgentView {
        let reads = self.reads(agent);
        let own_reach = |read: &&ReadDirectory| read.global == self.base.project.is_none();
        let read_here: Vec<&Path> =
            reads.iter().filter(own_reach).map(|read| read.path.as_path()).collect();
        let through: Vec<&Path> = read_here
            .iter()
            .copied()
            .filter(|path| self.directories.iter().any(|one| one.path == *path))
            .collect();
        let skills = self.skills(&reads, looked);
        let twice = twice(&skills);
        let mut view = AgentView {
            id: agent.id.clone(),
            name: agent.name.clone(),
            found: signs.to_vec(),
            writes: through.first().map(|path| (*path).to_owned()),
            why: self.why(agent, &through, read_here.is_empty()),
            reads: reads.clone(),
            skills,
            twice,
            advice: Vec::new(),
        };
        view.advice = self.advice(&view, &through);
        view
    }

    fn reads(&self, agent: &Agent) -> Vec<ReadDirectory> {
        let read = |base: &Path, global: bool, path: &Path| {
            let path = real_path::native(base.join(path));
            ReadDirectory { exists: path.is_dir(), path, global }
        };
        let project = self.base.project.into_iter();
        let own = project.flat_map(|base| {
            agent.reads_of(Reach::Project).map(move |path| read(base, false, path))
        });
        let home = self.base.user_home;
        own.chain(agent.reads_of(Reach::Global).map(|path| read(home, true, path))).collect()
    }

    fn why(&self, agent: &Agent, through: &[&Path], is_unreachable: bool) -> String {
        let Some(path) = through.first() else {
            return if is_unreachable {
                "it reads no directory here".to_owned()
            } else if self.chosen.contains(&agent.id) {
                "only a directory that may be anybody's would reach it, and nobody named it"
                    .to_owned()
            } else {
                "it is not among the agents that skills are placed for".to_owned()
            };
        };
        let sharing = self.directories.iter().find(|one| one.path == *path);
        let sharing: Vec<&str> = sharing
            .iter()
            .flat_map(|one| &one.agents)
            .filter(|id| **id != agent.id)
            .map(String::as_str)
            .collect();
        if !self.chosen.contains(&agent.id) {
            return format!("it reads what is placed there for {}", named(&sharing));
        }
        match sharing.as_slice() {
            [] => "no other agent that is served needs it".to_owned(),
            others => format!("one directory serves it and {}", named(others)),
        }
    }

    /// The skills in the directories, each directory once however many paths lead to it.
    fn skills(&self, reads: &[ReadDirectory], looked: &mut Looked) -> Vec<Seen> {
        let mut seen_directories: BTreeSet<PathBuf> = BTreeSet::new();
        let mut skills = Vec::new();
        for read in reads.iter().filter(|read| read.exists) {
            let real = real_path::of(&read.path).unwrap_or_else(|_| read.path.clone());
            if !seen_directories.insert(real) {
                continue;
            }
            for name in looked.names(&read.path) {
                let path = read.path.join(name);
                let placed = self.placed.iter().find(|placed| placed.path == path);
                let placed = placed.map(|placed| placed.name.clone());
                skills.push(Seen { name: name.clone(), path, placed });
            }
        }
        skills
    }

    fn advice(&self, view: &AgentView, through: &[&Path]) -> Vec<String> {
        let mut advice = Vec::new();
        if !view.found.is_empty() && view.writes.is_none() && self.is_reachable(view) {
            advice.push(format!(
                "`skillpkg agents use {}` places skills for it too; `skillpkg agents reset` serves \
                 what is found now",
                self.with(&view.id)
            ));
        }
        for twice in &view.twice {
            advice.extend(self.advice_on(twice, view, through));
        }
        advice.dedup();
        advice
    }

    /// What to do where a skill shows more than once: about what is not ours, and about what is.
    fn advice_on(&self, twice: &Twice, view: &AgentView, through: &[&Path]) -> Vec<String> {
        let (ours, others): (Vec<&PathBuf>, Vec<&PathBuf>) =
            twice.paths.iter().partition(|path| self.is_ours(path));
        let name = escape(&twice.name);
        if ours.is_empty() {
            return vec![format!("keep one `{name}`: none of them is skillpkg's")];
        }
        let mut advice: Vec<String> = others
            .iter()
            .map(|path| format!("`{}` is not skillpkg's: move it away", shown(path)))
            .collect();
        let is_astray = |path: &&PathBuf| {
            !self.directories.iter().any(|one| path.parent() == Some(one.path.as_path()))
        };
        if ours.len() < 2 {
            return advice;
        }
        advice.push(if ours.iter().any(|path| is_global(path, view)) {
            format!(
                "`{name}` is installed for this project and for all projects: remove one of them \
                 (`skillpkg remove {name} --global`)"
            )
        } else if ours.iter().any(is_astray) {
            "`skillpkg agents reset` places it in as few directories as reach every agent that is \
             found, `skillpkg agents use` for those that are named"
                .to_owned()
        } else {
            format!(
                "other agents need {} directories that {} reads: have it read fewer in its own \
                 settings, or leave agents out with `skillpkg agents use`",
                through.len(),
                escape(&view.name)
            )
        });
        advice
    }

    fn is_reachable(&self, view: &AgentView) -> bool {
        view.reads.iter().any(|read| read.global == self.base.project.is_none())
    }

    fn is_ours(&self, path: &Path) -> bool {
        self.placed.iter().any(|placed| placed.path == path)
    }

    /// The agents that are chosen and this one, as `skillpkg agents use` takes them.
    fn with(&self, id: &str) -> String {
        let chosen = self.chosen.iter().filter(|one| *one != UNIVERSAL || self.chosen.len() == 1);
        chosen.map(String::as_str).chain([id]).collect::<Vec<_>>().join(" ")
    }
}

fn is_global(path: &Path, view: &AgentView) -> bool {
    let reads = &view.reads;
    let has_both = reads.iter().any(|read| !read.global) && reads.iter().any(|read| read.global);
    has_both && reads.iter().any(|read| read.global && path.parent() == Some(read.path.as_path()))
}

fn named(ids: &[&str]) -> String {
    ids.iter().map(|id| format!("`{}`", escape(id))).collect::<Vec<_>>().join(", ")
}

fn shown(path: &Path) -> String {
    escape(&path.to_string_lossy())
}

fn twice(skills: &[Seen]) -> Vec<Twice> {
    let mut paths: BTreeMap<&str, Vec<PathBuf>> = BTreeMap::new();
    for seen in skills {
        paths.entry(&seen.name).or_default().push(seen.path.clone());
    }
    let several = paths.into_iter().filter(|(_, paths)| paths.len() > 1);
    several.map(|(name, paths)| Twice { name: name.to_owned(), paths }).collect()
}

/// The skills of each directory, looked up once.
#[derive(Debug, Default)]
struct Looked(BTreeMap<PathBuf, Vec<String>>);

impl Looked {
    /// The names of the skills in a directory: of directories that hold a `SKILL.md`, sorted.
    fn names(&mut self, directory: &Path) -> &[String] {
        self.0.entry(directory.to_owned()).or_insert_with(|| {
            let entries = directory.read_dir().into_iter().flatten().take(MOST_ENTRIES).flatten();
            let skills = entries.filter(|entry| entry.path().join("SKILL.md").is_file());
            let mut names: Vec<String> =
                skills.filter_map(|entry| entry.file_name().into_string().ok()).collect();
            names.retain(|name| !name.starts_with('.'));
            names.sort_unstable();
            names
        })
    }
}
