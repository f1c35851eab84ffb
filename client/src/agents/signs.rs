//! What says that an agent is in use: in the project, beneath the user's home, on PATH.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;

use super::{Agent, Agents, Reach};
use crate::Settings;
use crate::activation::program;
use crate::state::ProjectState;

/// Directories that many agents share, and that are a sign of none.
const SHARED: [&str; 2] = [".agents", ".config/agents"];

/// Most entries of a directory that are looked at.
const MOST_ENTRIES: usize = 10_000;

/// Where a sign of an agent was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SignKind {
    /// A file or directory of the project.
    Project,
    /// A file or directory beneath the user's home directory.
    Home,
    /// A program on PATH.
    Program,
}

/// One thing that says that an agent is in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sign {
    /// Where it was found.
    pub kind: SignKind,
    /// What was found, absolute.
    pub path: PathBuf,
}

/// An agent that is in use, and what says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The agent's id.
    pub id: String,
    /// At least one.
    pub signs: Vec<Sign>,
}

/// Where signs of agents are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'s> {
    /// The project; [`None`] where all of the user's are meant.
    pub project: Option<&'s Path>,
    /// The user's home directory.
    pub user_home: &'s Path,
    /// The directories of PATH.
    pub path: &'s [PathBuf],
    /// What is remembered of the project: a directory that holds nothing but what we placed is a
    /// sign of an agent only where there was another when we placed it.
    pub remembered: Option<&'s ProjectState>,
}

impl<'s> Surroundings<'s> {
    /// Those of the settings. `root` is the project's directory.
    pub fn of(
        settings: &'s Settings,
        root: &'s Path,
        reach: Reach,
        remembered: &'s ProjectState,
    ) -> Self {
        let project = (reach == Reach::Project).then_some(root);
        let Settings { user_home, path, .. } = settings;
        Self { project, user_home, path, remembered: Some(remembered) }
    }

    /// Whether the agent was found when skills were first placed.
    fn was_found(&self, id: &str) -> bool {
        let agents = self.remembered.and_then(|remembered| remembered.agents.as_deref());
        agents.unwrap_or_default().iter().any(|one| one == id)
    }

    /// Whether we placed all that a directory holds.
    fn is_ours(&self, directory: &Path) -> bool {
        let Some(remembered) = self.remembered else { return false };
        let entries = |directory: &Path| -> Vec<PathBuf> {
            let entries = directory.read_dir().into_iter().flatten().take(MOST_ENTRIES).flatten();
            entries.map(|entry| entry.path()).collect()
        };
        let [only] = &entries(directory)[..] else { return false };
        let skills = entries(only);
        let is_placed = |path: &PathBuf| remembered.placed.iter().any(|one| one.path == *path);
        !skills.is_empty() && skills.iter().all(is_placed)
    }
}

impl Agents {
    /// The agents that are in use, in the order of the data file.
    pub fn found(&self, surroundings: Surroundings<'_>) -> Vec<Found> {
        self.all()
            .map(|agent| Found { id: agent.id.clone(), signs: agent.signs_in(surroundings) })
            .filter(|found| !found.signs.is_empty())
            .collect()
    }
}

impl Agent {
    fn signs_in(&self, surroundings: Surroundings<'_>) -> Vec<Sign> {
        let Surroundings { project, user_home, path, .. } = surroundings;
        let mut ours = Vec::new();
        let mut there = |kind, base: &Path, signs: &[PathBuf]| -> Vec<Sign> {
            let paths = signs.iter().map(|sign| base.join(sign)).filter(|path| path.exists());
            let (made, others): (Vec<PathBuf>, Vec<PathBuf>) =
                paths.partition(|path| surroundings.is_ours(path));
            let sign = |path| Sign { kind, path };
            ours.extend(made.into_iter().map(sign));
            others.into_iter().map(sign).collect()
        };
        let mut found = Vec::new();
        // A project that is the home directory has no signs of its own.
        if let Some(project) = project.filter(|project| *project != user_home) {
            found.extend(there(SignKind::Project, project, &self.signs));
        }
        found.extend(there(SignKind::Home, user_home, &self.home_signs));
        let programs = self.programs.iter().filter_map(|name| program::on_path(name, path));
        found.extend(programs.map(|path| Sign { kind: SignKind::Program, path }));
        if found.is_empty() && surroundings.was_found(&self.id) { ours } else { found }
    }
}

/// What says that the agent which has this directory of skills is in use: the directory that holds
/// it, where its name starts with a dot. One such as `skills` or `data` may be anybody's.
pub(super) fn sign_of(directory: &Path) -> Option<PathBuf> {
    let above = directory.parent().filter(|above| above.components().next().is_some())?;
    if SHARED.iter().any(|shared| above == Path::new(shared)) {
        return None;
    }
    (directory.is_absolute() || is_hidden(directory)).then(|| above.to_owned())
}

/// Whether a relative path starts with a name that starts with a dot: nobody's own files lie there.
pub(super) fn is_hidden(directory: &Path) -> bool {
    match directory.components().next() {
        Some(Component::Normal(first)) => OsStr::as_encoded_bytes(first).starts_with(b"."),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_hidden_directory_that_is_not_shared_is_a_sign() {
        for (directory, sign) in [
            (".claude/skills", Some(".claude")),
            (".config/goose/skills", Some(".config/goose")),
            ("/moved/skills", Some("/moved")),
            (".agents/skills", None),
            (".config/agents/skills", None),
            ("skills", None),
            ("data/skills", None),
            (".mine", None),
        ] {
            assert_eq!(sign_of(Path::new(directory)), sign.map(PathBuf::from), "{directory}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_agent_is_found_by_its_files_and_its_program_wherever_they_are() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["bin", "user/.config/goose", "user/.agents/skills", "project/.windsurf"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::fs::write(at("project/CLAUDE.md"), "").unwrap();
        std::fs::write(at("bin/codex"), "").unwrap();
        std::fs::set_permissions(at("bin/codex"), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::write(at("bin/gemini"), "is not executable").unwrap();
        let (path, project, user_home) = ([at("bin")], at("project"), at("user"));
        let settings = Settings::new(at("home"), user_home.clone(), project.clone());
        let agents = Agents::of(&settings).unwrap();
        let found = |project: Option<&Path>| -> Vec<(String, Vec<SignKind>)> {
            let surroundings =
                Surroundings { project, user_home: &user_home, path: &path, remembered: None };
            let kinds = |one: Found| (one.id, one.signs.iter().map(|sign| sign.kind).collect());
            agents.found(surroundings).into_iter().map(kinds).collect()
        };
        let one = |id: &str, kind| (id.to_owned(), vec![kind]);
        let everywhere = [one("codex", SignKind::Program), one("goose", SignKind::Home)];
        assert_eq!(found(None), everywhere);
        assert_eq!(
            found(Some(&project)),
            [
                one("claude-code", SignKind::Project),
                one("codex", SignKind::Program),
                one("windsurf", SignKind::Project),
                one("goose", SignKind::Home)
            ]
        );
    }
}
