//! What registries say against skills that are here.

use skillpkg_schema::QualifiedName;
use url::Url;

use super::attend::Attendant;
use super::goal::Goal;
use super::index::Index;
use super::session::Session;
use super::source::Job;
use crate::Error;
use crate::policy::Policy;
use crate::state::Signers;
use crate::trust::{Standings, is_falsified, now};

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
    if settings.offline || !goal.refreshes {
        return Ok(standings);
    }
    let of_registry = drafts.iter().flatten().filter_map(|job| Some((job, job.source.registry()?)));
    let due: Vec<(QualifiedName, Option<Url>)> = of_registry
        .filter(|(job, url)| standings.is_due(url, &job.goal.wanted.name, now))
        .map(|(job, url)| (job.goal.wanted.name.clone(), Some(url.clone())))
        .collect();
    if due.is_empty() {
        return Ok(standings);
    }
    match Index::ask(settings, policy, &due).await {
        Ok(index) => {
            session.state.learn_revocations(signers, index.documents())?;
            Standings::learn(&settings.home, index.documents(), now)?;
            let asked = index.documents().map(|(url, document)| (url, &document.name));
            Standings::asked(&settings.home, asked, now)?;
            for notice in index.notices {
                notice.to(attendant);
            }
        }
        Err(error) if is_falsified(&error) => return Err(error),
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
