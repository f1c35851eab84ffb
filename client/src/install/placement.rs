//! What has to change in agents' directories for a skill to be placed, or to be gone.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::limits::MAX_SKILL_FILE_BYTES;
use skillpkg_schema::{ContentAddress, QualifiedName, SkillName, skill};
use skillpkg_store::content::{Store, TreeProblem};

use super::folder::{Found, unmergeable};
use super::folders::{Folders, split};
use super::ledger::Ledger;
use super::prepare::stored;
use super::session::Session;
use crate::merge::{Edits, MergeError};
use crate::project::LockFile;
use crate::state::{Foreign, Occupant, Placed, Placement, ProjectState, Step};
use crate::{Error, Kind, regular_file};

/// Where one skill is to be placed.
#[derive(Debug, Clone)]
pub(super) struct Target<'t> {
    pub(super) name: &'t QualifiedName,
    pub(super) directory_name: &'t SkillName,
    pub(super) address: ContentAddress,
    /// Absolute directories, and the agents that each is for.
    pub(super) directories: &'t [(PathBuf, Vec<String>)],
    /// How it is placed where it is not placed yet.
    pub(super) placement: Placement,
    /// Whether that is how it is placed everywhere.
    pub(super) change_placement: bool,
}

/// What has to change for one skill, and what the ledger lists of it afterwards.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) placed: Vec<Placed>,
    /// Copies that stay as their user edited them, with the files that differ.
    pub(super) kept: Vec<(PathBuf, Vec<String>)>,
    /// What stands where something of ours is or would be and is left alone, and why, as sentences
    /// that can be printed.
    pub(super) left: Vec<String>,
}

impl Plan {
    /// What is placed at `path` is for these agents too, whose directory is a link to that one.
    fn also_for(&mut self, path: &Path, agents: &[String]) {
        if let Some(placed) = self.placed.iter_mut().find(|placed| placed.path == path) {
            let new = agents.iter().filter(|agent| !placed.agents.contains(agent)).cloned();
            let new: Vec<String> = new.collect();
            placed.agents.extend(new);
        }
    }
}

/// What the ledger and the agents' directories say, and what may be done about edits.
pub(super) struct Placing<'p, 's> {
    pub(super) folders: &'p mut Folders<'s>,
    pub(super) store: &'p Store,
    pub(super) ledger: Ledger<'p>,
    /// Skills that the project is to have no more: what was placed of them may be replaced.
    pub(super) leaving: &'p [QualifiedName],
    pub(super) discard_edits: bool,
    /// What other tools placed and is taken over, as it was found, if anything is.
    pub(super) adopted: Option<&'p BTreeMap<PathBuf, Foreign>>,
    /// Whether the edits of a copy are merged into the copy that takes its place.
    pub(super) merge_edits: bool,
    /// What the lockfile names.
    pub(super) lock: &'p LockFile,
    /// What is remembered of the project.
    pub(super) remembered: &'p ProjectState,
}

/// What a place is looked at for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// For a skill to stand there.
    Placing,
    /// For what we placed to go.
    TakingOut,
    /// For what came with a project, in which nothing was placed from here yet, to go.
    Clearing,
}

/// What stands at a place.
enum Standing {
    Nothing,
    /// Ours, as we placed it.
    Ours(Occupant),
    /// A copy of ours that its user edited.
    Edited(Occupant, Vec<String>),
    /// Somebody else's.
    Foreign(&'static str),
}

impl<'p, 's> Placing<'p, 's> {
    /// One that keeps all that is not ours, and the edits of copies unless the options discard them.
    pub(super) fn of(session: &'p Session<'_>, folders: &'p mut Folders<'s>) -> Self {
        Self {
            folders,
            store: &session.store,
            ledger: Ledger::of(&session.remembered),
            leaving: &[],
            discard_edits: session.options.discard_edits,
            adopted: None,
            merge_edits: false,
            lock: &session.files.lock,
            remembered: &session.remembered,
        }
    }

