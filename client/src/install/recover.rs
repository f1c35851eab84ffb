//! Finishes a change that a kill cut short.

use skillpkg_schema::diagnostic::escape;
use skillpkg_store::content::Store;

use super::attend::Attendant;
use super::base::Base;
use super::commit::killed_here;
use super::folder::Found;
use super::folders::{Folders, Staged, split};
use super::kept::KeptCopy;
use crate::project::{LOCK_FILE, PROJECT_FILE, ProjectDirectory};
use crate::state::{Journal, ProjectState, State, Step, TextChange};
use crate::{Error, Kind};

/// Finishes a change that a kill cut short, and removes what one left that had not begun its
/// change; answers with what is remembered of the project then. Whoever calls holds the project's
/// lock.
///
/// Done again, it does nothing again: a kill in the midst of it loses nothing either.
pub(super) fn finish(
    state: &State,
    store: &Store,
    directory: &ProjectDirectory,
    base: &Base<'_>,
    attendant: &mut dyn Attendant,
) -> Result<ProjectState, Error> {
    let root = directory.root();
    let mut folders = Folders::new(base, store);
    let Some(journal) = state.journal(root)? else {
        directory.unstage(PROJECT_FILE);
        directory.unstage(LOCK_FILE);
        let remembered = state.project(root)?;
        tidy(&mut folders, &remembered)?;
        return Ok(remembered);
    };
    attendant.tell("finishing a change that was cut short");
    let Journal { steps, project, lock, state: mut remembered } = journal;
    let mut left = Vec::new();
    // What was merged was made of edits that stand there no longer once it is placed: it is staged
    // once, and what was taken out is moved before anything else is staged.
    for step in steps.iter().filter(|step| step.merged.is_some()) {
        if !folders.finish_merged(step)? {
            left.push(step);
        }
    }
    killed_here()?;
    let mut kept = folders.keep_edits(&steps)?;
    killed_here()?;
    folders.clear()?;
    killed_here()?;
    for step in &steps {
        let is_made = match step.merged {
            Some(_) => !left.contains(&step),
            None => finish_step(&mut folders, step)?,
        };
        if !is_made {
            let path = escape(&step.path.to_string_lossy());
            attendant.warn(&format!("`{path}` was changed by somebody else and is left alone"));
            forget(&mut remembered, step);
        }
    }
    for (name, change) in [(PROJECT_FILE, project), (LOCK_FILE, lock)] {
        if let Some(change) = change
            && !finish_text(directory, name, &change)?
        {
            attendant.warn(&format!("`{name}` was changed by somebody else and is left alone"));
        }
    }
    state.set_project(root, &remembered)?;
    killed_here()?;
    kept.extend(folders.keep_edits(&steps)?);
    tell_kept(base, &steps, &kept, attendant);
    state.end(root)?;
    folders.clear()?;
    state.project(root)
}

/// Tells where copies lie that were edited and that something else took the place of.
fn tell_kept(base: &Base<'_>, steps: &[Step], kept: &[KeptCopy], attendant: &mut dyn Attendant) {
    for KeptCopy { path, kept, .. } in kept {
        let (path, kept) = (escape(&path.to_string_lossy()), escape(&kept.to_string_lossy()));
        attendant.warn(&format!("`{path}`, as it was edited, lies in `{kept}`"));
    }
    let is_told = |step: &Step| kept.iter().any(|kept| kept.path == step.path);
    for step in steps.iter().filter(|step| step.merged.is_some() && !is_told(step)) {
        let path = escape(&step.path.to_string_lossy());
        let edits = escape(&base.edits.to_string_lossy());
        attendant.warn(&format!("`{path}`, as it was edited, lies beneath `{edits}`"));
    }
}

/// Removes staging directories of a run that was killed before it began its change.
fn tidy(folders: &mut Folders<'_>, remembered: &ProjectState) -> Result<(), Error> {
    for placed in &remembered.placed {
        if let Some(folder) = folders.existing(split(&placed.path)?.0)?
            && folder.has_left_over()
        {
            folder.clear()?;
        }
    }
    Ok(())
}

/// Makes one step unless it is made; says whether what stands there is as it is to be.
fn finish_step(folders: &mut Folders<'_>, step: &Step) -> Result<bool, Error> {
    let found = folders.look(&step.path)?;
    let is_made = match &step.after {
        Some(after) => folders.holds(&step.path, after)?,
        None => found == Found::Nothing,
    };
    if is_made {
        return Ok(true);
    }
    let before = match (&step.before, found) {
        (_, Found::Nothing) => None,
        (Some(before), _) if folders.holds(&step.path, before)? => Some(before.clone()),
        _ => return Ok(false),
    };
    let rest = Step { before, merges: false, ..step.clone() };
    match folders.stage(&rest) {
        Ok(Staged::AsPlanned | Staged::Merged(_)) => {}
        // A copy is not what is remembered; the next `sync` places it so.
        Ok(Staged::CopyInstead) => return Ok(false),
        // What the store lost since cannot be placed; the next `sync` fetches it.
        Err(error) if error.code == "not_found" || error.kind == Kind::Verification => {
            return Ok(false);
        }
        Err(error) => return Err(error),
    }
    folders.make(&rest)?;
    Ok(true)
}

fn forget(remembered: &mut ProjectState, step: &Step) {
    remembered.placed.retain(|placed| placed.path != step.path);
    if remembered.placed_of(&step.name).next().is_none() {
        remembered.active.retain(|active| active.name != step.name);
    }
}

fn finish_text(
    directory: &ProjectDirectory,
    name: &str,
    change: &TextChange,
) -> Result<bool, Error> {
    let found = directory.read_text(name)?;
    if found.as_ref() == Some(&change.after) {
        return Ok(true);
    }
    if found != change.before {
        return Ok(false);
    }
    directory.stage(name, &change.after, true)?;
    directory.publish(name)?;
    Ok(true)
}
