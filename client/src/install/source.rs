//! Where each skill of a goal comes from: the store, a file, or a registry that has to be asked.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::wire::{Document, VersionEntry};
use skillpkg_schema::{ContentAddress, QualifiedName, Version};
use skillpkg_store::archive::{Bounds, Reader};
use url::Url;

use super::attend::Attendant;
use super::goal::{Goal, GoalSkill};
use super::index::{Index, check_registry};
use super::pick::{Picked, instead_of_forbidden, newest_free, pick_passing, told_deleted};
use super::prepare::{Expected, Held, stored};
use super::proven::{Logs, is_other, not_as_verified};
use super::session::Session;
use super::standing::{learn_carried, refresh, stand, stand_later};
use super::trust::{Candidate, candidates_of};
use crate::policy::Policy;
use crate::project::{Locked, ProjectArchive, Source};
use crate::registry::Registry;
use crate::revocation::of_known_registries;
use crate::settings::registry_text;
use crate::state::Signers;
use crate::trust::{Rules, Standing, Standings, Trust, check_keys, forbidden, forbidding, now};
use crate::{Error, Kind, keys, parallel};

/// How a skill's archive is had.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// It is in the store, and the key that signed it is known.
    Store,
    /// From a file.
    File(ProjectArchive),
    /// From a registry, with the archive's length.
    Registry(Registry, u64),
}

/// One skill of a goal, and how it is had.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) goal: GoalSkill,
    pub(super) origin: Origin,
    pub(super) expected: Expected,
    /// What the lockfile will say of where it comes from.
    pub(super) source: Source,
    pub(super) log_index: Option<u64>,
    /// Why it was yanked, where it was.
    pub(super) yanked: Option<String>,
    /// That newer versions were passed over, and why, as sentences.
    pub(super) passed_over: Vec<String>,
    /// Whether its registry was asked about it just now.
    pub(super) is_asked: bool,
    /// What advisories say of it, as sentences.
    pub(super) advisories: Vec<String>,
    /// The locked version that it takes the place of, and why that was yanked, where it was.
    pub(super) moved_from: Option<(Version, String)>,
}

impl Job {
    /// The registry that it comes from; [`None`] for one from a file.
    pub(super) fn registry(&self) -> Option<&Url> {
        self.source.registry()
    }
}