    /// Plans how a skill is placed, and how what was placed of it elsewhere goes.
    pub(super) fn place(&mut self, target: &Target<'_>) -> Result<Plan, Error> {
        let mut plan = Plan::default();
        let mut seen: Vec<((u64, u64), PathBuf)> = Vec::new();
        let mut to_make: Vec<(PathBuf, PathBuf)> = Vec::new();
        // A link comes after what it may lead to, so that the directory itself is what is listed.
        let mut directories: Vec<&(PathBuf, Vec<String>)> = target.directories.iter().collect();
        directories.sort_by_key(|(directory, _)| directory.is_symlink());
        for (directory, agents) in directories {
            let path = directory.join(target.directory_name.as_str());
            if let Some(folder) = self.folders.existing(directory)? {
                if folder.has_left_over() {
                    folder.clear()?;
                }
                // Two paths may lead to one directory, where its user linked them.
                let identity = folder.identity();
                if let Some((_, first)) = seen.iter().find(|(one, _)| *one == identity) {
                    plan.also_for(first, agents);
                    continue;
                }
                seen.push((identity, path.clone()));
            } else {
                let destination = Folders::destination(directory);
                if let Some((_, first)) = to_make.iter().find(|(one, _)| *one == destination) {
                    plan.also_for(first, agents);
                    continue;
                }
                to_make.push((destination, path.clone()));
            }
            self.place_at(target, &path, agents, &mut plan)?;
        }
        let ledger = self.ledger.of_skill(target.name).to_vec();
        for placed in ledger {
            let (directory, name) = split(&placed.path)?;
            let is_there_still =
                plan.placed.iter().any(|one| one.path.as_os_str() == placed.path.as_os_str())
                    || (name == target.directory_name.as_str()
                        && match self.folders.existing(directory)? {
                            Some(folder) => {
                                let identity = folder.identity();
                                seen.iter().any(|(one, _)| *one == identity)
                            }
                            None => false,
                        });
            if !is_there_still {
                self.take_out(placed, &mut plan)?;
            }
        }
        Ok(plan)
    }

    /// Plans how all that was placed of a skill goes, and what came with a project at these paths.
    pub(super) fn remove(
        &mut self,
        name: &QualifiedName,
        came_with: &[PathBuf],
    ) -> Result<Plan, Error> {
        let mut plan = Plan::default();
        for placed in self.ledger.of_skill(name).to_vec() {
            self.take_out(placed, &mut plan)?;
        }
        for path in came_with {
            self.clear(name, path, &mut plan)?;
        }
        Ok(plan)
    }

    /// Plans how what came with the project at `path` goes, where it is a link into a store, or a
    /// copy of what is locked; all else is left.
    fn clear(&mut self, name: &QualifiedName, path: &Path, plan: &mut Plan) -> Result<(), Error> {
        if plan.steps.iter().any(|step| step.path == path) {
            return Ok(());
        }
        let before = match self.standing(name, path, Purpose::Clearing)? {
            Standing::Nothing => return Ok(()),
            Standing::Ours(before) => before,
            Standing::Edited(before, files) if stored(self.store, &before.address)?.is_some() => {
                self.discarded(path, &before, &files)?
            }
            Standing::Edited(..) | Standing::Foreign(_) => {
                plan.left.push(format!(
                    "`{}` is left alone: that it is an unedited copy of `{name}` is not known here; \
                     remove it by hand",
                    escape(&path.to_string_lossy())
                ));
                return Ok(());
            }
        };
        plan.steps.push(taking_out(name, path, before));
        Ok(())
    }

