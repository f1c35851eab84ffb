//! All skills of a goal brought into the store and checked, several at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _};
use tokio::sync::Semaphore;

use super::attend::{Attendant, Progress};
use super::index::Index;
use super::job::{Job, Origin};
use super::prepare::{Archive, Expected, Prepared, Shared, is_lost, prepare};
use super::session::Session;
use crate::meter::Part;
use crate::parallel::{self, ended_early};
use crate::policy::{Policy, both, is_refusal};
use crate::project::Source;
use crate::runner::RunnerSet;
use crate::trust::{Notice, Places};
use crate::{Error, Kind};

/// Most skills that are fetched and verified at once.
const AT_ONCE: usize = 12;
/// Most KiB of archives in memory at once; one archive is never more.
const KIB_AT_ONCE: u32 = 128 * 1024;

/// Prepares every skill, in the order of the jobs; what is here first, and the rest as it comes.
pub(super) async fn prepare_all(
    session: &Session<'_>,
    jobs: &[Job],
    policy: Policy,
    attendant: &mut dyn Attendant,
) -> Result<Vec<Prepared>, Error> {
    let shared = Shared {
        settings: Arc::new(session.settings.clone()),
        runners: RunnerSet::configured(session.settings)?,
        policy: Arc::new(policy),
        store: session.store.clone(),
        lease: Arc::clone(&session.lease),
    };
    let total = jobs.len();
    // All of it from the start, so that what there is to do does not grow while it is done.
    let meter = attendant.meter();
    let parts: Vec<Part> = jobs.iter().map(|job| meter.part(size_of(job))).collect();
    let memory = Semaphore::new(KIB_AT_ONCE as usize);
    attendant.progress(Progress { done: 0, total });
    let here = prepare_stored(&shared, jobs)?;
    let is_here: BTreeSet<usize> = here.iter().map(|(position, _)| *position).collect();
    let mut running = stream::iter(
        jobs.iter().zip(&parts).enumerate().filter(|(at, _)| !is_here.contains(at)).map(
            |(position, (job, part))| {
                let (shared, memory) = (shared.clone(), &memory);
                async move { (position, prepare_one(shared, memory, job, part).await) }
            },
        ),
    )
    .buffer_unordered(AT_ONCE);
    let mut done: Vec<(usize, Prepared)> = Vec::with_capacity(total);
    let mut take = |position, prepared: Prepared, attendant: &mut dyn Attendant| {
        for notice in &prepared.repaired {
            attendant.warn(&format!("`{}`: {notice}", prepared.manifest().name));
        }
        done.push((position, prepared));
        attendant.progress(Progress { done: done.len(), total });
    };
    // What is missing on this machine, and what a policy forbids, is told of all skills at once, and
    // not one a try.
    let mut missing: Vec<(usize, Error)> = Vec::new();
    let mut forbidden: Vec<(usize, Error)> = Vec::new();
    for (position, prepared) in here {
        match prepared {
            Ok(prepared) => take(position, prepared, attendant),
            Err(error) if is_refusal(&error) => forbidden.push((position, error)),
            Err(error) => missing.push((position, error)),
        }
    }
    while let Some((position, prepared)) = running.next().await {
        match prepared {
            Ok(prepared) => take(position, prepared, attendant),
            Err(error) if error.kind == Kind::Requirement => missing.push((position, error)),
            Err(error) if is_refusal(&error) => forbidden.push((position, error)),
            Err(error) => return Err(error),
        }
    }
    forbidden.sort_by_key(|(position, _)| *position);
    if let Some(error) = forbidden.into_iter().map(|(_, error)| error).reduce(both) {
        return Err(error);
    }
    missing.sort_by_key(|(position, _)| *position);
    if let Some(error) = missing.into_iter().map(|(_, error)| error).reduce(Error::and) {
        return Err(error);
    }
    done.sort_by_key(|(position, _)| *position);
    Ok(done.into_iter().map(|(_, prepared)| prepared).collect())
}

/// A skill of a goal by its position, or what is missing on this machine for it.
type Here = (usize, Result<Prepared, Error>);

