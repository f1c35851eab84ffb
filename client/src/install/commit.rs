//! Makes a change to a project: all of it, or nothing.
//!
//! Everything that can fail for want of room or rights is made beside its place first. Then the
//! change is written down, and from there on it is renames alone. A failure among them takes back
//! what was done; a kill among them leaves the journal, and whoever opens the project next finishes
//! the change (see [`super::recover`]).

use std::path::{Path, PathBuf};

use skillpkg_schema::diagnostic::escape;

use super::attend::Attendant;
use super::folder::Merging;
use super::folders::{Folders, Staged};
use super::kept::KeptCopy;
use crate::Error;
use crate::merge::MergedCopy;
use crate::project::{LOCK_FILE, PROJECT_FILE, ProjectDirectory};
use crate::state::{Journal, Placement, ProjectState, State, TextChange};

/// What was done otherwise than it was planned, and what became of the edits of copies that something
/// else took the place of.
#[derive(Debug, Default)]
pub(super) struct Committed {
    /// Places of copies where a link was to be.
    copied: Vec<PathBuf>,
    /// Copies into which edits were merged.
    pub(super) merged: Vec<MergedCopy>,
    /// Copies that were edited while the change was prepared: where they stood, and where they lie.
    kept: Vec<(PathBuf, PathBuf)>,
}

impl Committed {
    /// Tells what nobody asked for: copies in the place of links, and copies that were kept.
    pub(super) fn tell(&self, attendant: &mut dyn Attendant) {
        for path in &self.copied {
            let path = escape(&path.to_string_lossy());
            attendant.warn(&format!("`{path}` is a copy: no link can be made there"));
        }
        for (path, kept) in &self.kept {
            let (path, kept) = (escape(&path.to_string_lossy()), escape(&kept.to_string_lossy()));
            attendant.warn(&format!(
                "`{path}` was edited while it was replaced; as it was then, it lies in `{kept}`"
            ));
        }
    }
}

/// Makes the change, in the directories in which it was planned. Whoever calls holds the project's
/// lock, and has synced the store.
///
/// Where a link cannot be made, a copy is placed, and the journal and what is remembered say so.
///
/// A copy that is taken out is looked at once more when nobody finds it at its place any longer: one
/// that holds edits is moved beneath `edits`, and never removed, unless its edits are discarded.
pub(super) fn commit(
    state: &State,
    directory: &ProjectDirectory,
    mut folders: Folders<'_>,
    mut journal: Journal,
) -> Result<Committed, Error> {
    let staged = stage(&mut folders, directory, &mut journal).and_then(|staged| {
        end_here()?;
        state.begin(directory.root(), &journal)?;
        Ok(staged)
    });
    let (merging, copied) = match staged {
        Ok(staged) => staged,
        Err(error) => {
            if !is_end(&error) {
                folders.give_up();
                unstage(directory);
            }
            return Err(error);
        }
    };
    let mut made = Made::default();
    match make(&mut folders, state, directory, &journal, &mut made) {
        Ok(()) => {
            let kept = match folders.keep_edits(&journal.steps) {
                Err(error) if !is_end(&error) => return Err(error.with_hint(FINISHES)),
                kept => kept?,
            };
            killed_here()?;
            // What cannot be removed is ours by its name, and goes with the next change there.
            let _ = folders.clear();
            killed_here()?;
            state.end(directory.root())?;
            Ok(Committed { copied, ..committed(&journal, &merging, kept) })
        }
        Err(error) if is_end(&error) => Err(error),
        Err(error) => {
            let taken = take_back(&mut folders, state, directory, &journal, &made);
            let kept = taken.and_then(|()| folders.keep_edits(&journal.steps));
            let Ok(kept) = kept.and_then(|kept| state.end(directory.root()).map(|()| kept)) else {
                return Err(error.with_hint(FINISHES));
            };
            folders.give_up();
            unstage(directory);
            Err(match kept.first() {
                Some(one) => error.with_hint(format!(
                    "what was edited meanwhile lies in `{}`",
                    escape(&one.kept.to_string_lossy())
                )),
                None => error,
            })
        }
    }
}

/// What to do about a change that could not be made whole.
const FINISHES: &str = "the change is half made; once this is mended, the next command finishes it";

fn committed(journal: &Journal, merging: &[Merging], kept: Vec<KeptCopy>) -> Committed {
    let mut committed = Committed::default();
    for one in kept {
        let merging = merging.iter().find(|merging| merging.path == one.path);
        let step = journal.steps.iter().find(|step| step.path == one.path);
        let Some((merging, step)) = merging.zip(step) else {
            committed.kept.push((one.path, one.kept));
            continue;
        };
        let missed = match &one.picture {
            Some(last) => merging.seen.differing(last),
            None => vec![Path::new(".")],
        };
        committed.merged.push(MergedCopy {
            name: step.name.clone(),
            missed: missed.into_iter().map(|path| escape(&path.to_string_lossy())).collect(),
            path: one.path,
            kept: one.kept,
            merged: merging.made.merged.clone(),
            conflicts: merging.made.conflicts.clone(),
        });
    }
    committed
}

/// How much of a change is made.
#[derive(Debug, Default)]
struct Made {
    steps: usize,
    texts: usize,
    /// What was remembered before, once that is something else.
    remembered: Option<ProjectState>,
}

