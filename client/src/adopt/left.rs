//! What is not taken over, and why.

use std::collections::BTreeSet;

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{QualifiedName, Version};

use super::compare::Differing;
use super::entry::{Entry, Tool};
use super::matching::{Candidate, Identified, Names};
use super::spot::Spot;
use super::survey::Work;

/// The version that something differs least from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// The whole name.
    pub name: QualifiedName,
    /// The version.
    pub version: Version,
    /// The files that differ.
    pub differing: Vec<Differing>,
}

/// What is not taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// What it is called, as it is written.
    pub key: String,
    /// The tools that have it in their files.
    pub tools: BTreeSet<Tool>,
    /// Where it lies, relative to the base.
    pub paths: Vec<String>,
    /// Where it came from, as far as that is known.
    pub source: Option<String>,
    /// A digest that its tool keeps of it.
    pub hash: Option<String>,
    /// Stable, in `snake_case`.
    pub code: &'static str,
    /// Why, in a sentence; safe to print.
    pub reason: String,
    /// The version that it differs least from, where there is one.
    pub nearest: Option<Nearest>,
    /// What to do; safe to print.
    pub next: Vec<String>,
}

impl Left {
    pub(super) fn new(key: &str, code: &'static str, reason: String) -> Self {
        Self {
            key: key.to_owned(),
            tools: BTreeSet::new(),
            paths: Vec::new(),
            source: None,
            hash: None,
            code,
            reason,
            nearest: None,
            next: Vec::new(),
        }
    }
}

impl Work<'_> {
    /// The version that a directory is; where that is none, or not one alone, why is told.
    pub(super) fn decide(
        &mut self,
        spot: &Spot,
        names: &Names,
        found: Identified,
    ) -> Option<Candidate> {
        let Identified { mut exact, nearest, is_published } = found;
        if let Some(told) = exact.iter().position(|one| names.told.contains(&one.name)) {
            return Some(exact.swap_remove(told));
        }
        if exact.len() == 1 {
            return exact.pop();
        }
        let path = escape(&spot.shown);
        let mut one = if exact.len() > 1 {
            let names: Vec<String> =
                exact.iter().map(|one| format!("`{}@{}`", one.name, one.version)).collect();
            let reason = format!(
                "it is {} alike, and which of them is meant is not known",
                names.join(", ")
            );
            let mut one = self.of_spot(spot, "ambiguous", reason);
            one.next.push(format!(
                "move `{path}` away and install the one that is meant: `skillpkg install {}`",
                exact
                    .first()
                    .map_or_else(String::new, |one| format!("{}@{}", one.name, one.version))
            ));
            one
        } else if let Some(nearest) = nearest {
            let Candidate { name, version, comparison, .. } = nearest;
            let count = comparison.differing.len();
            let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
            let reason = format!("it differs from `{name}@{version}` in {files}, and is kept");
            let mut one = self.of_spot(spot, "differs", reason);
            one.next = vec![
                format!("`skillpkg diff {path} {name}@{version}` shows how"),
                format!(
                    "`skillpkg install {name}@{version} --as {}-2` has both; or move `{path}` away first \
                     and install it in its place",
                    name.name()
                ),
            ];
            one.nearest = Some(Nearest { name, version, differing: comparison.differing });
            one
        } else if is_published {
            let mut one = self.of_spot(
                spot,
                "not_compared",
                "a skill of this name is published, and its versions could not be compared"
                    .to_owned(),
            );
            one.next.push("run it again, with `--only` for this one".to_owned());
            one
        } else {
            self.of_spot(
                spot,
                "not_published",
                "nothing of this name is published there".to_owned(),
            )
        };
        if one.next.is_empty() {
            one.next.push(format!(
                "where it is yours to publish: `skillpkg publish {path} --scope SCOPE --version 1.0.0`"
            ));
        }
        self.survey.left.push(one);
        None
    }

    /// What is told of a directory that is left.
    pub(super) fn of_spot(&self, spot: &Spot, code: &'static str, reason: String) -> Left {
        let entries: Vec<(Tool, &Entry)> =
            spot.entries.iter().filter_map(|at| self.entry(*at)).collect();
        let key = entries.first().map_or_else(|| spot.name(), |(_, entry)| &entry.key);
        Left {
            tools: entries.iter().map(|(tool, _)| *tool).collect(),
            paths: vec![spot.shown.clone()],
            source: entries.iter().find_map(|(_, entry)| entry.source.clone()),
            hash: entries.iter().find_map(|(_, entry)| entry.hash.clone()),
            ..Left::new(key, code, reason)
        }
    }
}