/// Prepares what the store has. What the store turns out to have lost is left out.
fn prepare_stored(shared: &Shared, jobs: &[Job]) -> Result<Vec<Here>, Error> {
    let stored: Vec<(usize, &Expected)> = jobs
        .iter()
        .enumerate()
        .filter(|(_, job)| matches!(job.origin, Origin::Store))
        .map(|(position, job)| (position, &job.expected))
        .collect();
    // Of what is settled so little is left to do that another thread would cost more.
    let (settled, others): (Vec<_>, Vec<_>) =
        stored.into_iter().partition(|(_, expected)| expected.is_settled());
    let work =
        |(position, expected): &(usize, &Expected)| (*position, prepare(shared, expected, None));
    let mut all = Vec::with_capacity(jobs.len());
    let others = parallel::map(&others, work)?;
    for (position, prepared) in settled.iter().map(work).chain(others) {
        match prepared {
            Err(error) if is_lost(&error) => {}
            Err(error) if error.kind != Kind::Requirement && !is_refusal(&error) => {
                return Err(error);
            }
            prepared => all.push((position, prepared)),
        }
    }
    Ok(all)
}

/// How much of a job comes from a registry.
fn size_of(job: &Job) -> u64 {
    match &job.origin {
        Origin::Registry(_, size) => *size,
        Origin::Store | Origin::File(_) => 0,
    }
}

async fn prepare_one(
    shared: Shared,
    memory: &Semaphore,
    job: &Job,
    part: &Part,
) -> Result<Prepared, Error> {
    let needed = match &job.origin {
        Origin::Registry(_, size) => {
            u32::try_from(size / 1024 + 1).unwrap_or(KIB_AT_ONCE).min(KIB_AT_ONCE)
        }
        Origin::Store | Origin::File(_) => 0,
    };
    let _room = memory.acquire_many(needed).await.map_err(|_| ended_early())?;
    let mut notices = Vec::new();
    let archive = match &job.origin {
        Origin::Store => None,
        Origin::File(archive) => Some(Archive::File(archive.clone())),
        Origin::Registry(registry, size) => {
            let archive = job.expected.archive.ok_or_else(ended_early)?;
            let places = Places::of(&shared.settings, registry)?;
            Some(Archive::Bytes(places.archive(&archive, *size, part, &mut notices).await?))
        }
    };
    let prepared = match off_thread(&shared, &job.expected, archive).await {
        // What the store lost, or holds damaged, is had again.
        Err(error) if is_lost(&error) && matches!(job.origin, Origin::Store) => {
            let archive = again(&shared, job, error, part, &mut notices).await?;
            off_thread(&shared, &job.expected, Some(archive)).await
        }
        answer => answer,
    };
    prepared.map(|mut prepared| {
        prepared.repaired.extend(notices.into_iter().map(Notice::into_text));
        prepared
    })
}

/// The archive of a skill that the store has lost; `lost` where it cannot be had.
async fn again(
    shared: &Shared,
    job: &Job,
    lost: Error,
    part: &Part,
    notices: &mut Vec<Notice>,
) -> Result<Archive, Error> {
    let settings = &shared.settings;
    let name = &job.goal.wanted.name;
    let can_ask = match (job.registry(), &job.expected.version) {
        (Some(url), Some(version)) => settings.can_ask(url, name, version),
        _ => !settings.offline,
    };
    if !can_ask {
        return Err(lost);
    }
    let locked = match &job.source {
        Source::Registry(url) => Some(url.clone()),
        Source::File(_) => None,
    };
    let mut index = Index::ask(settings, &shared.policy, &[(name.clone(), locked)]).await?;
    notices.append(&mut index.notices);
    let entry = index.get(name).zip(job.expected.version.as_ref());
    let entry = entry
        .and_then(|((registry, document), version)| Some((registry, document.version(version)?)));
    let Some(((registry, entry), archive)) = entry.zip(job.expected.archive) else {
        return Err(lost);
    };
    let places = Places::of(settings, registry)?;
    Ok(Archive::Bytes(places.archive(&archive, entry.size, part, notices).await?))
}

async fn off_thread(
    shared: &Shared,
    expected: &Expected,
    archive: Option<Archive>,
) -> Result<Prepared, Error> {
    let (shared, expected) = (shared.clone(), expected.clone());
    tokio::task::spawn_blocking(move || prepare(&shared, &expected, archive))
        .await
        .map_err(|_| ended_early())?
}
