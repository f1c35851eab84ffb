//! Which directories a skill is placed in: as few as reach the agents that are wanted, and none that
//! would show it twice where that can be helped.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::signs::is_hidden;
use super::{Agent, Agents, Surroundings, UNIVERSAL};
use crate::{Error, Kind};

/// Most directories among which a choice is made by trying every set of them.
const MOST_CANDIDATES: usize = 12;

/// How far a skill reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// One project, in directories beneath it.
    Project,
    /// Every project of the user, in directories beneath the user's home.
    Global,
}

/// A directory in which skills are placed, and the agents they are placed there for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentDirectory {
    /// Relative to the project or to the user's home; absolute where the configuration has it so.
    pub path: PathBuf,
    /// The agents' ids.
    pub agents: Vec<String>,
}

/// An agent that is wanted, and the directories that it may be reached in.
struct Wanted<'a> {
    id: &'a str,
    reads: Vec<&'a Path>,
}

impl Agents {
    /// The directories for the agents with these ids, which somebody named: as few as reach them all,
    /// and of those the ones in which the fewest of them read a skill twice.
    pub fn directories(&self, ids: &[String], reach: Reach) -> Result<Vec<AgentDirectory>, Error> {
        let mut wanted: Vec<Wanted<'_>> = Vec::new();
        for id in ids {
            let agent = self.get(id)?;
            let reads: Vec<&Path> = agent.reads_of(reach).collect();
            if reads.is_empty() {
                let reach = match reach {
                    Reach::Project => "of a project",
                    Reach::Global => "of a user",
                };
                let message = format!("`{id}` has no directory {reach} that it reads skills from");
                return Err(Error::new(Kind::Usage, "agent_unreachable", message));
            }
            if !wanted.iter().any(|one| one.id == id) {
                wanted.push(Wanted { id, reads });
            }
        }
        Ok(chosen(&wanted))
    }

    /// The directories for agents that were found and that nobody named.
    ///
    /// A directory such as `skills` of a project, which may be anybody's, is none of them. An agent
    /// that is not known any more, or not to be reached so, is left out.
    pub fn directories_found(&self, ids: &[String], reach: Reach) -> Vec<AgentDirectory> {
        chosen(&self.reachable(ids, reach))
    }

    /// The agents to place for where nobody named any: those that are in use, and the universal
    /// directory, which most agents read, unless one of them would thereby show a skill twice.
    pub fn detected(&self, surroundings: Surroundings<'_>) -> Vec<String> {
        let reach = if surroundings.project.is_some() { Reach::Project } else { Reach::Global };
        let found = self.found(surroundings).into_iter().map(|found| found.id);
        let ids: Vec<String> = found.filter(|id| id != UNIVERSAL).collect();
        let ids: Vec<String> =
            self.reachable(&ids, reach).iter().map(|one| one.id.to_owned()).collect();
        let mut with_universal = vec![UNIVERSAL.to_owned()];
        with_universal.extend(ids.iter().cloned());
        let repeats = |ids: &[String]| {
            let wanted = self.reachable(ids, reach);
            let directories = chosen(&wanted);
            let paths: Vec<&Path> = directories.iter().map(|one| one.path.as_path()).collect();
            wanted.iter().map(|one| one.repeats(&paths)).sum::<usize>()
        };
        if ids.is_empty() || repeats(&with_universal) <= repeats(&ids) {
            with_universal
        } else {
            ids
        }
    }

    fn reachable<'s>(&'s self, ids: &[String], reach: Reach) -> Vec<Wanted<'s>> {
        let wanted = ids.iter().filter_map(|id| self.all().find(|agent| agent.id == *id));
        let wanted = wanted.map(|agent| {
            let reads = agent.reads_of(reach);
            let reads = reads.filter(|path| reach == Reach::Global || is_hidden(path)).collect();
            Wanted { id: &agent.id, reads }
        });
        wanted.filter(|one| !one.reads.is_empty()).collect()
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

    /// The directories that it reads, its own first where it was named for them.
    pub(crate) fn reads_of(&self, reach: Reach) -> impl Iterator<Item = &Path> {
        let reads = match reach {
            Reach::Project => &self.reads,
            Reach::Global => &self.reads_global,
        };
        reads.iter().map(PathBuf::as_path)
    }
}

impl Wanted<'_> {
    /// How many times too often it would show a skill that stands in each of `paths`.
    fn repeats(&self, paths: &[&Path]) -> usize {
        self.reads.iter().filter(|path| paths.contains(path)).count().saturating_sub(1)
    }
}

