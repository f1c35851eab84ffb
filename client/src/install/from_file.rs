//! Skills that come as an archive in a file.

use skillpkg_schema::signature::KeyId;
use skillpkg_store::archive::{Bounds, Reader};

use super::attend::Attendant;
use super::candidate::{Candidate, candidates_of};
use super::goal::GoalSkill;
use super::job::{Job, Origin, expected_of, present, seen};
use super::list::distrusted;
use super::prepare::{Expected, Held};
use super::proven::is_other;
use super::session::Session;
use crate::project::{ProjectArchive, Source};
use crate::registry::Registry;
use crate::revocation::of_known_registries;
use crate::state::Signers;
use crate::trust::Trust;
use crate::{Error, keys};

/// The job of an archive in a file, with the keys that are known here.
pub(super) fn file_job(
    session: &Session<'_>,
    skill: &GoalSkill,
    file: &str,
    held: Option<Held>,
    signers: &Signers,
) -> Result<Job, Error> {
    let name = &skill.wanted.name;
    let keys = keys::vouching_for_files(session.settings, signers, name).into_iter();
    let candidates: Vec<Candidate> =
        keys.map(|key| Candidate::known(key, signers, None, name)).collect();
    let known = |ids: &[KeyId]| candidates.iter().any(|one| ids.contains(&one.key.id()));
    let archive = session.directory.archive(file);
    let is_held = held.is_some();
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
        return Ok(job(Origin::Store, expected));
    }
    // All of it is here but a key that is trusted: that its archive is gone too says nothing.
    if let Some(keep) = skill.keep.as_ref().filter(|_| is_held && !archive.path().exists()) {
        return Err(distrusted(&keep.name, &keep.version));
    }
    let expected = match &skill.keep {
        Some(keep) => expected_of(session, skill, keep, candidates),
        None => file_expected(session, skill, file, candidates),
    };
    Ok(job(Origin::File(archive), expected))
}

/// Asks the registry of a skill that is read from a file whose keys are its own, and that and every
/// other that the user knows the skill from which of them were revoked. Where one does not answer,
/// what is known here decides; that nobody was asked is told.
pub(super) async fn ask_of_keys(
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
