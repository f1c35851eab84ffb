//! What becomes of the project's files, its state and the agents' directories.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::{QualifiedName, Requirement};

use super::attend::Attendant;
use super::goal::{Entry, Outcome};
use super::job::Job;
use super::placement::Plan;
use super::prepare::Prepared;
use super::session::Session;
use crate::Error;
use crate::parallel::ended_early;
use crate::project::{LockFile, Locked, ProjectDocument};
use crate::state::{Active, Journal, ProvenOf, Step, TextChange};

/// What becomes of the project's files, its state and the agents' directories.
pub(super) struct Change {
    journal: Journal,
    lock: LockFile,
    document: Option<ProjectDocument>,
}

impl Change {
    /// A change that puts, hides or removes exactly these skills.
    pub(super) fn of<'n>(
        session: &Session<'_>,
        names: impl IntoIterator<Item = &'n QualifiedName>,
    ) -> Self {
        let names: HashSet<&QualifiedName> = names.into_iter().collect();
        let mut state = session.remembered.clone();
        state.placed.retain(|placed| !names.contains(&placed.name));
        state.active.retain(|active| !names.contains(&active.name));
        state.inactive.retain(|inactive| !names.contains(inactive));
        state.copies.retain(|copied| !names.contains(copied));
        let journal = Journal { state, ..Journal::default() };
        Self { journal, lock: session.files.lock.clone(), document: None }
    }

    fn document(&mut self, session: &Session<'_>) -> Result<&mut ProjectDocument, Error> {
        let document = match self.document.take() {
            Some(document) => document,
            None => {
                ProjectDocument::parse(session.files.project_text.as_deref().unwrap_or_default())?
            }
        };
        Ok(self.document.insert(document))
    }

    pub(super) fn remove(
        &mut self,
        session: &Session<'_>,
        name: &QualifiedName,
        plan: Plan,
        attendant: &mut dyn Attendant,
    ) -> Result<(), Error> {
        tell_left(&plan, attendant);
        // Where another skill takes the place, one exchange does both.
        let taken = &self.journal.state.placed;
        let steps = plan.steps.into_iter();
        let steps: Vec<Step> =
            steps.filter(|step| !taken.iter().any(|placed| placed.path == step.path)).collect();
        self.journal.steps.extend(steps);
        self.lock.remove(name);
        if session.files.project.skill(name).is_some() {
            self.document(session)?.remove(name)?;
        }
        Ok(())
    }

    pub(super) fn put(
        &mut self,
        session: &Session<'_>,
        job: &Job,
        prepared: &Prepared,
        plan: Plan,
        attendant: &mut dyn Attendant,
    ) -> Result<Outcome, Error> {
        tell_left(&plan, attendant);
        tell_kept(&plan, attendant);
        let locked = Locked {
            name: prepared.manifest().name.clone(),
            version: prepared.manifest().version.clone(),
            source: job.source.clone(),
            address: prepared.address,
            archive: prepared.archive,
            key: prepared.key().ok_or_else(ended_early)?,
            log_index: job.log_index,
        };
        let name = &locked.name;
        let before = session.files.lock.skill(name);
        let was_active = session.remembered.active(name).map(|active| active.address);
        let seen = job.goal.visible.then_some(prepared.address);
        let outcome = Outcome {
            before: before.map(|before| before.version.clone()),
            path: first_path(session, prepared, &plan),
            paths: plan.placed.iter().map(|placed| placed.path.clone()).collect(),
            active: job.goal.visible,
            changed: before != Some(&locked) || !plan.steps.is_empty() || was_active != seen,
            findings: prepared.checked.as_ref().map(|checked| checked.findings.clone()),
            locked: locked.clone(),
        };
        self.note(session, job, &locked)?;
        let state = &mut self.journal.state;
        state.placed.extend(plan.placed);
        if job.goal.visible {
            state.active.push(Active {
                name: name.clone(),
                placed_as: job.goal.wanted.directory_name().clone(),
                version: locked.version.clone(),
                address: locked.address,
                key: Some(locked.key),
                proven: Some(ProvenOf::of(&locked)),
                programs: programs(session, prepared),
            });
        } else {
            state.inactive.push(name.clone());
            state.copies.extend(copied(session, name));
        }
        self.journal.steps.extend(plan.steps);
        self.lock.insert(locked);
        Ok(outcome)
    }

    /// Takes a skill out of the sight of agents, and leaves both of the project's files alone.
    pub(super) fn hide(
        &mut self,
        session: &Session<'_>,
        name: &QualifiedName,
        plan: Plan,
        attendant: &mut dyn Attendant,
    ) {
        tell_left(&plan, attendant);
        self.journal.steps.extend(plan.steps);
        self.journal.state.inactive.push(name.clone());
        self.journal.state.copies.extend(copied(session, name));
    }

    /// Places a skill elsewhere that agents see, and leaves all else of it as it is.
    pub(super) fn place_again(
        &mut self,
        name: &QualifiedName,
        plan: Plan,
        attendant: &mut dyn Attendant,
    ) {
        tell_left(&plan, attendant);
        tell_kept(&plan, attendant);
        let state = &mut self.journal.state;
        state.placed.retain(|placed| placed.name != *name);
        state.placed.extend(plan.placed);
        self.journal.steps.extend(plan.steps);
    }

    /// Says in `skillpkg.toml` which agents skills are placed for, and remembers which were found.
    pub(super) fn name_agents(
        &mut self,
        session: &Session<'_>,
        named: Option<&[String]>,
        found: Option<&[String]>,
    ) -> Result<(), Error> {
        if session.files.project.agents.used.as_deref() != named {
            self.document(session)?.set_agents(named)?;
        }
        self.journal.state.agents = found.map(<[String]>::to_vec);
        Ok(())
    }

    /// Remembers which agents were found when skills were first placed.
    pub(super) fn remember_agents(&mut self, found: Option<&[String]>) {
        if let Some(found) = found {
            self.journal.state.agents = Some(found.to_vec());
        }
    }

    /// Says in `skillpkg.toml` what is asked for.
    fn note(&mut self, session: &Session<'_>, job: &Job, locked: &Locked) -> Result<(), Error> {
        let mut wanted = job.goal.wanted.clone();
        match &job.goal.entry {
            Entry::Unchanged => return Ok(()),
            Entry::AsAsked => {
                // By either algorithm it is the same snapshot; the lockfile compares by SHA-256.
                if let Requirement::Address(address) = &mut wanted.requirement {
                    *address = locked.address;
                }
            }
            Entry::CaretOfResolved => {
                let version = locked.version.semver();
                let comparator = semver::Comparator {
                    op: semver::Op::Caret,
                    major: version.major,
                    minor: Some(version.minor),
                    patch: Some(version.patch),
                    pre: version.pre.clone(),
                };
                let comparators = vec![comparator];
                wanted.requirement = Requirement::Semver(semver::VersionReq { comparators });
            }
            Entry::Versions(versions) => {
                wanted.requirement = Requirement::Semver(versions.clone());
            }
        }
        if session.files.project.skill(&wanted.name) != Some(&wanted) {
            self.document(session)?.set(&wanted)?;
        }
        Ok(())
    }

    /// The change as it is written down; [`None`] where nothing changes.
    pub(super) fn into_journal(self, session: &Session<'_>) -> Option<Journal> {
        let Self { mut journal, lock, document } = self;
        let files = &session.files;
        let change = |before: &Option<String>, after: String| {
            (before.as_deref() != Some(&after))
                .then(|| TextChange { before: before.clone(), after })
        };
        journal.project =
            document.and_then(|document| change(&files.project_text, document.to_text()));
        if lock != files.lock || (files.lock_text.is_none() && lock.skills().next().is_some()) {
            journal.lock = change(&files.lock_text, lock.to_text());
        }
        journal.state.normalise();
        let is_nothing = journal.steps.is_empty()
            && journal.project.is_none()
            && journal.lock.is_none()
            && journal.state == session.remembered;
        (!is_nothing).then_some(journal)
    }
}

