//! What a command advises can be done: the options that it names alone are its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The options of each command whose help was asked for, by its words.
static OPTIONS: Mutex<BTreeMap<String, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

/// Holds that each hint of a run of the `skillpkg` at `program` names options of the command at
/// hand where it names one alone.
#[track_caller]
pub fn check(program: &Path, arguments: &[&str], told: &str) {
    let foreign = foreign(program, arguments, told);
    assert!(foreign.is_empty(), "skillpkg {arguments:?} has no {foreign:?}\n{told}");
}

/// The options that hints name alone and that the command does not have.
pub fn foreign(program: &Path, arguments: &[&str], told: &str) -> Vec<String> {
    let hints = told.lines().filter(|line| line.trim_start().starts_with("hint: "));
    let mut named: Vec<&str> = Vec::new();
    for quoted in hints.flat_map(|hint| hint.split('`').skip(1).step_by(2)) {
        named.extend(
            quoted.split([' ', '=']).next().filter(|word| word.len() > 1 && word.starts_with('-')),
        );
    }
    if named.is_empty() {
        return Vec::new();
    }
    let options = options(program, arguments);
    named.into_iter().filter(|name| !options.contains(*name)).map(str::to_owned).collect()
}

/// The options of the command that a command line runs.
fn options(program: &Path, arguments: &[&str]) -> BTreeSet<String> {
    let words = arguments.iter().filter(|word| !word.starts_with('-'));
    let words: Vec<&str> = words.take(2).copied().collect();
    let mut options = BTreeSet::new();
    // The second word may be a command beneath the first, or what that is about.
    for count in 1..=words.len() {
        options.extend(help(program, words.get(..count).unwrap_or_default()));
    }
    options
}

fn help(program: &Path, words: &[&str]) -> BTreeSet<String> {
    let key = words.join(" ");
    if let Some(known) = OPTIONS.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return known.clone();
    }
    let ran = Command::new(program).args(words).arg("--help").output();
    let text = ran.map(|ran| ran.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let lines = text.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let options: BTreeSet<String> = lines
        .flat_map(|line| line.split([' ', ',', '=']))
        .filter(|word| word.starts_with('-'))
        .map(|word| word.trim_end_matches(']').to_owned())
        .collect();
    let mut known = OPTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    known.insert(key, options.clone());
    options
}
