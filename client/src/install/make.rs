//! Makes a project what a goal says: finds, fetches, verifies, asks, places; all of it or nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use skillpkg_schema::QualifiedName;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::finding::Findings;
use skillpkg_schema::signature::KeyId;
use url::Url;

use super::approval;
use super::attend::Attendant;
use super::change::Change;
use super::commit::commit;
use super::directories::Directories;
use super::folders::Folders;
use super::goal::{Goal, Kept, Report};
use super::job::Job;
use super::placement::{Placing, Target};
use super::preparation::prepare_all;
use super::prepare::Prepared;
use super::session::Session;
use super::signer;
use super::source::{self, Lost};
use crate::agents::Reach;
use crate::parallel::{self, ended_early};
use crate::policy::Policy;
use crate::project::{LOCK_FILE, PROJECT_FILE, Wanted};
use crate::state::{Provenance, Signers};
use crate::trust::{Standings, now};
use crate::{Error, Kind, real_path};

/// Makes the project what the goal says.
///
/// Until the journal is written nothing that anybody sees has changed: the store may hold more, and
/// that is all.
pub(super) async fn make(
    session: &Session<'_>,
    goal: Goal,
    attendant: &mut dyn Attendant,
) -> Result<Report, Error> {
    // Whoever only removes something decides nothing.
    let policy = if goal.skills.is_empty() {
        Policy::default()
    } else {
        let project = session.files.project_text.as_deref();
        Policy::with_project(session.settings, project)?
    };
    let names = goal.skills.iter().map(|skill| &skill.wanted.name);
    let names = names.chain(goal.removed.iter().filter(|name| is_unplaced(session, name)));
    let directories = Directories::choose(session, names)?.with(goal.beside.clone());
    let before = session.state.signers()?;
    let (jobs, lost) = source::find(session, &goal, &policy, &before, attendant).await?;
    check_names(session, &goal)?;
    tell_standing(&jobs, attendant);
    let prepared = prepare_all(session, &jobs, policy, attendant).await?;
    let base = session.base();
    let mut folders = Folders::new(&base, &session.store);
    let mut placing = Placing {
        leaving: &goal.removed,
        adopted: Some(&goal.adopted),
        merge_edits: goal.is_update && session.options.merge_edits,
        ..Placing::of(session, &mut folders)
    };
    let mut report = Report { removed: removed(session, &goal), ..Report::default() };
    report.kept.extend(lost.into_iter().map(|lost| unreachable(session, lost)));
    let (mut going, mut plans) = (Vec::new(), Vec::new());
    for (job, one) in jobs.into_iter().zip(prepared) {
        let plan = if job.goal.visible {
            placing.place(&Target {
                name: &one.manifest().name,
                directory_name: job.goal.wanted.directory_name(),
                address: one.address,
                directories: &directories.of(&one.manifest().name)?,
                placement: directories.placement(),
                change_placement: session.options.copy,
            })
        } else {
            let name = &one.manifest().name;
            placing.remove(name, &came_with(session, &directories, name)?)
        };
        match plan {
            Ok(plan) => {
                report.has_edits |= !plan.kept.is_empty();
                plans.push(plan);
                going.push((job, one));
            }
            // One copy that its user edited does not keep the other skills from moving on.
            Err(error) if goal.is_update && error.code == "edited" => {
                report.kept.push(kept(session, &one, error.message));
            }
            Err(error) => return Err(error),
        }
    }
    let (jobs, mut prepared): (Vec<Job>, Vec<Prepared>) = going.into_iter().unzip();
    let signers = compare_signers(session, &before, &jobs, &mut prepared, attendant)?;
    approval::ask(session, &signers, &jobs, &prepared, goal.is_update, attendant)?;

    let going = prepared.iter().map(|one| &one.manifest().name);
    let mut change = Change::of(session, going.chain(&goal.removed));
    if jobs.iter().any(|job| job.goal.visible) {
        change.remember_agents(directories.to_remember());
        if let Some(unserved) = directories.unserved() {
            attendant.tell(&unserved);
        }
    }
    for ((job, one), plan) in jobs.iter().zip(&prepared).zip(plans) {
        report.skills.push(change.put(session, job, one, plan, attendant)?);
    }
    for name in &goal.removed {
        let plan = placing.remove(name, &came_with(session, &directories, name)?)?;
        change.remove(session, name, plan, attendant)?;
    }
    report.skills.sort_by_cached_key(|skill| skill.locked.name.to_string());

    let asked = jobs.iter().filter(|job| job.is_asked);
    let asked = asked.filter_map(|job| Some((job.registry()?, &job.goal.wanted.name)));
    Standings::asked(&session.settings.home, asked, now())?;
    let journal = change.into_journal(session);
    report.rewrote_project = journal.as_ref().is_some_and(|journal| journal.project.is_some());
    let is_new = prepared.iter().any(|one| one.is_new || one.checked.is_some());
    if is_new {
        sync_and_approve(session, &signers, &jobs, &prepared)?;
    }
    if *signers != before {
        let signers = signers.into_owned();
        session.state.change_signers(|now| now.take_over(signers, &before))?;
    }
    if let Some(journal) = journal {
        let is_new = journal.project.as_ref().is_some_and(|change| change.before.is_none());
        let committed = commit(&session.state, &session.directory, folders, journal)?;
        committed.tell(attendant);
        report.merged = committed.merged;
        if is_new && session.options.reach == Reach::Project {
            tell_new_project(session, attendant);
        }
    }
    Ok(report)
}

