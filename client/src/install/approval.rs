//! What has to be approved before agents see a skill.

use skillpkg_schema::QualifiedName;

use super::attend::{Approval, Attendant};
use super::prepare::{Prepared, stored};
use super::session::Session;
use crate::activation::{describe, growth};
use crate::{Error, Kind};

/// Asks what has to be asked about the skills that are to become active; all of it at once.
///
/// Nothing is asked about a snapshot that was approved before, nor about an update that adds
/// nothing. What is approved here is remembered by the caller, once the change is certain.
pub(super) fn ask(
    session: &Session<'_>,
    prepared: &[Prepared],
    is_update: bool,
    attendant: &mut dyn Attendant,
) -> Result<(), Error> {
    let mut questions = Vec::new();
    let mut grows = false;
    for one in prepared {
        let Some(checked) = &one.checked else { continue };
        if session.state.is_approved(&one.address)? {
            continue;
        }
        let adds = added(session, one)?;
        if adds.as_ref().is_some_and(Vec::is_empty) {
            continue;
        }
        grows |= adds.is_some();
        let (name, version) = (one.manifest.name.clone(), one.manifest.version.clone());
        let runs_anything = !one.manifest.tools.is_empty() || !one.manifest.scripts.is_empty();
        questions.push(Approval { name, version, runs: describe(checked), runs_anything, adds });
    }
    if questions.is_empty() {
        return Ok(());
    }
    let options = session.options;
    let is_given = if is_update && grows { options.accept_permissions } else { options.approve };
    if is_given {
        attendant.approved(&questions);
        return Ok(());
    }
    if attendant.approve(&questions)? {
        return Ok(());
    }
    let names: Vec<String> =
        questions.iter().map(|one| format!("`{}@{}`", one.name, one.version)).collect();
    let message = format!("not approved: {}; nothing was changed", names.join(", "));
    Err(Error::new(Kind::Refused, "permission_denied", message))
}

/// What a snapshot adds to the one of its name that is active, else to the one that was approved
/// last; [`None`] where there is neither, or where nobody knows any more what that one ran.
fn added(session: &Session<'_>, prepared: &Prepared) -> Result<Option<Vec<String>>, Error> {
    let name: &QualifiedName = &prepared.manifest.name;
    let active = match session.remembered.active(name) {
        Some(active) if session.state.is_approved(&active.address)? => Some(active.address),
        _ => None,
    };
    let approved = match active {
        Some(active) => Some(active),
        None => session.state.last_approved(name)?,
    };
    let Some(approved) = approved else { return Ok(None) };
    let approved = stored(&session.store, &approved)?;
    Ok(approved.map(|approved| growth(&approved.manifest, &prepared.manifest)))
}
