//! Activation: everything is verified, then an agent host may see the skill.

mod asked;
mod check;
mod describe;
pub(crate) mod found;
mod growth;
pub mod program;
mod running;
#[cfg(test)]
mod tests;

pub(crate) use asked::{allowed_tools, host_settings};
pub use asked::{host_requests, prose_commands};
pub(crate) use check::missing;
pub use check::{check, check_with, intact_tree, intact_tree_at};
pub use describe::{describe, found as found_lines, run_line};
pub use growth::{growth, prose_growth, widening};

use std::collections::BTreeMap;
use std::path::PathBuf;

use skillpkg_schema::finding::Findings;
use skillpkg_schema::{ContentAddress, Diagnostic, Manifest};

/// A program that a skill needs, and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundProgram {
    /// The name, as the manifest has it.
    pub name: String,
    /// The file; [`None`] for one that a call's arguments name.
    pub path: Option<PathBuf>,
}

/// The one runner that runs a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRunner {
    /// The script's name.
    pub script: String,
    /// The runner, as it calls itself.
    pub runner: String,
}

/// A snapshot that passed every check, ready to be approved.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The snapshot.
    pub address: ContentAddress,
    /// Its manifest.
    pub manifest: Manifest,
    /// Its tree.
    pub tree: PathBuf,
    /// Its programs.
    pub programs: Vec<FoundProgram>,
    /// The runners of its scripts.
    pub runners: Vec<FoundRunner>,
    /// The commands in its prose that a host may run when it reads it.
    pub prose_commands: Vec<String>,
    /// What is worth an eye in its files, found in this run.
    pub findings: Findings,
    /// What is worth telling, though nothing is refused for it.
    pub warnings: Vec<Diagnostic>,
    /// Files of the tree that were not as they should be and were made whole again from the store,
    /// or set aside, as sentences: worth telling.
    pub repaired: Vec<String>,
}

impl Checked {
    /// Whether anything of it may run: by a call, or by the host that reads it.
    pub fn runs_anything(&self) -> bool {
        let Manifest { tools, scripts, .. } = &self.manifest;
        let is_told = !asked::host_settings(&self.manifest).is_empty();
        !tools.is_empty() || !scripts.is_empty() || !self.prose_commands.is_empty() || is_told
    }

    /// The programs that were looked up on PATH, by name, with the file that was found.
    pub fn programs_on_path(&self) -> BTreeMap<String, PathBuf> {
        self.programs
            .iter()
            .filter(|program| !program.name.contains('/'))
            .filter_map(|program| Some((program.name.clone(), program.path.clone()?)))
            // The state is JSON, which holds text alone: another path is looked up at each call.
            .filter(|(_, path)| path.to_str().is_some())
            .collect()
    }
}