/// Tells that a directory is a project from now on: whoever stands in another than they think finds
/// out.
fn tell_new_project(session: &Session<'_>, attendant: &mut dyn Attendant) {
    let root = escape(&session.root().to_string_lossy());
    attendant.tell(&format!("made `{PROJECT_FILE}` and `{LOCK_FILE}` in `{root}`"));
    let home = &session.settings.user_home;
    let home = real_path::of(home).unwrap_or_else(|_| home.clone());
    if session.root() == home {
        attendant.warn(&format!(
            "`{root}` is your home directory: its `{PROJECT_FILE}` counts there alone, and in no \
             directory beneath it; `skillpkg install --global` is for all your projects, and \
             `skillpkg remove` takes these out again"
        ));
    }
}

/// Tells what is said against what is about to be had, and what was passed over for it.
fn tell_standing(jobs: &[Job], attendant: &mut dyn Attendant) {
    for job in jobs {
        for passed_over in &job.passed_over {
            attendant.warn(passed_over);
        }
        for advisory in &job.advisories {
            attendant.warn(advisory);
        }
        if let Some(reason) = &job.yanked {
            let (name, reason) = (&job.goal.wanted.name, escape(reason));
            attendant.warn(&format!("this version of `{name}` was yanked: {reason}"));
        }
        if let Some((version, reason)) = &job.moved_from {
            let (name, reason) = (&job.goal.wanted.name, escape(reason));
            attendant.warn(&format!("`{name}` {version} was yanked: {reason}"));
        }
    }
}

/// Takes skills out of the sight of agents, and leaves both of the project's files alone.
pub(super) fn hide(
    session: &Session<'_>,
    names: &[QualifiedName],
    attendant: &mut dyn Attendant,
) -> Result<(), Error> {
    let base = session.base();
    let mut folders = Folders::new(&base, &session.store);
    let mut placing = Placing::of(session, &mut folders);
    let mut change = Change::of(session, names);
    let unplaced = names.iter().filter(|name| is_unplaced(session, name));
    let directories = Directories::choose(session, unplaced)?;
    for name in names {
        let plan = placing.remove(name, &came_with(session, &directories, name)?)?;
        change.hide(session, name, plan, attendant);
    }
    match change.into_journal(session) {
        Some(journal) => {
            commit(&session.state, &session.directory, folders, journal)?.tell(attendant);
            Ok(())
        }
        None => Ok(()),
    }
}

/// Whether a skill is locked, and nothing was ever placed of it from here: what stands in its place
/// may have come with the project.
fn is_unplaced(session: &Session<'_>, name: &QualifiedName) -> bool {
    let remembered = &session.remembered;
    session.files.lock.skill(name).is_some()
        && remembered.active(name).is_none()
        && !remembered.inactive.contains(name)
        && remembered.placed_of(name).next().is_none()
}

/// Where what came with the project may stand of a skill of which nothing was placed from here.
fn came_with(
    session: &Session<'_>,
    directories: &Directories<'_>,
    name: &QualifiedName,
) -> Result<Vec<PathBuf>, Error> {
    if !is_unplaced(session, name) {
        return Ok(Vec::new());
    }
    let wanted = session.files.project.skill(name);
    let directory_name = wanted.map_or_else(|| name.name(), Wanted::directory_name);
    let places = directories.of(name)?.into_iter();
    Ok(places.map(|(directory, _)| directory.join(directory_name.as_str())).collect())
}

fn kept(session: &Session<'_>, prepared: &Prepared, reason: String) -> Kept {
    let name = prepared.manifest().name.clone();
    let version = session.files.lock.skill(&name).map(|locked| locked.version.clone());
    Kept { name, version, offered: Some(prepared.manifest().version.clone()), reason }
}

/// That a skill stays as it is, since its registry does not have it any more.
fn unreachable(session: &Session<'_>, Lost { name, error }: Lost) -> Kept {
    let version = session.files.lock.skill(&name).map(|locked| locked.version.clone());
    let reason = match error.hint {
        Some(hint) => format!("{}: {hint}", error.message),
        None => error.message,
    };
    Kept { name, version, offered: None, reason }
}

