//! What has to be approved before agents see a skill.

use skillpkg_schema::{ContentAddress, Manifest};
use skillpkg_store::content::Stored;

use super::attend::{Approval, Attendant, Moved};
use super::job::Job;
use super::prepare::{Prepared, stored};
use super::session::Session;
use crate::activation::{Checked, describe, found, growth, prose_commands, prose_growth, widening};
use crate::difference::{Difference, Side, lines_within};
use crate::eligibility::listed;
use crate::project::Source;
use crate::state::{Provenance, Signers};
use crate::{Error, Kind};

/// Most lines of the text of files that are told of one skill before something is asked about it.
const MOST_LINES: usize = 80;

/// Asks what has to be asked about the skills that are to become active; all of it at once.
///
/// Nothing is asked about a snapshot that was approved before, nor about an update by the same
/// signer that adds nothing. What is approved here is remembered by the caller, once the change is certain.
pub(super) fn ask(
    session: &Session<'_>,
    signers: &Signers,
    jobs: &[Job],
    prepared: &[Prepared],
    is_update: bool,
    attendant: &mut dyn Attendant,
) -> Result<(), Error> {
    let mut questions = Vec::new();
    for (job, one) in jobs.iter().zip(prepared) {
        let Some(checked) = &one.checked else { continue };
        if session.state.is_approved(&one.address)? {
            continue;
        }
        let (adds, changes, may_do_more) = match added(session, signers, job, one, checked)? {
            Some(added) if added.told.is_empty() => {
                let changes = changes(session, &added.approved, &one.address);
                let Manifest { name, version, .. } = one.manifest().clone();
                if is_update && !changes.is_empty() {
                    attendant.changes(&Moved { name, version, changes });
                }
                continue;
            }
            Some(added) => {
                let changes = changes(session, &added.approved, &one.address);
                (Some(added.told), changes, added.widens)
            }
            None => (None, Vec::new(), is_incomparable(session, job)),
        };
        let widens = is_update && may_do_more;
        let (name, version) = (one.manifest().name.clone(), one.manifest().version.clone());
        let runs_anything = checked.runs_anything();
        let runs = describe(checked);
        questions.push(Approval { name, version, runs, runs_anything, adds, changes, widens });
    }
    if questions.is_empty() {
        return Ok(());
    }
    let options = session.options;
    let widens = questions.iter().any(|one| one.widens);
    if (is_update && options.accept_permissions) || (options.approve && !widens) {
        attendant.approved(&questions);
        return Ok(());
    }
    let skills: Vec<String> =
        questions.iter().map(|one| format!("{}@{}", one.name, one.version)).collect();
    let denied = match attendant.approve(&questions) {
        Ok(true) => return Ok(()),
        Ok(false) => {
            let message = format!("not approved: {}; nothing was changed", listed(&skills));
            Error::new(Kind::Refused, "permission_denied", message)
        }
        Err(error) => error,
    };
    Err(Error { skills, ..denied })
}

/// What a snapshot adds to the one that was approved before.
struct Added {
    /// All of it; safe to print.
    told: Vec<String>,
    /// Whether it may do what the one before might not. Other content of what ran already needs a
    /// yes like any other; this needs one of its own.
    widens: bool,
    /// The snapshot that was approved.
    approved: ContentAddress,
}

/// What changes from the snapshot that was approved to the one that is offered, without what is
/// added, which is told by itself; nothing where one of the two cannot be read, since what is asked
/// does not depend on it.
fn changes(
    session: &Session<'_>,
    approved: &ContentAddress,
    offered: &ContentAddress,
) -> Vec<String> {
    let side = |address| Side::snapshot(session.settings, address).ok().flatten();
    let difference = side(approved).zip(side(offered)).map(|(before, after)| {
        Difference::of(&before, &after)
            .map(|difference| Difference { adds: Vec::new(), ..difference })
    });
    match difference {
        Some(Ok(difference)) if !difference.same => lines_within(&difference, MOST_LINES),
        _ => Vec::new(),
    }
}

/// What a snapshot adds to the one of its name that is active, else to the one that was approved
/// last; [`None`] where there is neither, or where nobody knows any more what that one ran.
///
/// Only one from the same registry counts, that a signer signed who is still pinned: the same name
/// elsewhere, or of somebody else, is another skill.
fn added(
    session: &Session<'_>,
    signers: &Signers,
    job: &Job,
    prepared: &Prepared,
    checked: &Checked,
) -> Result<Option<Added>, Error> {
    let (state, name) = (&session.state, &prepared.manifest().name);
    let registry = job.registry();
    let Some(pinned) = signers.pinned(registry, name) else { return Ok(None) };
    let active = match session.remembered.active(name) {
        Some(active) => state.approved_from(&active.address)?.map(|from| (active.address, from)),
        None => None,
    };
    let is_same = |(_, from): &(ContentAddress, Provenance)| from.is_of(registry, &pinned.keys);
    let approved = match active.filter(is_same) {
        Some(active) => Some(active),
        None => state.last_approved(registry, name)?.filter(is_same),
    };
    let Some((address, _)) = approved else { return Ok(None) };
    let Some(Stored { manifest: approved, .. }) = stored(&session.store, &address)? else {
        return Ok(None);
    };
    let Some(prose) = prose_commands(&session.store, &approved) else { return Ok(None) };
    let in_prose = prose_growth(&prose, &checked.prose_commands);
    let widens = !in_prose.is_empty() || !widening(&approved, prepared.manifest()).is_empty();
    let before = found::known(&session.store, state, &address)?.unwrap_or_default();
    let found = found::added(&before, &checked.findings);
    let told =
        growth(&approved, prepared.manifest()).into_iter().chain(in_prose).chain(found).collect();
    Ok(Some(Added { told, widens, approved: address }))
}

/// Whether what is active here becomes something that cannot be held against it: since it comes from
/// another registry, or since what was approved is lost. All of it may be new then.
///
/// Where somebody accepts another signer in the same command, that is no surprise.
fn is_incomparable(session: &Session<'_>, job: &Job) -> bool {
    let name = &job.goal.wanted.name;
    let is_same_source = match (session.files.lock.skill(name).map(|one| &one.source), &job.source)
    {
        (Some(Source::Registry(before)), Source::Registry(now)) => before == now,
        (Some(before), now) => matches!((before, now), (Source::File(_), Source::File(_))),
        (None, _) => true,
    };
    let is_active = session.remembered.active(name).is_some();
    !is_same_source || (is_active && !session.options.accept_signer)
}