/// Finds out how each skill is had; asks each registry that has to be asked once, and none where
/// the store has everything that the lockfile names.
pub(super) async fn find(
    session: &Session<'_>,
    goal: &Goal,
    policy: &Policy,
    signers: &Signers,
    attendant: &mut dyn Attendant,
) -> Result<Vec<Job>, Error> {
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
        Index::ask(session.settings, policy, &asked).await?
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
    for (draft, skill) in drafts.into_iter().zip(&goal.skills) {
        jobs.push(if let Some(mut job) = draft {
            stand(&mut job, &standings)?;
            job
        } else {
            let (mut job, entry) = from_index(session, skill, &index, policy, signers)?;
            // A bundle is of an earlier day: what was said since is told and holds.
            if session.settings.bundle.is_some() {
                stand_later(&mut job, &entry, &standings)?;
            }
            chosen.push((skill.wanted.name.clone(), entry));
            job
        });
    }
    index.prove(session.settings, policy, &chosen).await?;
    for notice in index.notices {
        notice.to(attendant);
    }
    Ok(jobs)
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
        return Ok(Some(file_job(session, skill, file, held, signers)));
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

/// The job of an archive in a file, with the keys that are known here.
fn file_job(
    session: &Session<'_>,
    skill: &GoalSkill,
    file: &str,
    held: Option<Held>,
    signers: &Signers,
) -> Job {
    let name = &skill.wanted.name;
    let keys = keys::vouching_for_files(session.settings, signers, name).into_iter();
    let candidates: Vec<Candidate> =
        keys.map(|key| Candidate::known(key, signers, None, name)).collect();
    let known = |ids: &[KeyId]| candidates.iter().any(|one| ids.contains(&one.key.id()));
    let archive = session.directory.archive(file);
    let job = |origin, expected| Job {
        origin,
        expected,
        source: Source::File(file.to_owned()),
        log_index: None,
        yanked: None,
        passed_over: Vec::new(),
        is_asked: false,
        advisories: Vec::new(),
        moved_from: None,
        goal: skill.clone(),
    };
    if let Some(keep) = &skill.keep
        && known(&[keep.key])
        && is_other(&session.remembered, keep) != Some(true)
        && let Some(held) = held
    {
        let expected =
            Expected { held: Some(held), ..expected_of(session, skill, keep, candidates) };
        return job(Origin::Store, expected);
    }
    let expected = match &skill.keep {
        Some(keep) => expected_of(session, skill, keep, candidates),
        None => file_expected(session, skill, file, candidates),
    };
    job(Origin::File(archive), expected)
}

/// Asks the registry of a skill that is read from a file whose keys are its own, and that and every
/// other that the user knows the skill from which of them were revoked. Where one does not answer,
/// what is known here decides; that nobody was asked is told.
async fn ask_of_keys(
    session: &Session<'_>,
    job: &mut Job,
    trust: &Trust<'_>,
    signers: &Signers,
    attendant: &mut dyn Attendant,
) -> Result<(), Error> {
    let (settings, name) = (session.settings, job.goal.wanted.name.clone());
    let Origin::File(archive) = &job.origin else { return Ok(()) };
    if settings.offline {
        return Ok(());
    }
    let registry = Registry::for_settings(settings, &name).ok();
    let candidates = &mut job.expected.candidates;
    let mut unanswered = Vec::new();
    if let Some(registry) = &registry {
        let answer = trust.document(registry, &name).await.map(|(found, notices)| {
            for notice in &notices {
                notice.to(attendant);
            }
            found.map(|found| found.document)
        });
        match answer {
            Ok(None) => {}
            Ok(Some(document)) => {
                session.state.learn_revocations(signers, [(registry.url(), &document)])?;
                let given = candidates_of(&document, registry.url(), signers)?;
                for mut local in std::mem::replace(candidates, given) {
                    match candidates.iter_mut().find(|one| one.key == local.key) {
                        Some(given) => given.hear(local.revoked.take().as_slice()),
                        None => candidates.push(local),
                    }
                }
            }
            Err(error) => {
                let signed_by = signers_of(archive)?;
                if !candidates.iter().any(|one| signed_by.contains(&one.key.id())) {
                    return Err(error);
                }
                unanswered.push(error);
            }
        }
    }
    let (known, asked) = ((&session.state, signers), registry.as_ref().map(Registry::url));
    let told = of_known_registries(trust, known, &name, asked).await?;
    for candidate in candidates {
        candidate.hear(&told.revoked);
    }
    for error in unanswered.into_iter().chain(told.unanswered) {
        attendant.warn(&format!(
            "whether the key that signed `{name}` was revoked is not known: {}",
            error.message
        ));
    }
    Ok(())
}

/// The ids of the keys that are said to have signed an archive.
fn signers_of(archive: &ProjectArchive) -> Result<Vec<KeyId>, Error> {
    let reader = Reader::open(archive.open()?, Bounds::default())
        .map_err(|error| Error::from(error).in_file(archive.path().to_string_lossy()))?;
    Ok(reader.envelope().key_ids().collect())
}

fn from_index(
    session: &Session<'_>,
    skill: &GoalSkill,
    index: &Index,
    policy: &Policy,
    signers: &Signers,
) -> Result<(Job, VersionEntry), Error> {
    let name = &skill.wanted.name;
    let Some((registry, document)) = index.get(name) else { return Err(not_asked(name)) };
    let document = &*carried_alone(registry, document);
    let candidates = candidates_of(document, registry.url(), signers)?;
    let now = Timestamp::now();
    let Picked { entry, passed_over } = if let Some(keep) = &skill.keep {
        check_carried(registry, keep)?;
        Picked { entry: locked_entry(document, keep)?, passed_over: Vec::new() }
    } else {
        let is_young = |entry: &VersionEntry| policy.is_young(entry, now);
        let picked = pick_passing(document, &skill.wanted.requirement, is_young)
            .map_err(|error| error.advising(&installing(registry)))?;
        check_unchanged(session, registry, name, picked.entry)?;
        picked
    };
    if let Some(advisory) = forbidding(document, &entry.version) {
        let instead = instead_of_forbidden(name, newest_free(document), &installing(registry));
        return Err(forbidden(name, &entry.version, advisory).with_hint(instead));
    }
    check_keys(document, entry)?;
    let standing = Standing::in_document(document, &entry.version);
    if policy.rules_release_age() {
        let (state, url) = (&session.state, registry.url());
        state.remember_published(url, &entry.address, &entry.published)?;
    }
    let source = Source::Registry(registry.url().clone());
    let expected = match &skill.keep {
        Some(keep) => expected_of(session, skill, keep, candidates),
        None => Expected {
            name: Some(name.clone()),
            version: Some(entry.version.clone()),
            address: Some(entry.address),
            archive: Some(entry.archive),
            key: None,
            candidates,
            visible: skill.visible,
            seen: seen(session, name),
            verified: None,
            held: None,
            source: source.clone(),
            published: None,
            present: present(session, name),
        },
    };
    let held = stored(&session.store, &entry.address)?.map(Held::unseen);
    let job = Job {
        origin: if held.is_some() {
            Origin::Store
        } else {
            Origin::Registry(registry.clone(), entry.size)
        },
        expected: Expected {
            held,
            source: source.clone(),
            published: Some(entry.published.clone()),
            ..expected
        },
        source,
        log_index: entry.log_index,
        yanked: entry.yanked.as_ref().map(|yank| yank.reason.clone()),
        passed_over: passed_over.into_iter().map(|one| policy.passed_over(name, one)).collect(),
        is_asked: registry.shelf().is_none(),
        advisories: standing.told_advisories(name, &entry.version),
        moved_from: moved_from(session, document, entry),
        goal: skill.clone(),
    };
    Ok((job, entry.clone()))
}

/// The command that takes a version from a registry, or from the bundle in its place.
fn installing(registry: &Registry) -> String {
    match registry.shelf() {
        Some(shelf) => format!("skillpkg install --bundle {}", shelf.shown()),
        None => "skillpkg install".to_owned(),
    }
}

/// What to do where what a lockfile names is not there any more.
fn instead_of_lost(document: &Document) -> String {
    let name = &document.name;
    match newest_free(document) {
        Some(version) => {
            format!("`skillpkg install {name}@{version}` takes the newest that is there")
        }
        None => format!(
            "no other version of it is there to take; `skillpkg remove {name}` takes it out of the \
             project"
        ),
    }
}

/// A document with the versions alone that can be had: all of a registry's, and of a bundle's those
/// whose archives it holds.
fn carried_alone<'d>(registry: &Registry, document: &'d Document) -> Cow<'d, Document> {
    let Some(shelf) = registry.shelf() else { return Cow::Borrowed(document) };
    let held = shelf.versions(&document.name);
    let mut document = document.clone();
    document.versions.retain(|entry| held.iter().any(|one| one.version == entry.version));
    Cow::Owned(document)
}