/// What becomes of the project's files, in the order in which that is made.
fn texts(journal: &Journal) -> Vec<(&'static str, &TextChange)> {
    let project = journal.project.as_ref().map(|change| (PROJECT_FILE, change));
    let lock = journal.lock.as_ref().map(|change| (LOCK_FILE, change));
    project.into_iter().chain(lock).collect()
}

fn stage(
    folders: &mut Folders<'_>,
    directory: &ProjectDirectory,
    journal: &mut Journal,
) -> Result<(Vec<Merging>, Vec<PathBuf>), Error> {
    let Journal { steps, state, .. } = journal;
    let (mut merging, mut copied) = (Vec::new(), Vec::new());
    for step in steps {
        end_here()?;
        match folders.stage(step)? {
            Staged::AsPlanned => {}
            Staged::CopyInstead => {
                if let Some(after) = &mut step.after {
                    after.placement = Placement::Copy;
                }
                let placed = state.placed.iter_mut().filter(|placed| placed.path == step.path);
                placed.for_each(|placed| placed.placement = Placement::Copy);
                copied.push(step.path.clone());
            }
            Staged::Merged(staged) => {
                step.merged = Some(staged.merged);
                merging.push(*staged);
            }
        }
    }
    for (name, change) in texts(journal) {
        // The lockfile's is the last of the three syncs of an install: with it, on file systems that
        // keep the order of renames, everything before it is on disk too.
        directory.stage(name, &change.after, name == LOCK_FILE)?;
    }
    Ok((merging, copied))
}

fn make(
    folders: &mut Folders<'_>,
    state: &State,
    directory: &ProjectDirectory,
    journal: &Journal,
    made: &mut Made,
) -> Result<(), Error> {
    for step in &journal.steps {
        end_here()?;
        folders.make(step)?;
        made.steps += 1;
    }
    for (name, _) in texts(journal) {
        end_here()?;
        directory.publish(name)?;
        made.texts += 1;
    }
    end_here()?;
    let remembered = state.project(directory.root())?;
    state.set_project(directory.root(), &journal.state)?;
    made.remembered = Some(remembered);
    end_here()
}

/// Takes back what was made, in the opposite order.
fn take_back(
    folders: &mut Folders<'_>,
    state: &State,
    directory: &ProjectDirectory,
    journal: &Journal,
    made: &Made,
) -> Result<(), Error> {
    if let Some(remembered) = &made.remembered {
        state.set_project(directory.root(), remembered)?;
    }
    for (name, change) in texts(journal).into_iter().take(made.texts).rev() {
        match &change.before {
            Some(before) => {
                directory.stage(name, before, false)?;
                directory.publish(name)?;
            }
            None => directory.remove(name)?,
        }
    }
    for step in journal.steps.iter().take(made.steps).rev() {
        folders.take_back(step)?;
    }
    Ok(())
}

fn unstage(directory: &ProjectDirectory) {
    directory.unstage(PROJECT_FILE);
    directory.unstage(LOCK_FILE);
}

#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "in tests a run can end at any of these places")]
fn end_here() -> Result<(), Error> {
    Ok(())
}

#[cfg(not(test))]
fn is_end(_: &Error) -> bool {
    false
}

/// As [`end_here`], where nothing that can fail is left to take back: only a kill matters.
pub(super) fn killed_here() -> Result<(), Error> {
    end_here().or_else(|error| if is_end(&error) { Err(error) } else { Ok(()) })
}

#[cfg(test)]
pub(super) use ends::{Ending, end_after, end_here, is_end, meanwhile_after};

/// Ends a run at a chosen place.
#[cfg(test)]
mod ends {
    use std::cell::{Cell, RefCell};

    use crate::{Error, Kind};

    /// How a run ends.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(in crate::install) enum Ending {
        /// As by a kill: nothing more is done.
        Kill,
        /// By a failure, once.
        Failure,
    }

    /// What somebody else does.
    type Deed = Box<dyn FnOnce()>;

    thread_local! {
        static REMAINING: Cell<Option<(usize, Ending)>> = const { Cell::new(None) };
        static MEANWHILE: RefCell<Option<(usize, Deed)>> = const { RefCell::new(None) };
    }

    /// Has somebody else do something once this thread has passed some places; answers whether an
    /// earlier deed is still undone.
    pub(in crate::install) fn meanwhile_after(deed: Option<(usize, Deed)>) -> bool {
        MEANWHILE.replace(deed).is_some()
    }

    fn meanwhile() {
        let Some((more, deed)) = MEANWHILE.take() else { return };
        match more.checked_sub(1) {
            Some(more) => MEANWHILE.set(Some((more, deed))),
            None => deed(),
        }
    }

    /// Lets this thread pass some places, then ends its run; [`None`] lets it pass all.
    pub(in crate::install) fn end_after(places: Option<(usize, Ending)>) {
        REMAINING.set(places);
    }

    pub(in crate::install) fn end_here() -> Result<(), Error> {
        meanwhile();
        let Some((more, ending)) = REMAINING.get() else { return Ok(()) };
        if let Some(more) = more.checked_sub(1) {
            REMAINING.set(Some((more, ending)));
            return Ok(());
        }
        let code = match ending {
            Ending::Kill => "ended",
            Ending::Failure => {
                REMAINING.set(None);
                "failed_here"
            }
        };
        Err(Error::new(Kind::Failed, code, "the run ended here"))
    }

    pub(in crate::install) fn is_end(error: &Error) -> bool {
        error.code == "ended"
    }
}
