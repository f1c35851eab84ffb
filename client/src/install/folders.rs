//! The agents' directories of one change, each opened once.

use std::path::{Path, PathBuf};

use skillpkg_schema::diagnostic::escape;
use skillpkg_store::content::{Store, StoreError};

use super::folder::{Base, Folder, Found};
use crate::adopt::FoundTree;
use crate::state::{Foreign, Occupant, Placement, Step};
use crate::{Error, Kind};

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
    pub(super) fn stage(&mut self, step: &Step) -> Result<(), Error> {
        let (parent, name) = split(&step.path)?;
        let store = self.store;
        let Some(after) = &step.after else {
            return self.existing(parent)?.map_or(Ok(()), Folder::stage_nothing);
        };
        match after.placement {
            Placement::Link => {
                self.created(parent)?.stage_link(name, &store.tree_path(&after.address))
            }
            Placement::Copy => {
                let stored = store.stored(&after.address)?;
                let stored = stored.ok_or(StoreError::Absent(after.address))?;
                self.created(parent)?.stage_copy(name, store, &stored.manifest)
            }
        }
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

/// The directory and the name of a path of the ledger.
pub(super) fn split(path: &Path) -> Result<(&Path, &str), Error> {
    path.parent().zip(path.file_name().and_then(|name| name.to_str())).ok_or_else(|| lost(path))
}

fn lost(path: &Path) -> Error {
    let shown = escape(&path.to_string_lossy());
    Error::new(Kind::Failed, "state_damaged", format!("`{shown}` is no place for a skill"))
}
