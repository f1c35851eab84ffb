//! Directories that are exactly a published version, put together to one skill each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{ContentAddress, QualifiedName, Requirement, SkillName, Version};

use super::entry::Tool;
use super::matching::Candidate;
use super::spot::{Spot, Standing};
use super::survey::Work;
use crate::real_path;
use crate::state::Foreign;

/// A skill that is exactly a published version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The whole name.
    pub name: QualifiedName,
    /// The version.
    pub version: Version,
    /// Its snapshot.
    pub address: ContentAddress,
    /// The directory name that agents see, where that is not the skill's own.
    pub placed_as: Option<SkillName>,
    /// Which versions its user asked for, where that is known.
    pub requirement: Option<semver::VersionReq>,
    /// Where it lies, absolute, and as it was found.
    pub(crate) places: Vec<(PathBuf, Foreign)>,
    /// Where it lies, relative to the base.
    pub paths: Vec<String>,
    /// The tools that have it in their files.
    pub tools: BTreeSet<Tool>,
    /// What else there is to tell of it, as sentences; safe to print.
    pub notes: Vec<String>,
}

impl Work<'_> {
    /// Puts together what is one skill, links to it included; what cannot be one is left.
    pub(super) fn group(&mut self, spots: &[Spot], exact: Vec<(usize, Candidate)>) {
        let mut by_name: BTreeMap<String, Vec<(usize, Candidate)>> = BTreeMap::new();
        for (position, candidate) in exact {
            by_name.entry(candidate.name.to_string()).or_default().push((position, candidate));
        }
        // Which skills each directory name would be.
        let mut taken: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (name, found) in &by_name {
            for spot in found.iter().filter_map(|(position, _)| spots.get(*position)) {
                taken.entry(spot.name()).or_default().insert(name);
            }
        }
        let mut linked = BTreeSet::new();
        for found in by_name.values() {
            match self.one(spots, found, &taken) {
                Ok((one, links)) => {
                    linked.extend(links);
                    self.survey.matched.push(one);
                }
                Err(reason) => {
                    for (position, _) in found {
                        if let Some(spot) = spots.get(*position) {
                            let mut one = self.of_spot(spot, "conflict", reason.clone());
                            one.next.push(
                                "move away what is not wanted, and run this again".to_owned(),
                            );
                            self.survey.left.push(one);
                        }
                    }
                }
            }
        }
        for (position, spot) in spots.iter().enumerate() {
            if let Standing::Link(said, leads) = &spot.standing
                && !linked.contains(&position)
            {
                let is_known = leads.as_ref().is_some_and(|leads| {
                    spots.iter().any(|other| {
                        matches!(other.standing, Standing::Tree(_))
                            && real_path::of(&other.path).is_ok_and(|path| path == *leads)
                    })
                });
                // What is behind it is told of there.
                if is_known {
                    continue;
                }
                let said = escape(&said.to_string_lossy());
                let reason = match leads {
                    Some(_) => format!("it is a link to `{said}`, which is not looked at"),
                    None => format!("it is a link to `{said}`, where nothing is"),
                };
                let mut one = self.of_spot(spot, "link", reason);
                one.next
                    .push(format!("remove it where it is not wanted: `{}`", escape(&spot.shown)));
                self.survey.left.push(one);
            }
        }
    }

    /// One skill out of the directories that are it; or why it cannot be one.
    fn one(
        &self,
        spots: &[Spot],
        found: &[(usize, Candidate)],
        taken: &BTreeMap<&str, BTreeSet<&str>>,
    ) -> Result<(Match, Vec<usize>), String> {
        let Some((_, first)) = found.first() else { return Err("it is nowhere".to_owned()) };
        let name = &first.name;
        let here: Vec<(&Spot, &Candidate)> = found
            .iter()
            .filter_map(|(position, candidate)| Some((spots.get(*position)?, candidate)))
            .collect();
        if let Some((spot, other)) = here.iter().find(|(_, one)| one.address != first.address) {
            return Err(format!(
                "`{}` is version {} of `{name}`, and another directory is version {}",
                escape(&spot.shown),
                other.version,
                first.version
            ));
        }
        let directories: BTreeSet<&str> = here.iter().map(|(spot, _)| spot.name()).collect();
        let (Some(directory), 1) = (directories.first(), directories.len()) else {
            return Err(format!("`{name}` lies under two names, and one project has it under one"));
        };
        if taken.get(directory).is_some_and(|skills| skills.len() > 1) {
            return Err(format!("different skills are called `{}` here", escape(directory)));
        }
        let placed_as: Option<SkillName> = if *directory == name.name().as_str() {
            None
        } else {
            let parsed = directory.parse();
            Some(parsed.map_err(|_| format!("no skill is placed as `{}`", escape(directory)))?)
        };
        self.check_project(first, directory)?;
        let mut one = Match {
            name: name.clone(),
            version: first.version.clone(),
            address: first.address,
            placed_as,
            requirement: None,
            places: Vec::new(),
            paths: Vec::new(),
            tools: BTreeSet::new(),
            notes: Vec::new(),
        };
        for (spot, _) in &here {
            self.add(&mut one, spot);
        }
        let reals: Vec<PathBuf> =
            here.iter().filter_map(|(spot, _)| real_path::of(&spot.path).ok()).collect();
        let mut links = Vec::new();
        for (position, spot) in spots.iter().enumerate() {
            if let Standing::Link(_, Some(leads)) = &spot.standing
                && reals.contains(leads)
                && spot.name() == *directory
            {
                self.add(&mut one, spot);
                links.push(position);
            }
        }
        if here.iter().any(|(_, candidate)| candidate.comparison.has_other_modes) {
            one.notes
                .push("which of its files are executable was lost, and is put right".to_owned());
        }
        if here.iter().any(|(_, candidate)| candidate.comparison.is_named) {
            one.notes.push(
                "its `SKILL.md` has the line `name:` that its registry adds for other tools, and loses \
                 it"
                    .to_owned(),
            );
        }
        if here.iter().any(|(_, candidate)| candidate.comparison.is_unmarked) {
            one.notes.push(
                "its `SKILL.md` has lost the byte order mark that the version starts with, and gets \
                 it back"
                    .to_owned(),
            );
        }
        let made: BTreeSet<&str> = here
            .iter()
            .flat_map(|(_, candidate)| candidate.comparison.made.iter().map(String::as_str))
            .collect();
        if !made.is_empty() {
            let made: Vec<String> = made.into_iter().map(escape).collect();
            one.notes.push(format!("what a program made for itself goes: {}", made.join(", ")));
        }
        Ok((one, links))
    }

    fn add(&self, one: &mut Match, spot: &Spot) {
        let Some(foreign) = spot.foreign() else { return };
        one.places.push((spot.path.clone(), foreign));
        one.paths.push(spot.shown.clone());
        for (tool, entry) in spot.entries.iter().filter_map(|at| self.entry(*at)) {
            one.tools.insert(tool);
            let range = entry.requirement.as_ref();
            let range = range.filter(|range| range.matches(one.version.semver()));
            one.requirement = one.requirement.take().or_else(|| range.cloned());
        }
    }

    /// That the project does not have the skill in another version, or another under its name.
    fn check_project(&self, candidate: &Candidate, directory: &str) -> Result<(), String> {
        let Candidate { name, version, address, .. } = candidate;
        for wanted in &self.present.wanted {
            if wanted.name != *name && wanted.directory_name().as_str() == directory {
                return Err(format!("`{}` is called so in this project", wanted.name));
            }
        }
        let Some(wanted) = self.present.wanted.iter().find(|wanted| wanted.name == *name) else {
            return Ok(());
        };
        let locked = self.present.locked.iter().find(|locked| locked.name == *name);
        match locked {
            Some(locked) if locked.address == *address => Ok(()),
            Some(locked) => Err(format!(
                "it is `{name}@{version}`, and the project has {} of it",
                locked.version
            )),
            None => Err(format!(
                "the project asks for `{name}` ({}), and has not installed it: `skillpkg sync` does",
                match &wanted.requirement {
                    Requirement::Latest => "latest".to_owned(),
                    other => crate::project::requirement_text(other),
                }
            )),
        }
    }
}
