//! What other tools installed here, and what of it is published.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::above;
use super::entry::{Entry, Tool};
use super::files::{self, ToolFile};
use super::known::{self, Known};
use super::left::Left;
use super::matched::Match;
use super::matching::{Candidate, Names, identify};
use super::only;
use super::spot::{self, Spot, Spots, Standing};
use crate::agents::{Agents, Reach};
use crate::install::{Attendant, Options, Present};
use crate::policy::Policy;
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
    /// Where nothing was found: the nearest directory above the project in which there is something.
    pub above: Option<PathBuf>,
}

/// Looks what other tools installed, and asks the registries which of it they have. Changes nothing.
///
/// A name of `only` that nothing here has is an error.
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
    let looked = spot::look(&agents, (options.reach, &base), &files, &is_ours);
    only::check(&request.only, &looked, &files)?;
    let Spots { found: spots, ours, notices, .. } = looked;
    for notice in &notices {
        attendant.warn(notice);
    }
    let mut work = Work { files: &files, request, present: &present, survey: Survey::default() };
    let spots = work.wanted(spots);
    work.ask(settings, &policy, &spots, &ours, attendant).await?;
    let mut survey = work.survey;
    survey.left.sort_by(|left, right| left.key.cmp(&right.key));
    let is_nothing = files.is_empty() && spots.is_empty() && ours.is_empty();
    if is_nothing && options.reach == Reach::Project {
        survey.above = above::of(&base, &settings.user_home, &agents);
    }
    Ok(Survey { base, files, ..survey })
}

/// A survey being made.
pub(super) struct Work<'w> {
    files: &'w [ToolFile],
    request: &'w Request,
    pub(super) present: &'w Present,
    pub(super) survey: Survey,
}

impl Work<'_> {
    /// The files of other tools that are looked at.
    pub(super) fn files(&self) -> &[ToolFile] {
        self.files
    }

    /// An entry of a file, by the positions of both.
    pub(super) fn entry(&self, (file, position): (usize, usize)) -> Option<(Tool, &Entry)> {
        let file = self.files.get(file)?;
        Some((file.tool, file.entries.get(position)?))
    }

    /// Whether what has these names is asked for.
    pub(super) fn is_wanted(&self, names: &[&str]) -> bool {
        let only = &self.request.only;
        only.is_empty() || only.iter().any(|one| names.contains(&one.as_str()))
    }

    /// The spots that are asked for; of one file alone, those that it tells of.
    fn wanted(&self, spots: Vec<Spot>) -> Vec<Spot> {
        let is_alone = self.request.file.is_some();
        let is_wanted = |spot: &Spot| {
            let keys = spot.entries.iter().filter_map(|at| Some(self.entry(*at)?.1.key.as_str()));
            let names: Vec<&str> = [spot.name(), &spot.shown].into_iter().chain(keys).collect();
            (!is_alone || !spot.entries.is_empty()) && self.is_wanted(&names)
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
                    ..Left::new(&refused.key, "entry_refused", refused.reason.clone())
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
            Names::of(spot.name(), tree, &entries, &scopes)
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
}
