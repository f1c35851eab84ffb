//! Agents, and the directories in which each looks for skills: a data file that users override.

mod catalogue;
mod choice;
mod overview;
mod signs;

pub use catalogue::Agents;
pub use choice::{AgentDirectory, Reach};
pub use overview::{AgentView, ChosenBy, Overview, ReadDirectory, Seen, Twice};
pub(crate) use overview::{Base, Parts};
pub use signs::{Found, Sign, SignKind, Surroundings};

use std::path::PathBuf;

/// The agent whose directory most others read too.
pub const UNIVERSAL: &str = "universal";

/// One agent host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// What `--agent` takes, such as `claude-code`.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Relative to a project.
    pub project: Option<String>,
    /// Relative to the user's home directory, or absolute.
    pub global: Option<PathBuf>,
    /// Every directory of a project that it reads, its own among them.
    pub reads: Vec<PathBuf>,
    /// Every directory of a user that it reads, its own among them.
    pub reads_global: Vec<PathBuf>,
    /// Programs that are it.
    pub programs: Vec<String>,
    /// What in a project says that it is in use there.
    pub signs: Vec<PathBuf>,
    /// What beneath the user's home directory says that it is in use; absolute where a variable of
    /// the environment moved it.
    pub home_signs: Vec<PathBuf>,
}
