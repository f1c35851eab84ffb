//! Makes a change to a project: all of it, or nothing.
//!
//! Everything that can fail for want of room or rights is made beside its place first. Then the
//! change is written down, and from there on it is renames alone. A failure among them takes back
//! what was done; a kill among them leaves the journal, and whoever opens the project next finishes
//! the change (see [`super::recover`]).

use super::folders::Folders;
use crate::Error;
use crate::project::{LOCK_FILE, PROJECT_FILE, ProjectDirectory};
use crate::state::{Journal, ProjectState, State, TextChange};

/// Makes the change, in the directories in which it was planned. Whoever calls holds the project's
/// lock, and has synced the store.
pub(super) fn commit(
    state: &State,
    directory: &ProjectDirectory,
    mut folders: Folders<'_>,
    journal: &Journal,
) -> Result<(), Error> {
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
            // Nothing that can fail is left to take back: only a kill matters here.
            end_here().or_else(|error| if is_end(&error) { Err(error) } else { Ok(()) })?;
            state.end(directory.root())
        }
        Err(error) if is_end(&error) => Err(error),
        Err(error) => {
            let taken = take_back(&mut folders, state, directory, journal, &made);
            if taken.and_then(|()| state.end(directory.root())).is_err() {
                return Err(error.with_hint(
                    "the change is half made; once this is mended, the next command finishes it",
                ));
            }
            folders.give_up();
            unstage(directory);
            Err(error)
        }
    }
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
    journal: &Journal,
) -> Result<(), Error> {
    for step in &journal.steps {
        end_here()?;
        folders.stage(step)?;
    }
    for (name, change) in texts(journal) {
        // The lockfile's is the last of the three syncs of an install: with it, on file systems that
        // keep the order of renames, everything before it is on disk too.
        directory.stage(name, &change.after, name == LOCK_FILE)?;
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

#[cfg(test)]
pub(super) use ends::{Ending, end_after, end_here, is_end};

/// Ends a run at a chosen place.
#[cfg(test)]
mod ends {
    use std::cell::Cell;

    use crate::{Error, Kind};

    /// How a run ends.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(in crate::install) enum Ending {
        /// As by a kill: nothing more is done.
        Kill,
        /// By a failure, once.
        Failure,
    }

    thread_local! {
        static REMAINING: Cell<Option<(usize, Ending)>> = const { Cell::new(None) };
    }

    /// Lets this thread pass some places, then ends its run; [`None`] lets it pass all.
    pub(in crate::install) fn end_after(places: Option<(usize, Ending)>) {
        REMAINING.set(places);
    }

    pub(in crate::install) fn end_here() -> Result<(), Error> {
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