    fn place_at(
        &mut self,
        target: &Target<'_>,
        path: &Path,
        agents: &[String],
        plan: &mut Plan,
    ) -> Result<(), Error> {
        let standing = match self.taken_over(target, path)? {
            Some(occupant) => Standing::Ours(occupant),
            None => self.standing(target.name, path, Purpose::Placing)?,
        };
        let listed = self.ledger.at(path);
        let placement = match (listed, &standing) {
            (Some(placed), _) if !target.change_placement => placed.placement,
            // A copy that came with the project stays one.
            (None, Standing::Ours(before) | Standing::Edited(before, _))
                if before.found.is_none() && before.placement == Placement::Copy =>
            {
                Placement::Copy
            }
            // So does one that its user asked for, wherever it is placed next.
            _ if self.remembered.is_copied(target.name) => Placement::Copy,
            _ => target.placement,
        };
        let after =
            Occupant { address: target.address, placement, discard_edits: false, found: None };
        let mut agents = agents.to_vec();
        for agent in listed.map(|placed| placed.agents.as_slice()).unwrap_or_default() {
            if !agents.contains(agent) {
                agents.push(agent.clone());
            }
        }
        plan.placed.push(Placed {
            path: path.to_owned(),
            name: target.name.clone(),
            address: target.address,
            placement,
            agents,
        });
        let merge_edits = self.merge_edits;
        let can_merge = |before: &Occupant| {
            let are_copies = before.placement == Placement::Copy && placement == Placement::Copy;
            merge_edits && are_copies && before.found.is_none()
        };
        let mut merges = false;
        let before = match standing {
            Standing::Nothing => None,
            Standing::Ours(before) if before == after => return Ok(()),
            Standing::Ours(before) => {
                // It may be edited by the time that it is replaced.
                merges = can_merge(&before);
                Some(before)
            }
            Standing::Edited(before, files)
                if before.address == target.address
                    && placement == Placement::Copy
                    && !self.discard_edits =>
            {
                plan.kept.push((path.to_owned(), files));
                return Ok(());
            }
            Standing::Edited(before, _) if can_merge(&before) => {
                self.check_merge(path, &before, &after)?;
                merges = true;
                Some(before)
            }
            Standing::Edited(before, files) => Some(self.discarded(path, &before, &files)?),
            Standing::Foreign(what) => {
                let is_locked = self.lock.skill(target.name).is_some();
                return Err(occupied(path, what, target.name, is_locked));
            }
        };
        plan.steps.push(Step {
            path: path.to_owned(),
            name: target.name.clone(),
            before,
            after: Some(after),
            merges,
            merged: None,
        });
        Ok(())
    }

    /// What another tool placed at `path`, where it is taken over and still as it was found.
    fn taken_over(&mut self, target: &Target<'_>, path: &Path) -> Result<Option<Occupant>, Error> {
        let Some(found) = self.adopted.and_then(|adopted| adopted.get(path)) else {
            return Ok(None);
        };
        let placement = match found {
            Foreign::Tree(_) => Placement::Copy,
            Foreign::Link(_) => Placement::Link,
        };
        let (address, found) = (target.address, Some(found.clone()));
        let occupant = Occupant { address, placement, discard_edits: false, found };
        Ok(self.folders.holds(path, &occupant)?.then_some(occupant))
    }

    /// Refuses edits that cannot be merged.
    fn check_merge(
        &mut self,
        path: &Path,
        before: &Occupant,
        after: &Occupant,
    ) -> Result<(), Error> {
        let base = stored(self.store, &before.address)?;
        let base = base.ok_or_else(|| unmergeable(path, &MergeError::NoBase))?.manifest;
        let Some((copy, now)) =
            self.folders.copy_at(path)?.zip(stored(self.store, &after.address)?)
        else {
            return Ok(());
        };
        let check = Edits::read(base, &copy).and_then(|edits| edits.check(&now.manifest));
        check.map_err(|error| unmergeable(path, &error))
    }

