//! Activation: everything is verified, then an agent host may see the skill.

use skillpkg_schema::{ContentAddress, Manifest};
use skillpkg_store::content::Store;

use crate::{Error, Settings};

/// A program that a skill needs, and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundProgram {
    /// The name, as the manifest has it.
    pub name: String,
    /// The file; [`None`] for one that a call's arguments name.
    pub path: Option<std::path::PathBuf>,
}

/// A snapshot that passed every check, ready to be approved.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The snapshot.
    pub address: ContentAddress,
    /// Its manifest.
    pub manifest: Manifest,
    /// Its programs.
    pub programs: Vec<FoundProgram>,
}

/// Checks a snapshot that is in the store: its tree re-hashed by content (extras set aside),
/// capabilities derived from the files again, contracts compiled, programs found, requirements met,
/// exactly one runner a script. Runs nothing and changes nothing that agents see.
///
/// The signature is checked by whoever fetched it, and again by `verify`.
pub fn check(store: &Store, manifest: &Manifest, settings: &Settings) -> Result<Checked, Error> {
    let _ = (store, manifest, settings);
    todo!()
}

/// What a skill runs, in full, as lines of text for a person: each tool with its whole run line,
/// each script with its runner and permission, each program with the path found. Text from the
/// skill is escaped.
pub fn describe(checked: &Checked) -> Vec<String> {
    let _ = checked;
    todo!()
}

/// What an update would add to what was approved before: programs, tools, changed run lines,
/// scripts, permissions, requirements; empty where nothing grows.
pub fn growth(approved: &Manifest, offered: &Manifest) -> Vec<String> {
    let _ = (approved, offered);
    todo!()
}
