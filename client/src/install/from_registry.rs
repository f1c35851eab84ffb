//! Skills that come from a registry, which was asked for their documents.

use std::borrow::Cow;

use jiff::Timestamp;
use skillpkg_schema::wire::{Document, VersionEntry};
use skillpkg_schema::{QualifiedName, Version};

use super::candidate::candidates_of;
use super::goal::GoalSkill;
use super::index::Index;
use super::job::{Job, Origin, expected_of, present, seen};
use super::pick::{Picked, newest_free, pick_passing};
use super::pick_error::{instead_of_forbidden, told_deleted};
use super::prepare::{Expected, Held, stored};
use super::proven::RESTORE_HINT;
use super::session::Session;
use crate::policy::Policy;
use crate::project::{Locked, Source};
use crate::registry::Registry;
use crate::settings::registry_text;
use crate::state::Signers;
use crate::trust::{Standing, check_keys, forbidden, forbidding};
use crate::{Error, Kind};

/// The job of a skill whose registry was asked, and the version that it is.
pub(super) fn from_index(
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
            return Err(
                Error::new(Kind::Verification, "digest_mismatch", message).with_hint(RESTORE_HINT)
            );
        }
    }
    if let Some((locked, found)) = keep.log_index.zip(entry.log_index)
        && locked != found
    {
        let message = format!(
            "the lockfile says that `{name}@{version}` is leaf {locked} of the registry's log; the \
             registry says {found}"
        );
        return Err(
            Error::new(Kind::Verification, "record_mismatch", message).with_hint(RESTORE_HINT)
        );
    }
    Ok(entry)
}

fn not_asked(name: &QualifiedName) -> Error {
    Error::new(Kind::Failed, "skill_not_found", format!("no registry was asked for `{name}`"))
}
