//! What other tools installed here, and what of it is published.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{ContentAddress, QualifiedName, Requirement, SkillName, Version};

use super::compare::Differing;
use super::entry::{Entry, Place, Tool};
use super::files::{self, ToolFile};
use super::known::{self, Known};
use super::matching::{Candidate, Identified, Names, identify};
use super::spot::{self, Spot, Spots, Standing};
use crate::agents::Agents;
use crate::install::{Attendant, Options, Present};
use crate::policy::Policy;
use crate::state::Foreign;
use crate::{Error, Settings, real_path};

/// What is looked at.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// One file of another tool, in place of all that there may be.
    pub file: Option<(Tool, PathBuf)>,
    /// `$XDG_STATE_HOME`, where `skills` keeps what is for all projects of a user.
    pub state_home: Option<PathBuf>,
    /// Names of directories or skills; where there are any, others are not looked at.
    pub only: Vec<String>,
}

/// What other tools installed, and what of it is published.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// The project, or the user's home.
    pub base: PathBuf,
    /// The files of other tools that are there.
    pub files: Vec<ToolFile>,
    /// Skills that are exactly a published version.
    pub matched: Vec<Match>,
    /// Entries and directories that are not.
    pub left: Vec<Left>,
    /// The keys of entries whose skills we have placed already.
    pub ours: Vec<String>,
    /// The registries that were asked, as they are written.
    pub registries: Vec<String>,
}

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

/// Looks what other tools installed, and asks the registries which of it they have. Changes nothing.
pub async fn survey(
    settings: &Settings,
    options: &Options,
    request: &Request,
    attendant: &mut dyn Attendant,
) -> Result<Survey, Error> {
    let present = Present::look(settings, options, attendant)?;
    let policy = Policy::of_project(settings, &present.root)?;
    let base = real_path::of(&present.base).unwrap_or_else(|_| present.base.clone());
    let places = match &request.file {
        Some(file) => vec![file.clone()],
        None => files::places(options.reach, &base, request.state_home.as_deref()),
    };
    let files = files::read(places);
    let agents = Agents::of(settings)?;
    let is_ours = |path: &Path| present.is_ours(path);
    let Spots { found: spots, ours, notices } =
        spot::look(&agents, (options.reach, &base), &files, &is_ours);
    for notice in &notices {
        attendant.warn(notice);
    }
    let mut work = Work { files: &files, request, present: &present, survey: Survey::default() };
    let spots = work.wanted(spots);
    work.ask(settings, &policy, &spots, &ours, attendant).await?;
    let mut survey = work.survey;
    survey.left.sort_by(|left, right| left.key.cmp(&right.key));
    Ok(Survey { base, files, ..survey })
}

/// A survey being made.
struct Work<'w> {
    files: &'w [ToolFile],
    request: &'w Request,
    present: &'w Present,
    survey: Survey,
}