/// That a bundle, where one stands in for the registry, holds what is locked.
fn check_carried(registry: &Registry, keep: &Locked) -> Result<(), Error> {
    let Some(shelf) = registry.shelf() else { return Ok(()) };
    if shelf.versions(&keep.name).iter().any(|one| one.version == keep.version) {
        return Ok(());
    }
    Err(shelf.lacks(&format!("`{}@{}`, which the lockfile names", keep.name, keep.version)))
}

/// That a version which is locked from the same registry is what it was: the number of one that was
/// published is never given to other bytes.
fn check_unchanged(
    session: &Session<'_>,
    registry: &Registry,
    name: &QualifiedName,
    entry: &VersionEntry,
) -> Result<(), Error> {
    let locked = session.files.lock.skill(name).filter(|locked| {
        let url = locked.source.registry().map(registry_text);
        locked.version == entry.version && url == Some(registry_text(registry.url()))
    });
    let Some(locked) = locked.filter(|locked| locked.address != entry.address) else {
        return Ok(());
    };
    let message = format!(
        "`{name}@{}` is locked as {}, and the registry has other content of the same version now, {}",
        entry.version, locked.address, entry.address
    );
    Err(Error::new(Kind::Verification, "digest_mismatch", message).with_hint(format!(
        "nothing that was published changes: ask its publisher and the registry's operator; after \
         `skillpkg remove {name}` a new install takes what the registry has"
    )))
}

