//! What registries say against skills that are here.

use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::VersionEntry;
use url::Url;

use super::attend::Attendant;
use super::goal::Goal;
use super::index::Index;
use super::job::Job;
use super::session::Session;
use crate::Error;
use crate::policy::{Policy, is_refusal};
use crate::registry::Registry;
use crate::state::Signers;
use crate::trust::{Rules, Said, Standings, Trust, is_falsified, now};

/// Holds a skill that is here against what was last said of it.
pub(super) fn stand(job: &mut Job, standings: &Standings) -> Result<(), Error> {
    let Some((url, keep)) = job.source.registry().zip(job.goal.keep.as_ref()) else {
        return Ok(());
    };
    let standing = standings.of(url, &keep.name, &keep.version);
    standing.check(&keep.name, &keep.version)?;
    job.advisories = standing.told_advisories(&keep.name, &keep.version);
    job.yanked = standing.yanked;
    Ok(())
}

/// Holds a version out of a bundle against what is remembered of it, which may be of a later day.
pub(super) fn stand_later(
    job: &mut Job,
    entry: &VersionEntry,
    standings: &Standings,
) -> Result<(), Error> {
    let Some(url) = job.source.registry() else { return Ok(()) };
    let name = &job.goal.wanted.name;
    let standing = standings.of(url, name, &entry.version);
    standing.check(name, &entry.version)?;
    for told in standing.told_advisories(name, &entry.version) {
        if !job.advisories.contains(&told) {
            job.advisories.push(told);
        }
    }
    job.yanked = job.yanked.take().or(standing.yanked);
    Ok(())
}

/// Remembers what a bundle says against the skills that it holds beside those of the goal, where a
/// log is known that proves it: somebody may have them in another project.
///
/// What does not hold refuses the bundle, as it does where it is asked for.
pub(super) async fn learn_carried(
    session: &Session<'_>,
    goal: &Goal,
    policy: &Policy,
    signers: &Signers,
    index: &mut Index,
) -> Result<(), Error> {
    let settings = session.settings;
    let Some(bundle) = &settings.bundle else { return Ok(()) };
    let trust = Trust::new(settings, Rules::of(policy));
    for (url, held) in bundle.registries() {
        let names = held.skills.iter().map(|skill| skill.name.clone());
        let is_other =
            |name: &QualifiedName| goal.skills.iter().all(|one| one.wanted.name != *name);
        let names: Vec<QualifiedName> = names.filter(is_other).collect();
        if names.is_empty() || !trust.speaks_for(url)? {
            continue;
        }
        let registry = match Registry::chosen(settings, &settings.registry_at(url)) {
            Ok(registry) => registry,
            // Nothing of a registry that no policy allows is installed here.
            Err(error) if is_refusal(&error) => continue,
            Err(error) => return Err(error),
        };
        let asked = trust.documents(&registry, &names).await?;
        index.notices.extend(asked.notices);
        let documents = asked.documents.iter().map(|found| (registry.url(), &found.document));
        session.state.learn_revocations(signers, documents)?;
        let said = asked.documents.iter().map(|found| Said::carried(registry.url(), found, now()));
        Standings::learn_earlier(&settings.home, said)?;
    }
    Ok(())
}

/// What was last said of skills that are here; asked for again where the command wants that and an
/// hour has passed. That nobody answers is told, and refuses nothing.
pub(super) async fn refresh(
    session: &Session<'_>,
    goal: &Goal,
    policy: &Policy,
    drafts: &[Option<Job>],
    signers: &Signers,
    attendant: &mut dyn Attendant,
) -> Result<Standings, Error> {
    let (settings, now) = (session.settings, now());
    let standings = Standings::read(&settings.home)?;
    let bundle = settings.bundle.as_deref();
    if bundle.is_none() && (settings.offline || !goal.refreshes) {
        return Ok(standings);
    }
    let is_due = |url: &Url, name: &QualifiedName| match bundle {
        Some(bundle) => bundle.versions(url, name).is_some(),
        None => standings.is_due(url, name, now),
    };
    let of_registry = drafts.iter().flatten().filter_map(|job| Some((job, job.source.registry()?)));
    let due: Vec<(QualifiedName, Option<Url>)> = of_registry
        .filter(|(job, url)| is_due(url, &job.goal.wanted.name))
        .map(|(job, url)| (job.goal.wanted.name.clone(), Some(url.clone())))
        .collect();
    if due.is_empty() {
        return Ok(standings);
    }
    match Index::ask_each(settings, policy, &due).await {
        Ok(index) => {
            for error in due.iter().filter_map(|(name, _)| index.absence(name)) {
                attendant.warn(&format!(
                    "{}: whether anything was said against it is not known",
                    error.message
                ));
            }
            session.state.learn_revocations(signers, index.documents())?;
            index.learn_standings(&settings.home, now)?;
            if bundle.is_none() {
                let asked = index.documents().map(|(url, document)| (url, &document.name));
                Standings::asked(&settings.home, asked, now)?;
            }
            for notice in index.notices {
                notice.to(attendant);
            }
        }
        Err(error) if bundle.is_some() || is_falsified(&error) => return Err(error),
        Err(error) => {
            attendant.warn(&format!(
                "whether anything was said against these skills is not known: {}",
                error.message
            ));
            Standings::tried(&settings.home, due.iter().filter_map(|(_, url)| url.as_ref()), now)?;
        }
    }
    Standings::read(&settings.home)
}
