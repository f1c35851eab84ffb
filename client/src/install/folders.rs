//! The agents' directories of one change, each opened once.

use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use skillpkg_schema::diagnostic::escape;
use skillpkg_store::content::{Store, StoreError};

use super::base::Base;
use super::commit::killed_here;
use super::exchange::aside_of;
use super::folder::{Folder, Found, Merging, unmergeable};
use super::kept::KeptCopy;
use super::link::Linked;
use super::prepare::stored;
use crate::adopt::FoundTree;
use crate::merge::{MergeError, Picture};
use crate::project::io_error;
use crate::state::{Foreign, Occupant, Placement, Step};
use crate::{Error, Kind};

/// How what a step places was made.
#[derive(Debug)]
pub(super) enum Staged {
    /// As the step says.
    AsPlanned,
    /// A copy, since no link can be made there.
    CopyInstead,
    /// A copy into which edits were merged.
    Merged(Box<Merging>),
}

/// The agents' directories of one change, each opened once and held until it is made.
#[derive(Debug)]
pub(super) struct Folders<'a> {
    base: &'a Base<'a>,
    store: &'a Store,
    open: Vec<Folder>,
    /// Directories that were made for this change, outermost first.
    made: Vec<PathBuf>,
}

impl<'a> Folders<'a> {
    pub(super) fn new(base: &'a Base<'a>, store: &'a Store) -> Self {
        Self { base, store, open: Vec::new(), made: Vec::new() }
    }

    /// The directory at `path`; [`None`] where it is absent.
    pub(super) fn existing(&mut self, path: &Path) -> Result<Option<&mut Folder>, Error> {
        // As text: comparing the parts of a path costs more than all else that is done with most.
        let is_it = |folder: &Folder| folder.path().as_os_str() == path.as_os_str();
        if !self.open.iter().any(is_it) {
            self.open.extend(self.base.open(path)?);
        }
        Ok(self.open.iter_mut().find(|folder| is_it(folder)))
    }

    /// Where the directory at `path` lies, or will.
    pub(super) fn destination(path: &Path) -> PathBuf {
        Base::destination(path)
    }

    fn created(&mut self, path: &Path) -> Result<&mut Folder, Error> {
        if self.existing(path)?.is_none() {
            let (folder, made) = self.base.create(path)?;
            self.made.extend(made);
            self.open.push(folder);
        }
        self.existing(path)?.ok_or_else(|| lost(path))
    }

    /// What stands at `path`.
    pub(super) fn look(&mut self, path: &Path) -> Result<Found, Error> {
        let (parent, name) = split(path)?;
        self.existing(parent)?.map_or(Ok(Found::Nothing), |folder| folder.look(name))
    }

    /// Whether `occupant` stands at `path`: the link, or a copy as it was placed.
    pub(super) fn holds(&mut self, path: &Path, occupant: &Occupant) -> Result<bool, Error> {
        let found = self.look(path)?;
        if let Some(foreign) = &occupant.found {
            return Ok(match (found, foreign) {
                (Found::Link(target), Foreign::Link(said)) => target == *said,
                (Found::Directory, Foreign::Tree(fingerprint)) => {
                    FoundTree::read(path).is_ok_and(|tree| tree.fingerprint() == *fingerprint)
                }
                _ => false,
            });
        }
        Ok(match (found, occupant.placement) {
            (Found::Link(target), Placement::Link) => {
                target == self.store.tree_path(&occupant.address)
            }
            (Found::Directory, Placement::Copy) => {
                occupant.discard_edits
                    || match self.store.stored(&occupant.address)? {
                        Some(stored) => self.store.verify_copy(&stored.manifest, path)?.is_empty(),
                        None => false,
                    }
            }
            _ => false,
        })
    }

    /// Makes what a step places, beside its place.
    pub(super) fn stage(&mut self, step: &Step) -> Result<Staged, Error> {
        let (parent, name) = split(&step.path)?;
        let store = self.store;
        let Some(after) = &step.after else {
            self.existing(parent)?.map_or(Ok(()), Folder::stage_nothing)?;
            return Ok(Staged::AsPlanned);
        };
        let is_link = after.placement == Placement::Link;
        let tree = store.tree_path(&after.address);
        if is_link && self.created(parent)?.stage_link(name, &tree)? == Linked::Yes {
            return Ok(Staged::AsPlanned);
        }
        let stored = store.stored(&after.address)?;
        let now = stored.ok_or(StoreError::Absent(after.address))?.manifest;
        let folder = self.created(parent)?;
        folder.stage_copy(name, store, &now)?;
        if is_link {
            return Ok(Staged::CopyInstead);
        }
        let Some(before) = step.before.as_ref().filter(|_| step.merges) else {
            return Ok(Staged::AsPlanned);
        };
        let base = store.stored(&before.address)?;
        let base = base.ok_or_else(|| unmergeable(&step.path, &MergeError::NoBase))?.manifest;
        let merging = folder.merge_staged(name, store, base, &now)?;
        Ok(merging.map_or(Staged::AsPlanned, |merging| Staged::Merged(Box::new(merging))))
    }

    /// The directory that stands at `path`; [`None`] where none does.
    pub(super) fn copy_at(&mut self, path: &Path) -> Result<Option<Dir>, Error> {
        let (parent, name) = split(path)?;
        self.existing(parent)?.map_or(Ok(None), |folder| folder.copy_at(name))
    }