fn removed(
    session: &Session<'_>,
    goal: &Goal,
) -> Vec<(QualifiedName, Option<skillpkg_schema::Version>)> {
    let version = |name| session.files.lock.skill(name).map(|locked| locked.version.clone());
    goal.removed.iter().map(|name| (name.clone(), version(name))).collect()
}

/// Two skills of one project cannot be seen under one name.
fn check_names(session: &Session<'_>, goal: &Goal) -> Result<(), Error> {
    let mut taken: BTreeMap<&str, &QualifiedName> = BTreeMap::new();
    let stays = |wanted: &&Wanted| {
        !goal.removed.contains(&wanted.name)
            && !goal.skills.iter().any(|skill| skill.wanted.name == wanted.name)
    };
    let staying = session.files.project.skills.iter().filter(stays);
    for wanted in staying.chain(goal.skills.iter().map(|skill| &skill.wanted)) {
        let directory = wanted.directory_name().as_str();
        if let Some(other) = taken.insert(directory, &wanted.name)
            && *other != wanted.name
        {
            let message =
                format!("`{}` and `{other}` would both be seen as `{directory}`", wanted.name);
            let hint = format!(
                "give one of them another name: `skillpkg install {} --as {}-{directory}`",
                wanted.name,
                wanted.name.scope().map_or("other", skillpkg_schema::Scope::as_str),
            );
            return Err(Error::new(Kind::Refused, "name_taken", message).with_hint(hint));
        }
    }
    Ok(())
}

/// Waits for the disk, and remembers meanwhile that what agents are about to see was approved: an
/// approval holds whatever becomes of the install.
fn sync_and_approve(
    session: &Session<'_>,
    signers: &Signers,
    jobs: &[Job],
    prepared: &[Prepared],
) -> Result<(), Error> {
    let store = &session.store;
    std::thread::scope(|scope| {
        let syncing = std::thread::Builder::new().spawn_scoped(scope, || store.sync());
        approve(session, signers, jobs, prepared)?;
        match syncing {
            Ok(syncing) => Ok(syncing.join().map_err(|_| ended_early())??),
            Err(_) => Ok(store.sync()?),
        }
    })
}

/// Remembers that what agents are about to see was approved.
fn approve(
    session: &Session<'_>,
    signers: &Signers,
    jobs: &[Job],
    prepared: &[Prepared],
) -> Result<(), Error> {
    let checked: Vec<(&Job, &Prepared)> =
        jobs.iter().zip(prepared).filter(|(_, one)| one.checked.is_some()).collect();
    let state = &session.state;
    let approved = parallel::map(&checked, |(job, one)| {
        if state.is_approved(&one.address)? {
            return Ok(());
        }
        let (name, registry) = (&one.manifest().name, job.registry());
        let none = Findings::default();
        let findings = one.checked.as_ref().map_or(&none, |checked| &checked.findings);
        let from = Provenance::new(registry, pinned_keys(signers, registry, one));
        state.approve(name, &one.manifest().version, &one.address, &from, findings)
    })?;
    approved.into_iter().collect()
}

/// The signers as they are to be pinned.
fn compare_signers<'b>(
    session: &Session<'_>,
    before: &'b Signers,
    jobs: &[Job],
    prepared: &mut [Prepared],
    attendant: &mut dyn Attendant,
) -> Result<Cow<'b, Signers>, Error> {
    let mut signers = Cow::Borrowed(before);
    let mut firsts = Vec::new();
    for (job, one) in jobs.iter().zip(prepared) {
        let registry = job.registry();
        // Its key is among those that are pinned, or it would not have come from the store.
        if registry.is_some() && job.expected.is_settled() {
            continue;
        }
        let (name, accept) = (&one.manifest().name, session.options.accept_signer);
        let first =
            signer::compare(signers.to_mut(), registry, name, &one.vouching, accept, attendant)?;
        firsts.extend(first.map(|who| (name.clone(), who)));
        // What a lockfile does not name yet, it is to name by a key that is pinned.
        if job.expected.key.is_none() {
            let pinned = pinned_keys(&signers, registry, one);
            one.vouching.sort_by_key(|candidate| !pinned.contains(&candidate.key.id()));
        }
    }
    signer::tell_firsts(&firsts, attendant);
    Ok(signers)
}

/// Those of the keys that vouch for a skill that are pinned for it.
fn pinned_keys(signers: &Signers, registry: Option<&Url>, prepared: &Prepared) -> Vec<KeyId> {
    let pinned = signers.pinned(registry, &prepared.manifest().name);
    let vouching = prepared.vouching.iter().map(|candidate| candidate.key.id());
    vouching.filter(|key| pinned.is_some_and(|pinned| pinned.keys.contains(key))).collect()
}