/// A skill that goes out of agents' sight, where it is to come back as copies.
fn copied(session: &Session<'_>, name: &QualifiedName) -> Option<QualifiedName> {
    session.remembered.is_copied(name).then(|| name.clone())
}

fn tell_left(plan: &Plan, attendant: &mut dyn Attendant) {
    for left in &plan.left {
        attendant.warn(left);
    }
}

fn tell_kept(plan: &Plan, attendant: &mut dyn Attendant) {
    for (path, files) in &plan.kept {
        let (path, files) = (escape(&path.to_string_lossy()), files.join(", "));
        attendant.warn(&format!("`{path}` was edited and is kept so: {files}"));
    }
}

fn first_path(session: &Session<'_>, prepared: &Prepared, plan: &Plan) -> PathBuf {
    let placed = plan.placed.first().map(|placed| placed.path.clone());
    placed.unwrap_or_else(|| session.store.tree_path(&prepared.address))
}

/// Where the programs of a skill were found: now, or when agents came to see this snapshot.
fn programs(session: &Session<'_>, prepared: &Prepared) -> BTreeMap<String, PathBuf> {
    if let Some(checked) = &prepared.checked {
        return checked.programs_on_path();
    }
    let active = session.remembered.active(&prepared.manifest().name);
    let same = active.filter(|active| active.address == prepared.address);
    same.map(|active| active.programs.clone()).unwrap_or_default()
}