impl Work<'_> {
    fn entry(&self, (file, position): (usize, usize)) -> Option<(Tool, &Entry)> {
        let file = self.files.get(file)?;
        Some((file.tool, file.entries.get(position)?))
    }

    fn is_wanted(&self, names: &[&str]) -> bool {
        let only = &self.request.only;
        only.is_empty() || only.iter().any(|one| names.contains(&one.as_str()))
    }

    /// The spots that are asked for; of one file alone, those that it tells of.
    fn wanted(&self, spots: Vec<Spot>) -> Vec<Spot> {
        let is_alone = self.request.file.is_some();
        let is_wanted = |spot: &Spot| {
            let name = file_name(&spot.path);
            (!is_alone || !spot.entries.is_empty()) && self.is_wanted(&[name, &spot.shown])
        };
        spots.into_iter().filter(is_wanted).collect()
    }

    async fn ask(
        &mut self,
        settings: &Settings,
        policy: &Policy,
        spots: &[Spot],
        ours: &BTreeSet<(usize, usize)>,
        attendant: &mut dyn Attendant,
    ) -> Result<(), Error> {
        let absent = self.absent(spots, ours);
        for file in self.files {
            for refused in &file.refused {
                self.survey.left.push(Left {
                    tools: BTreeSet::from([file.tool]),
                    ..left(&refused.key, "entry_refused", refused.reason.clone())
                });
            }
        }
        for at in ours {
            if let Some((_, entry)) = self.entry(*at) {
                let key = entry.key.clone();
                self.survey.ours.push(key);
            }
        }
        if spots.is_empty() && absent.is_empty() {
            return Ok(());
        }
        let scopes = known::scopes(settings).await;
        let names_of = |spot: &Spot| {
            let entries: Vec<&Entry> =
                spot.entries.iter().filter_map(|at| Some(self.entry(*at)?.1)).collect();
            let tree = match &spot.standing {
                Standing::Tree(tree) => Some(&**tree),
                _ => None,
            };
            Names::of(file_name(&spot.path), tree, &entries, &scopes)
        };
        let names: Vec<Names> = spots.iter().map(names_of).collect();
        let of_absent: Vec<Names> = absent
            .iter()
            .filter_map(|at| Some(Names::of("", None, &[self.entry(*at)?.1], &scopes)))
            .collect();
        let all = names.iter().chain(&of_absent).flat_map(Names::all).cloned().collect();
        let mut known = Known::ask(settings, policy, all).await?;
        for notice in known.notices.drain(..) {
            notice.to(attendant);
        }
        self.survey.registries = known.registries.iter().cloned().collect();

        let mut exact: Vec<(usize, Candidate)> = Vec::new();
        for (position, (spot, names)) in spots.iter().zip(&names).enumerate() {
            match &spot.standing {
                Standing::Tree(tree) => {
                    let store = Some(&self.present.store);
                    let found = identify(&mut known, store, &spot.path, tree, names).await;
                    if let Some(candidate) = self.decide(spot, names, found) {
                        exact.push((position, candidate));
                    }
                }
                Standing::Unread(reason) => {
                    let reason = format!("it is not read: {reason}");
                    let one = self.of_spot(spot, "unread", reason);
                    self.survey.left.push(one);
                }
                Standing::Link(..) => {}
            }
        }
        self.group(spots, exact);
        for (at, names) in absent.iter().zip(&of_absent) {
            self.tell_absent(*at, names, &known);
        }
        Ok(())
    }

    /// Entries of which nothing is here.
    fn absent(&self, spots: &[Spot], ours: &BTreeSet<(usize, usize)>) -> Vec<(usize, usize)> {
        let here: BTreeSet<(usize, usize)> = spots
            .iter()
            .flat_map(|spot| spot.entries.iter().copied())
            .chain(ours.iter().copied())
            .collect();
        let mut absent = Vec::new();
        for (file, tool_file) in self.files.iter().enumerate() {
            for (position, entry) in tool_file.entries.iter().enumerate() {
                if !here.contains(&(file, position)) && self.is_wanted(&[&entry.key]) {
                    absent.push((file, position));
                }
            }
        }
        absent
    }

    fn tell_absent(&mut self, at: (usize, usize), names: &Names, known: &Known) {
        let Some((tool, entry)) = self.entry(at) else { return };
        let has = |name: &&QualifiedName| known.document(name).is_some();
        let next = match names.all().find(has) {
            Some(name) => {
                let version = entry.version.as_ref();
                let version = version
                    .filter(|version| {
                        known.document(name).is_some_and(|one| one.version(version).is_some())
                    })
                    .map_or_else(String::new, |version| format!("@{version}"));
                vec![format!("`skillpkg install {name}{version}` installs it")]
            }
            None => vec![format!("`{}` installs it, where it is wanted", tool.name())],
        };
        let place = match &entry.place {
            Place::Named(name) => {
                format!("no directory of an agent here has `{}`", escape(name.as_str()))
            }
            Place::At(paths) => {
                let shown: Vec<String> =
                    paths.iter().map(|path| format!("`{}`", escape(path.as_str()))).collect();
                format!("there is no skill of an agent at {}", shown.join(", "))
            }
        };
        let one = Left {
            tools: BTreeSet::from([tool]),
            source: entry.source.clone(),
            hash: entry.hash.clone(),
            next,
            ..left(&entry.key, "not_here", place)
        };
        self.survey.left.push(one);
    }

    /// The version that a directory is; where that is none, or not one alone, why is told.
    fn decide(&mut self, spot: &Spot, names: &Names, found: Identified) -> Option<Candidate> {
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
    fn of_spot(&self, spot: &Spot, code: &'static str, reason: String) -> Left {
        let entries: Vec<(Tool, &Entry)> =
            spot.entries.iter().filter_map(|at| self.entry(*at)).collect();
        let key = entries.first().map_or_else(|| file_name(&spot.path), |(_, entry)| &entry.key);
        Left {
            tools: entries.iter().map(|(tool, _)| *tool).collect(),
            paths: vec![spot.shown.clone()],
            source: entries.iter().find_map(|(_, entry)| entry.source.clone()),
            hash: entries.iter().find_map(|(_, entry)| entry.hash.clone()),
            ..left(key, code, reason)
        }
    }

    /// Puts together what is one skill, links to it included; what cannot be one is left.
    fn group(&mut self, spots: &[Spot], exact: Vec<(usize, Candidate)>) {
        let mut by_name: BTreeMap<String, Vec<(usize, Candidate)>> = BTreeMap::new();
        for (position, candidate) in exact {
            by_name.entry(candidate.name.to_string()).or_default().push((position, candidate));
        }
        // Which skills each directory name would be.
        let mut taken: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (name, found) in &by_name {
            for spot in found.iter().filter_map(|(position, _)| spots.get(*position)) {
                taken.entry(file_name(&spot.path)).or_default().insert(name);
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
        let directories: BTreeSet<&str> =
            here.iter().map(|(spot, _)| file_name(&spot.path)).collect();
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
                && file_name(&spot.path) == *directory
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

fn left(key: &str, code: &'static str, reason: String) -> Left {
    Left {
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

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}