    /// Makes a step whose copy was staged with edits by a run that was killed, unless it is made;
    /// says whether a directory stands at its place then.
    pub(super) fn finish_merged(&mut self, step: &Step) -> Result<bool, Error> {
        let (parent, name) = split(&step.path)?;
        let Some(folder) = self.existing(parent)? else { return Ok(false) };
        folder.resume()?;
        let found = folder.look(name)?;
        let staged = folder.staged(name)?;
        let picture = staged.as_ref().map(Picture::of).transpose();
        let picture = picture.map_err(|error| io_error(&step.path, &error))?;
        // Nobody edits what is staged: where it is there, nothing was exchanged yet.
        let is_staged = picture.is_some_and(|picture| Some(picture.digest()) == step.merged);
        match found {
            Found::Directory | Found::Nothing if is_staged => {
                folder.exchange(name, found == Found::Directory, true)?;
                Ok(true)
            }
            found => Ok(found == Found::Directory),
        }
    }

    /// Moves what was taken out and holds edits to where it is kept. What is as it was placed, and
    /// what is discarded, stays where it goes with the rest.
    ///
    /// Done again after a crash, it moves what was not moved yet.
    pub(super) fn keep_edits(&mut self, steps: &[Step]) -> Result<Vec<KeptCopy>, Error> {
        let (store, edits) = (self.store, &self.base.edits);
        let mut all = Vec::new();
        for step in steps {
            if step.before.as_ref().is_some_and(|before| before.discard_edits) {
                continue;
            }
            let (parent, name) = split(&step.path)?;
            let Some(folder) = self.existing(parent)? else { continue };
            folder.resume()?;
            for name in [name, &aside_of(name)] {
                let Some(copy) = folder.staged(name)? else { continue };
                // What cannot be read through is kept too.
                let picture = Picture::of(&copy).ok();
                let place = folder.staged_path(name);
                if let Some(picture) = &picture
                    && (is_as_found(step, &place) || is_as_placed(store, step, picture)?)
                {
                    continue;
                }
                killed_here()?;
                let kept = folder.keep(name, edits, &label(store, step)?)?;
                all.push(KeptCopy { path: step.path.clone(), kept, picture });
            }
        }
        Ok(all)
    }

    /// Makes a step that was staged.
    pub(super) fn make(&mut self, step: &Step) -> Result<(), Error> {
        // What another tool placed may have been edited since it was looked at: a person may have
        // been asked meanwhile.
        if let Some(before) = step.before.as_ref().filter(|before| before.found.is_some())
            && !self.holds(&step.path, before)?
        {
            let shown = escape(&step.path.to_string_lossy());
            let message = format!("`{shown}` was changed since it was looked at, and is kept");
            return Err(Error::new(Kind::Refused, "edited", message)
                .with_hint("run this again: it looks at it anew"));
        }
        self.exchange(&step.path, step.before.is_some(), step.after.is_some())
    }

    /// Takes back a step that was made.
    pub(super) fn take_back(&mut self, step: &Step) -> Result<(), Error> {
        self.exchange(&step.path, step.after.is_some(), step.before.is_some())
    }

    fn exchange(&mut self, path: &Path, is_there: bool, is_staged: bool) -> Result<(), Error> {
        let (parent, name) = split(path)?;
        match self.existing(parent)? {
            Some(folder) => folder.exchange(name, is_there, is_staged),
            None => Ok(()),
        }
    }

    /// Removes what was taken out of each directory.
    pub(super) fn clear(&mut self) -> Result<(), Error> {
        let cleared: Vec<Result<(), Error>> = self.open.iter_mut().map(Folder::clear).collect();
        cleared.into_iter().collect()
    }

    /// Removes what was made for a change that is not made after all.
    pub(super) fn give_up(mut self) {
        // Each is worth trying, and the failure that led here is what is told.
        let _ = self.clear();
        drop(std::mem::take(&mut self.open));
        for directory in self.made.iter().rev() {
            let _ = std::fs::remove_dir(directory);
        }
    }
}

/// Whether a directory that was taken out is what another tool placed, as it was taken over.
fn is_as_found(step: &Step, place: &Path) -> bool {
    match step.before.as_ref().and_then(|before| before.found.as_ref()) {
        Some(Foreign::Tree(fingerprint)) => {
            FoundTree::read(place).is_ok_and(|tree| tree.fingerprint() == *fingerprint)
        }
        _ => false,
    }
}

/// Whether a copy that was taken out, or staged, is one that we made and nobody edited. Where edits
/// were merged, the one that held them is not, whatever became of it since.
fn is_as_placed(store: &Store, step: &Step, picture: &Picture) -> Result<bool, Error> {
    if step.merged == Some(picture.digest()) {
        return Ok(true);
    }
    let is_ours = |before: &&Occupant| step.merged.is_none() && before.found.is_none();
    let before = step.before.as_ref().filter(is_ours);
    for occupant in before.into_iter().chain(&step.after) {
        if occupant.placement == Placement::Copy
            && let Some(stored) = stored(store, &occupant.address)?
            && Picture::of_snapshot(&stored.manifest) == *picture
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What the copy that a step takes out is called where it is kept.
fn label(store: &Store, step: &Step) -> Result<String, Error> {
    let name = step.name.to_string().replace('/', "-");
    let stored = match &step.before {
        Some(before) => stored(store, &before.address)?,
        None => None,
    };
    Ok(stored.map_or_else(|| name.clone(), |one| format!("{name}-{}", one.manifest.version)))
}

/// The directory and the name of a path of the ledger.
pub(super) fn split(path: &Path) -> Result<(&Path, &str), Error> {
    path.parent().zip(path.file_name().and_then(|name| name.to_str())).ok_or_else(|| lost(path))
}

fn lost(path: &Path) -> Error {
    let shown = escape(&path.to_string_lossy());
    Error::new(Kind::Failed, "state_damaged", format!("`{shown}` is no place for a skill"))
}
