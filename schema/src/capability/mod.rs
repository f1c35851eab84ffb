//! Resources and scripts: what `skill.json` declares beside `SKILL.md`.

use std::time::Duration;

use crate::contract::Contract;
use crate::diagnostic::{Diagnostic, Faults};
use crate::path::SkillPath;
use crate::skill::Rules;
use crate::tree::Tree;

/// A script's timeout where it names none.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
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
/// Answers with the warnings met. Checks names within resources and scripts; whoever reads the
/// whole skill checks them against the tools.
pub fn read(tree: &dyn Tree, rules: Rules) -> Result<(Capabilities, Vec<Diagnostic>), Faults> {
    let _ = (tree, rules);
    todo!()
}
