//! Where each skill of a goal comes from: the store, a file, or a registry that has to be asked.

use std::sync::Arc;

use skillpkg_schema::QualifiedName;

use super::attend::Attendant;
use super::candidate::Candidate;
use super::from_file::{ask_of_keys, file_job};
use super::from_registry::from_index;
use super::goal::{Goal, GoalSkill};
use super::index::{Index, check_registry};
use super::job::{Job, Origin, expected_of, seen};
use super::prepare::{Expected, Held, stored};
use super::proven::{Logs, is_other, not_as_verified};
use super::session::Session;
use super::standing::{learn_carried, refresh, stand, stand_later};
use crate::policy::Policy;
use crate::project::Source;
use crate::state::Signers;
use crate::trust::{Rules, Standings, Trust, now};
use crate::{Error, parallel};

/// Finds out how each skill is had, and which cannot be had any more where the goal spares those;
/// asks each registry that has to be asked once, and none where the store has everything that the
/// lockfile names.
pub(super) async fn find(
    session: &Session<'_>,
    goal: &Goal,
    policy: &Policy,
    signers: &Signers,
    attendant: &mut dyn Attendant,
) -> Result<(Vec<Job>, Vec<Lost>), Error> {
    let mut drafts = Vec::with_capacity(goal.skills.len());
    let mut asked = Vec::new();
    let rules = Rules::of(policy);
    let trust = Trust::new(session.settings, rules);
    let logs = Logs::new(&trust);
    for (skill, held) in goal.skills.iter().zip(look(session, goal)?) {
        let mut draft = draft(session, skill, held, policy, &logs, signers)?;
        if let Some(job) = &mut draft {
            ask_of_keys(session, job, &trust, signers, attendant).await?;
        } else {
            let name = skill.wanted.name.clone();
            let locked = session.locked_registry(&name).cloned();
            asked.push((name, locked));
        }
        drafts.push(draft);
    }
    let home = &session.settings.home;
    let standings = refresh(session, goal, policy, &drafts, signers, attendant).await?;
    let mut index = if asked.is_empty() {
        Index::default()
    } else {
        Index::ask_each(session.settings, policy, &asked).await?
    };
    session.state.learn_revocations(signers, index.documents())?;
    index.learn_standings(home, now())?;
    let standings = if session.settings.bundle.is_some() {
        learn_carried(session, goal, policy, signers, &mut index).await?;
        Standings::read(home)?
    } else {
        standings
    };
    let (mut jobs, mut chosen) = (Vec::with_capacity(drafts.len()), Vec::new());
    let mut lost = Vec::new();
    for (draft, skill) in drafts.into_iter().zip(&goal.skills) {
        if let Some(mut job) = draft {
            stand(&mut job, &standings)?;
            jobs.push(job);
        } else {
            let answer = match index.absence(&skill.wanted.name) {
                Some(error) if goal.spares_lost => Err(error),
                Some(_) => Err(index.unknown(&skill.wanted.name).await),
                None => from_index(session, skill, &index, policy, signers),
            };
            let (mut job, entry) = match answer {
                Err(error) if goal.spares_lost && is_lost(&error) => {
                    lost.push(Lost { name: skill.wanted.name.clone(), error });
                    continue;
                }
                answer => answer?,
            };
            // A bundle is of an earlier day: what was said since is told and holds.
            if session.settings.bundle.is_some() {
                stand_later(&mut job, &entry, &standings)?;
            }
            chosen.push((skill.wanted.name.clone(), entry));
            jobs.push(job);
        }
    }
    // Where nothing is left that could be done, that is what is told.
    if jobs.is_empty() && !lost.is_empty() {
        return Err(lost.swap_remove(0).error);
    }
    index.prove(session.settings, policy, &chosen).await?;
    for notice in index.notices {
        notice.to(attendant);
    }
    Ok((jobs, lost))
}

/// A skill that cannot be had from its registry any more.
pub(super) struct Lost {
    pub(super) name: QualifiedName,
    pub(super) error: Error,
}

/// Whether a failure says that a skill is not to be had any more: it is gone or private now, or its
/// version was deleted.
fn is_lost(error: &Error) -> bool {
    ["skill_not_found", "version_deleted", "version_not_found"].contains(&error.code.as_str())
}

/// What the store holds of each skill that is to be kept, re-hashed, with its tree where agents see
/// it: on several threads, since this is most of what a command costs that finds nothing to do.
fn look(session: &Session<'_>, goal: &Goal) -> Result<Vec<Option<Held>>, Error> {
    let store = &session.store;
    let looked = parallel::map(&goal.skills, |skill| {
        let Some(keep) = &skill.keep else { return Ok(None) };
        let Some(stored) = stored(store, &keep.address)? else { return Ok(None) };
        let is_seen = skill.visible && seen(session, &keep.name) == Some(keep.address);
        // What is wrong with a tree, and whether it can be read at all, is found again by whoever
        // puts it right.
        let problems = is_seen.then(|| store.verify_tree_at(&keep.address, &stored.manifest));
        let is_intact = matches!(problems, Some(Ok(problems)) if problems.is_empty());
        Ok(Some(Held { stored: Arc::new(stored), is_intact }))
    })?;
    looked.into_iter().collect()
}

/// The job of a skill of which everything is here; [`None`] where a registry has to be asked.
fn draft(
    session: &Session<'_>,
    skill: &GoalSkill,
    held: Option<Held>,
    policy: &Policy,
    logs: &Logs<'_>,
    signers: &Signers,
) -> Result<Option<Job>, Error> {
    if let Some(file) = &skill.wanted.file {
        return file_job(session, skill, file, held, signers).map(Some);
    }
    let Some(keep) = &skill.keep else { return Ok(None) };
    let Source::Registry(url) = &keep.source else { return Ok(None) };
    check_registry(session.settings, &keep.name, url)?;
    // A key that was seen vouches for what it is pinned to: the lockfile may name any.
    let pinned = signers.pinned(Some(url), &keep.name);
    let Some(pinned) = pinned.filter(|pinned| pinned.keys.contains(&keep.key)) else {
        return Ok(None);
    };
    let Some(key) = signers.key(&keep.key) else { return Ok(None) };
    let Some(held) = held else { return Ok(None) };
    let published = if policy.rules_release_age() {
        session.state.published(url, &keep.address)?
    } else {
        None
    };
    let can_ask = session.settings.can_ask(url, &keep.name, &keep.version);
    if policy.rules_release_age() && published.is_none() && can_ask {
        return Ok(None);
    }
    let account = pinned.account.clone();
    let known = Candidate::known(key, signers, Some(url), &keep.name);
    let expected = Expected {
        held: Some(held),
        published,
        ..expected_of(session, skill, keep, vec![Candidate { account, ..known }])
    };
    // What agents see and was verified before is proven anew by `verify`, and not by every command.
    let other = is_other(&session.remembered, keep);
    let is_settled = expected.is_settled()
        && other == Some(false)
        && !logs.trust.requires_log()
        && logs.has_proof(url, keep)?;
    if !is_settled && !logs.prove(url, keep, can_ask)? && can_ask {
        return Ok(None);
    }
    if other == Some(true) && !logs.is_proven(url, keep)? {
        return if can_ask { Ok(None) } else { Err(not_as_verified(keep)) };
    }
    Ok(Some(Job {
        origin: Origin::Store,
        expected,
        source: keep.source.clone(),
        log_index: keep.log_index,
        yanked: None,
        passed_over: Vec::new(),
        is_asked: false,
        advisories: Vec::new(),
        moved_from: None,
        goal: skill.clone(),
    }))
}
