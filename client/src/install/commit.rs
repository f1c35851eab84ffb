//! Makes a change to a project: all of it, or nothing.
//!
//! Everything that can fail for want of room or rights is made beside its place first. Then the
//! change is written down, and from there on it is renames alone. A failure among them takes back
//! what was done; a kill among them leaves the journal, and whoever opens the project next finishes
//! the change (see [`super::recover`]).

use skillpkg_store::content::Store;

use super::folder::Base;
use super::folders::Folders;
use crate::Error;
use crate::project::{LOCK_FILE, PROJECT_FILE, ProjectDirectory};
use crate::state::{Journal, State, TextChange};

/// Makes the change. Whoever calls holds the project's lock, and has synced the store.
pub(super) fn commit(
    state: &State,
    store: &Store,
    directory: &ProjectDirectory,
    base: &Base<'_>,
    journal: &Journal,
) -> Result<(), Error> {
    let mut folders = Folders::new(base, store);
    let staged = stage(&mut folders, directory, journal)
        .and_then(|()| end_here())
        .and_then(|()| state.begin(directory.root(), journal));
    if let Err(error) = staged {
        if !is_end(&error) {
            folders.give_up();
            unstage(directory);
        }
        return Err(error);
    }
    let mut made = Made::default();
    match make(&mut folders, state, directory, journal, &mut made) {
        Ok(()) => {
            // What cannot be removed is ours by its name, and goes with the next change there.
            let _ = folders.clear();
            end_here()?;
            state.end(directory.root())
        }
        Err(error) if is_end(&error) => Err(error),
        Err(error) => match take_back(&mut folders, directory, journal, &made) {
            Ok(()) => {
                folders.give_up();
                unstage(directory);
                state.end(directory.root())?;
                Err(error)
            }
            Err(_) => Err(error.with_hint(
                "the change is half made; once this is mended, the next command finishes it",
            )),
        },
    }
}

/// How much of a change is made.
#[derive(Debug, Default)]
struct Made {
    steps: usize,
    project: bool,
}

fn stage(
    folders: &mut Folders<'_>,
    directory: &ProjectDirectory,
    journal: &Journal,
) -> Result<(), Error> {
    for step in &journal.steps {
        end_here()?;
        folders.stage(step)?;
    }
    if let Some(TextChange { after, .. }) = &journal.project {
        directory.stage(PROJECT_FILE, after, false)?;
    }
    if let Some(TextChange { after, .. }) = &journal.lock {
        // The last of the three syncs of an install: with it, on file systems that keep the order
        // of renames, everything before it is on disk too.
        directory.stage(LOCK_FILE, after, true)?;
    }
    Ok(())
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
        folders.exchange(step)?;
        made.steps += 1;
    }
    end_here()?;
    if journal.project.is_some() {
        directory.publish(PROJECT_FILE)?;
        made.project = true;
    }
    end_here()?;
    // Nothing after the lockfile's rename needs to be taken back: the state is written before it.
    state.set_project(directory.root(), &journal.state)?;
    end_here()?;
    if journal.lock.is_some() {
        directory.publish(LOCK_FILE)?;
    }
    end_here()
}

/// Takes back what was made, in the opposite order.
fn take_back(
    folders: &mut Folders<'_>,
    directory: &ProjectDirectory,
    journal: &Journal,
    made: &Made,
) -> Result<(), Error> {
    if let Some(change) = journal.project.as_ref().filter(|_| made.project) {
        match &change.before {
            Some(before) => {
                directory.stage(PROJECT_FILE, before, false)?;
                directory.publish(PROJECT_FILE)?;
            }
            None => directory.remove(PROJECT_FILE)?,
        }
    }
    for step in journal.steps.iter().take(made.steps).rev() {
        folders.exchange(step)?;
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

#[cfg(test)]
pub(super) use ends::{end_after, end_here, is_end};

/// Ends a run at a chosen place, as a kill would: nothing is taken back.
#[cfg(test)]
mod ends {
    use std::cell::Cell;

    use crate::{Error, Kind};

    thread_local! {
        static REMAINING: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// Lets this thread pass `places` places; [`None`] for all.
    pub(in crate::install) fn end_after(places: Option<usize>) {
        REMAINING.set(places);
    }

    pub(in crate::install) fn end_here() -> Result<(), Error> {
        match REMAINING.get() {
            Some(0) => Err(Error::new(Kind::Failed, "ended", "the run ended here")),
            Some(more) => {
                REMAINING.set(Some(more - 1));
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub(in crate::install) fn is_end(error: &Error) -> bool {
        error.code == "ended"
    }
}
