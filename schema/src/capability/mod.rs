//! Resources and scripts: what `skill.json` declares beside `SKILL.md`.

mod file;
mod name;
mod references;
mod script;

use std::time::Duration;

use crate::contract::Contract;
use crate::diagnostic::{Diagnostic, Faults};
use crate::path::SkillPath;
use crate::skill::Rules;
use crate::tree::Tree;

/// The runtimes that every installation has a runner for.
pub const BUILT_IN_RUNTIMES: [&str; 4] = ["python", "shell", "javascript", "wasm"];
/// A script's timeout where it names none.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(2);
/// A script's most bytes of output where it names none.
pub const DEFAULT_MAXIMUM_OUTPUT_BYTES: u64 = 1_048_576;

/// The resources and scripts of a skill.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Capabilities {
    /// Sorted by name.
    pub resources: Vec<Resource>,
    /// Sorted by name.
    pub scripts: Vec<Script>,
}

/// Read-only content of the skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// `read_` and the file's stem, in `[a-z0-9_]`.
    pub name: String,
    /// What a model is told it holds.
    pub description: String,
    /// The file.
    pub path: SkillPath,
}

/// A file that a runner runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The file's stem, in `[a-z0-9_]`.
    pub name: String,
    /// What a model is told it does.
    pub description: String,
    /// The file.
    pub path: SkillPath,
    /// Which kind of runner it needs.
    pub runtime: String,
    /// What it takes.
    pub contract: Contract,
    /// Whether permission is asked before each call.
    pub requires_permission: bool,
    /// Longest run, whole seconds.
    pub timeout: Duration,
    /// Most bytes of output.
    pub maximum_output_bytes: u64,
}

/// Reads `skill.json` of `tree`; a tree without one has no resources and no scripts.
///
/// Answers with the warnings met. Every fault is told with its line, column and JSON pointer, up to
/// [`MOST_FAULTS`]. Checks names within resources and scripts; whoever reads the whole skill checks
/// them against the tools.
///
/// Under [`Rules::Compatible`] a missing description is made of the file's name, every file under
/// `references/` is a resource, and a key that is not known in a script's entry is a warning.
pub fn read(tree: &dyn Tree, rules: Rules) -> Result<(Capabilities, Vec<Diagnostic>), Faults> {
    let (capabilities, diagnostics) = file::read(tree, rules);
    Faults::check(capabilities, diagnostics)
}

/// How many faults of one `skill.json` are told: past them the file is not what it was meant to be.
pub const MOST_FAULTS: usize = 100;

#[cfg(test)]
mod tests;