/// The locked version that another takes the place of, and why it was yanked, where it was.
fn moved_from(
    session: &Session<'_>,
    document: &Document,
    entry: &VersionEntry,
) -> Option<(Version, String)> {
    let locked = session.files.lock.skill(&document.name)?;
    let yank = document.version(&locked.version)?.yanked.as_ref()?;
    (locked.version != entry.version).then(|| (locked.version.clone(), yank.reason.clone()))
}

/// The version that a lockfile names, which the registry must still have just so.
pub(crate) fn locked_entry<'d>(
    document: &'d Document,
    keep: &Locked,
) -> Result<&'d VersionEntry, Error> {
    let Locked { name, version, address, archive, .. } = keep;
    if let Some(deleted) = document.deleted_version(version) {
        let message = told_deleted(name, version, &deleted.reason);
        return Err(Error::new(Kind::Failed, "version_deleted", message)
            .with_hint(format!("nobody can fetch it any more; {}", instead_of_lost(document))));
    }
    let Some(entry) = document.version(version) else {
        let message = format!("the registry has no `{name}@{version}`, which the lockfile names");
        return Err(Error::new(Kind::Failed, "version_not_found", message)
            .with_hint(instead_of_lost(document)));
    };
    for (what, locked, found) in
        [("address", address, &entry.address), ("archive", archive, &entry.archive)]
    {
        if locked != found {
            let message = format!(
                "the lockfile says that the {what} of `{name}@{version}` is {locked}; the registry \
                 says {found}"
            );
            return Err(Error::new(Kind::Verification, "digest_mismatch", message).with_hint(
                "either was tampered with: compare the lockfile with its history before you go on",
            ));
        }
    }
    if let Some((locked, found)) = keep.log_index.zip(entry.log_index)
        && locked != found
    {
        let message = format!(
            "the lockfile says that `{name}@{version}` is leaf {locked} of the registry's log; the \
             registry says {found}"
        );
        return Err(Error::new(Kind::Verification, "record_mismatch", message)
            .with_hint("compare the lockfile with its history before you go on"));
    }
    Ok(entry)
}

fn expected_of(
    session: &Session<'_>,
    skill: &GoalSkill,
    keep: &Locked,
    candidates: Vec<Candidate>,
) -> Expected {
    Expected {
        name: Some(keep.name.clone()),
        version: Some(keep.version.clone()),
        address: Some(keep.address),
        archive: Some(keep.archive),
        key: Some(keep.key),
        candidates,
        visible: skill.visible,
        seen: seen(session, &keep.name),
        verified: verified(session, keep),
        held: None,
        source: keep.source.clone(),
        published: None,
        present: present(session, &keep.name),
    }
}

fn file_expected(
    session: &Session<'_>,
    skill: &GoalSkill,
    file: &str,
    candidates: Vec<Candidate>,
) -> Expected {
    let name = &skill.wanted.name;
    Expected {
        name: Some(name.clone()),
        version: None,
        address: None,
        archive: None,
        key: None,
        candidates,
        visible: skill.visible,
        seen: seen(session, name),
        verified: None,
        held: None,
        source: Source::File(file.to_owned()),
        published: None,
        present: present(session, name),
    }
}

/// The snapshot of a skill that the project has now: what agents see, else what is locked.
fn present(session: &Session<'_>, name: &QualifiedName) -> Option<ContentAddress> {
    seen(session, name).or_else(|| session.files.lock.skill(name).map(|locked| locked.address))
}

/// The snapshot of a skill that agents see now.
fn seen(session: &Session<'_>, name: &QualifiedName) -> Option<ContentAddress> {
    session.remembered.active(name).map(|active| active.address)
}

/// The key with which what is to be kept was verified, where it is what agents see now.
fn verified(session: &Session<'_>, keep: &Locked) -> Option<KeyId> {
    let active = session.remembered.active(&keep.name)?;
    active.key.filter(|_| active.address == keep.address)
}

fn not_asked(name: &QualifiedName) -> Error {
    Error::new(Kind::Failed, "skill_not_found", format!("no registry was asked for `{name}`"))
}