    fn take_out(&mut self, placed: &Placed, plan: &mut Plan) -> Result<(), Error> {
        let before = match self.standing(&placed.name, &placed.path, Purpose::TakingOut)? {
            Standing::Nothing => return Ok(()),
            Standing::Foreign(_) => {
                let path = escape(&placed.path.to_string_lossy());
                plan.left.push(format!("`{path}` is not ours any more and is left alone"));
                return Ok(());
            }
            Standing::Ours(before) => before,
            Standing::Edited(before, files) => self.discarded(&placed.path, &before, &files)?,
        };
        plan.steps.push(taking_out(&placed.name, &placed.path, before));
        Ok(())
    }

    fn standing(
        &mut self,
        name: &QualifiedName,
        path: &Path,
        purpose: Purpose,
    ) -> Result<Standing, Error> {
        let listed = self
            .ledger
            .at(path)
            .filter(|placed| placed.name == *name || self.leaving.contains(&placed.name));
        Ok(match (self.folders.look(path)?, listed) {
            (Found::Nothing, _) => Standing::Nothing,
            (Found::Link(target), listed) => self.link(name, &target, listed)?,
            (Found::Directory, listed) => self.directory(name, path, listed, purpose)?,
            (Found::Other, _) => Standing::Foreign("a file"),
        })
    }

    /// A directory is ours where the ledger lists a copy there, and where it is a copy of what the
    /// lockfile names: then it came with the project, as it was moved, copied or cloned. One that
    /// differs is an edited copy where nothing else is listed there and it gives itself the skill's
    /// name; its edits are kept as those of any other. What the lockfile does not name may be the
    /// sources of whoever published it.
    fn directory(
        &self,
        name: &QualifiedName,
        path: &Path,
        listed: Option<&Placed>,
        purpose: Purpose,
    ) -> Result<Standing, Error> {
        let copy = |address| Occupant {
            address,
            placement: Placement::Copy,
            discard_edits: false,
            found: None,
        };
        let listed = listed.filter(|placed| placed.placement == Placement::Copy);
        let mut standing = Standing::Foreign("a directory");
        if let Some(placed) = listed {
            let files = edits(self.store, &placed.address, path)?;
            if files.is_empty() {
                return Ok(Standing::Ours(copy(placed.address)));
            }
            standing = Standing::Edited(copy(placed.address), files);
        }
        // What we did not place is taken over, and never only taken away, unless it came with a
        // project that was never brought here.
        if (listed.is_some() || purpose != Purpose::TakingOut)
            && let Some(address) = self.lock.skill(name).map(|locked| locked.address)
        {
            let files = edits(self.store, &address, path)?;
            if files.is_empty() {
                return Ok(Standing::Ours(copy(address)));
            }
            // What is taken over was looked at by itself, and goes only while it is what was seen.
            let is_adopted = self.adopted.is_some_and(|adopted| adopted.contains_key(path));
            if !is_adopted && self.ledger.at(path).is_none() && calls_itself(path, name) {
                return Ok(Standing::Edited(copy(address), files));
            }
        }
        Ok(standing)
    }

    /// A link is ours where it leads to the snapshot that the ledger lists, or to any snapshot of
    /// the same skill in our store: then another machine's or an older ledger placed it.
    ///
    /// So is one of a skill that is locked or listed there where it says the path of a snapshot in
    /// any store: it came with the project from another user, machine or home. Nothing is lost with
    /// it, whatever it leads to, and it is never followed.
    fn link(
        &self,
        name: &QualifiedName,
        target: &Path,
        listed: Option<&Placed>,
    ) -> Result<Standing, Error> {
        let ours = |address| {
            Standing::Ours(Occupant {
                address,
                placement: Placement::Link,
                discard_edits: false,
                found: None,
            })
        };
        if let Some(placed) = listed.filter(|one| self.store.tree_path(&one.address) == target) {
            return Ok(ours(placed.address));
        }
        let Some(named) = snapshot_of_a_store(target) else {
            return Ok(Standing::Foreign("a link"));
        };
        if self.store.tree_path(&named) == target {
            let stored = stored(self.store, &named)?;
            if stored.is_some_and(|stored| stored.manifest.name == *name) {
                return Ok(ours(named));
            }
        }
        let locked = self.lock.skill(name).map(|locked| locked.address);
        Ok(match locked.or(listed.map(|placed| placed.address)) {
            Some(address) => Standing::Ours(Occupant {
                address,
                placement: Placement::Link,
                discard_edits: false,
                found: Some(Foreign::Link(target.to_owned())),
            }),
            None => Standing::Foreign("a link"),
        })
    }