/// The directories for these agents, each with those that are reached there.
fn chosen(wanted: &[Wanted<'_>]) -> Vec<AgentDirectory> {
    let paths = smallest(wanted);
    let mut directories: Vec<AgentDirectory> = Vec::new();
    for one in wanted {
        let Some(path) = one.reads.iter().find(|path| paths.contains(path)) else { continue };
        let id = one.id.to_owned();
        match directories.iter_mut().find(|directory| directory.path == *path) {
            Some(directory) => directory.agents.push(id),
            None => directories.push(AgentDirectory { path: (*path).to_owned(), agents: vec![id] }),
        }
    }
    directories
}

/// The set of directories in which every agent that is wanted finds a skill: first of all with the
/// fewest repeats, then with the fewest directories, then with those that agents name first.
fn smallest<'w>(wanted: &[Wanted<'w>]) -> Vec<&'w Path> {
    let mut settled: Vec<&Path> = Vec::new();
    for one in wanted {
        if let [only] = one.reads.as_slice()
            && !settled.contains(only)
        {
            settled.push(only);
        }
    }
    let is_reached =
        |one: &Wanted<'_>, paths: &[&Path]| one.reads.iter().any(|p| paths.contains(p));
    let open: Vec<&Wanted<'_>> = wanted.iter().filter(|one| !is_reached(one, &settled)).collect();
    let mut candidates: Vec<&Path> = Vec::new();
    for path in open.iter().flat_map(|one| &one.reads) {
        if !candidates.contains(path) {
            candidates.push(path);
        }
    }
    // Each takes its own where there are too many to try.
    if candidates.len() > MOST_CANDIDATES {
        settled.extend(open.iter().filter_map(|one| one.reads.first()));
        settled.sort_unstable();
        settled.dedup();
        return settled;
    }
    let sets = (0..1_u32 << candidates.len()).map(|set| {
        let mut paths = settled.clone();
        let picked = candidates.iter().enumerate().filter(|(bit, _)| set & (1 << bit) != 0);
        paths.extend(picked.map(|(_, path)| *path));
        paths
    });
    let rank = |one: &Wanted<'_>, paths: &[&Path]| {
        one.reads.iter().position(|path| paths.contains(path)).unwrap_or_default()
    };
    sets.filter(|paths| open.iter().all(|one| is_reached(one, paths)))
        .min_by_key(|paths| {
            let repeats: usize = wanted.iter().map(|one| one.repeats(paths)).sum();
            let ranks: usize = open.iter().map(|one| rank(one, paths)).sum();
            (repeats, paths.len(), ranks)
        })
        .unwrap_or(settled)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    fn each_combination_of_agents_has_its_smallest_set_of_directories() {
        for (wanted, expected) in [
            (&["universal"][..], &[".agents/skills: universal"][..]),
            (&["claude-code"], &[".claude/skills: claude-code"]),
            (&["codex"], &[".agents/skills: codex"]),
            (&["cursor"], &[".agents/skills: cursor"]),
            (&["claude-code", "cursor"], &[".claude/skills: claude-code cursor"]),
            (&["cursor", "claude-code"], &[".claude/skills: cursor claude-code"]),
            (
                &["claude-code", "cursor", "github-copilot", "opencode"],
                &[".claude/skills: claude-code cursor github-copilot opencode"],
            ),
            (&["codex", "cursor", "gemini-cli"], &[".agents/skills: codex cursor gemini-cli"]),
            (
                &["codex", "claude-code", "cursor", "codex"],
                &[".agents/skills: codex cursor", ".claude/skills: claude-code"],
            ),
            (
                &["codex", "claude-code", "kiro-cli"],
                &[".agents/skills: codex", ".claude/skills: claude-code", ".kiro/skills: kiro-cli"],
            ),
            (&["windsurf"], &[".windsurf/skills: windsurf"]),
            (&["windsurf", "universal"], &[".agents/skills: windsurf universal"]),
            (&["openclaw"], &["skills: openclaw"]),
            (&["openclaw", "zed"], &[".agents/skills: openclaw zed"]),
            (&["trae", "trae-cn"], &[".trae/skills: trae trae-cn"]),
        ] {
            let directories = agents().directories(&ids(wanted), Reach::Project).unwrap();
            let shown: Vec<String> = directories
                .iter()
                .map(|one| format!("{}: {}", one.path.display(), one.agents.join(" ")))
                .collect();
            assert_eq!(shown, expected, "{wanted:?}");
        }
    }

    #[test]
    fn a_user_s_directories_are_chosen_in_the_same_way() {
        for (wanted, expected) in [
            (&["cursor", "universal"][..], &[".agents/skills"][..]),
            (&["cursor"], &[".cursor/skills"]),
            (&["codex", "cursor", "gemini-cli", "windsurf"], &[".agents/skills"]),
            (&["claude-code", "cursor"], &[".claude/skills"]),
            (&["amp", "universal"], &[".config/agents/skills", ".agents/skills"]),
        ] {
            let directories = agents().directories(&ids(wanted), Reach::Global).unwrap();
            let paths: Vec<&str> = directories.iter().filter_map(|one| one.path.to_str()).collect();
            assert_eq!(paths, expected, "{wanted:?}");
        }
    }

    #[test]
    fn an_agent_without_a_global_directory_is_refused_globally() {
        let error = agents().directories(&ids(&["eve"]), Reach::Global).unwrap_err();
        assert_eq!(error.code, "agent_unreachable");
        assert!(agents().directories_found(&ids(&["eve", "no-more"]), Reach::Global).is_empty());
    }

    #[test]
    fn agents_in_use_are_served_and_the_universal_directory_unless_one_would_show_a_skill_twice() {
        for (there, expected) in [
            (&[][..], &["universal"][..]),
            (&["skills", "data", "agent", ".agents/skills"], &["universal"]),
            (&[".claude"], &["universal", "claude-code"]),
            (&[".cursor"], &["universal", "cursor"]),
            (&[".claude", ".cursor"], &["claude-code", "cursor"]),
            (&[".claude", ".cursor", ".codex"], &["universal", "claude-code", "codex", "cursor"]),
            (&[".windsurf"], &["universal", "windsurf"]),
            (&[".kiro", ".claude"], &["universal", "claude-code", "kiro-cli"]),
        ] {
            let directory = tempfile::tempdir().unwrap();
            for name in there {
                std::fs::create_dir_all(directory.path().join("project").join(name)).unwrap();
            }
            let (project, user_home) =
                (directory.path().join("project"), directory.path().join("user"));
            let surroundings = Surroundings {
                project: Some(&project),
                user_home: &user_home,
                path: &[],
                remembered: None,
            };
            assert_eq!(agents().detected(surroundings), ids(expected), "{there:?}");
        }
    }

    #[test]
    fn what_may_be_anybodys_directory_is_never_written_to_unasked() {
        let found = ids(&["claude-code", "cursor", "openclaw", "astrbot", "eve"]);
        let directories = agents().directories_found(&found, Reach::Project);
        let paths: Vec<&Path> = directories.iter().map(|one| one.path.as_path()).collect();
        assert_eq!(paths, [Path::new(".claude/skills"), Path::new(".agents/skills")]);
    }

    #[test]
    fn all_agents_at_once_are_few_enough_to_choose_for() {
        for reach in [Reach::Project, Reach::Global] {
            let agents = agents();
            let several = agents.all().filter(|agent| agent.reads_of(reach).count() > 1);
            let mut paths: Vec<&Path> = several.flat_map(|agent| agent.reads_of(reach)).collect();
            paths.sort_unstable();
            paths.dedup();
            assert!(paths.len() <= MOST_CANDIDATES, "{paths:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn every_agent_is_reached_and_no_directory_can_be_left_out(
            picks in prop::collection::vec(any::<prop::sample::Index>(), 1..8),
            is_global in any::<bool>(),
        ) {
            let reach = if is_global { Reach::Global } else { Reach::Project };
            let agents = agents();
            let all: Vec<&Agent> =
                agents.all().filter(|agent| agent.reads_of(reach).next().is_some()).collect();
            let wanted: Vec<String> = picks.iter().map(|pick| pick.get(&all).id.clone()).collect();
            let directories = agents.directories(&wanted, reach).unwrap();
            let reads = |id: &String, path: &Path| {
                agents.get(id).unwrap().reads_of(reach).any(|read| read == path)
            };
            for id in &wanted {
                let listed = directories.iter().filter(|one| one.agents.contains(id)).count();
                prop_assert_eq!(listed, 1, "{} of {:?}", id, directories);
            }
            for left_out in &directories {
                let others = || directories.iter().filter(|one| one.path != left_out.path);
                let all_reached =
                    wanted.iter().all(|id| others().any(|one| reads(id, &one.path)));
                prop_assert!(!all_reached, "{:?} for {:?}", directories, wanted);
            }
        }
    }
}
