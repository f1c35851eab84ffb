//! Agents, and the directories in which each looks for skills: a data file that users override.

mod catalogue;
mod choice;

pub use catalogue::Agents;
pub use choice::{AgentDirectory, Reach};

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
}