    fn discarded(
        &self,
        path: &Path,
        before: &Occupant,
        files: &[String],
    ) -> Result<Occupant, Error> {
        if self.discard_edits {
            return Ok(Occupant { discard_edits: true, ..before.clone() });
        }
        let shown = escape(&path.to_string_lossy());
        let message = format!("`{shown}` was edited, and is kept: {}", files.join(", "));
        Err(Error::new(Kind::Refused, "edited", message)
            .with_hint("move your edits elsewhere first, or let them go with `--discard-edits`"))
    }
}

/// The files of a copy that are not as they were placed, escaped.
///
/// All of it counts as edited where the store has lost what it should be.
pub(super) fn edits(
    store: &Store,
    address: &ContentAddress,
    path: &Path,
) -> Result<Vec<String>, Error> {
    let Some(stored) = stored(store, address)? else { return Ok(vec![".".to_owned()]) };
    let problems = store.verify_copy(&stored.manifest, path)?;
    let mut files: Vec<String> =
        problems.into_iter().map(|TreeProblem { path, .. }| escape(&path)).collect();
    files.dedup();
    Ok(files)
}

/// The step that takes out what stands at `path`.
fn taking_out(name: &QualifiedName, path: &Path, before: Occupant) -> Step {
    Step {
        path: path.to_owned(),
        name: name.clone(),
        before: Some(before),
        after: None,
        merges: false,
        merged: None,
    }
}

/// The snapshot of which `target` is the path in a store, be it of another home, by its text alone.
fn snapshot_of_a_store(target: &Path) -> Option<ContentAddress> {
    let is_in_store = target.is_absolute()
        && target.parent().and_then(Path::file_name).is_some_and(|parent| parent == "snapshots");
    let digits = target.file_name()?.to_str()?.strip_prefix("sha256-")?;
    format!("sha256:{digits}").parse().ok().filter(|_| is_in_store)
}

/// Whether the `SKILL.md` of a directory gives itself the name of a skill.
fn calls_itself(path: &Path, name: &QualifiedName) -> bool {
    let mut bytes = Vec::new();
    let Ok(file) = regular_file::open(&path.join("SKILL.md")) else { return false };
    let is_read = file.take(MAX_SKILL_FILE_BYTES).read_to_end(&mut bytes).is_ok();
    is_read && skill::parse(&bytes, "SKILL.md").is_ok_and(|file| file.name == name.name().as_str())
}

/// That something else stands where a skill is to be. Whoever makes what a lockfile says cannot give
/// the skill another name.
fn occupied(path: &Path, what: &str, name: &QualifiedName, is_locked: bool) -> Error {
    let shown = escape(&path.to_string_lossy());
    let mut hint = match split(path) {
        Ok((_, directory)) if !is_locked => format!(
            "move it away, or give `{name}` another name: `skillpkg install {name} --as {directory}-2`"
        ),
        _ => "move it away, and run this again".to_owned(),
    };
    if path.join("SKILL.md").is_file() {
        hint = format!(
            "`skillpkg adopt` takes over what is exactly a published version, and tells how another \
             differs; or {hint}"
        );
    }
    let message = format!("`{shown}` is {what} that skillpkg did not place; it is left alone");
    Error::new(Kind::Refused, "destination_occupied", message).with_hint(hint)
}
