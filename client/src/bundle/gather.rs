//! Everything that a bundle takes of one registry but the archives.

use std::collections::{BTreeMap, BTreeSet};

use skillpkg_schema::wire::{MAX_INDEX_NAMES, Proven, VersionEntry};
use skillpkg_schema::{QualifiedName, Requirement};

use super::wanted::Wanted;
use crate::install::{Attendant, locked_entry, pick_passing};
use crate::parallel::ended_early;
use crate::policy::Policy;
use crate::registry::Registry;
use crate::settings::registry_text;
use crate::trust::{Carriage, Claim, Rules, Standing, Taken, Trust, check_keys, not_there};
use crate::{Error, Kind, Settings};

/// A version that goes into the bundle.
pub(super) struct Chosen {
    pub(super) entry: VersionEntry,
    pub(super) origin: String,
    pub(super) proof: Proven,
}

/// Everything of one registry but its archives.
pub(super) struct Gathered {
    pub(super) registry: Registry,
    pub(super) carriage: Carriage,
    pub(super) chosen: BTreeMap<QualifiedName, Vec<Chosen>>,
    /// What the lockfile names and the registry does not have any more, or does not show.
    pub(super) lost: Vec<QualifiedName>,
}

/// Asks one registry for everything but the archives. What is not to be had any more is left out and
/// told where that is spared.
pub(super) async fn gather(
    settings: &Settings,
    policy: &Policy,
    registry: &Registry,
    wanted: &[Wanted],
    spares_lost: bool,
    since: &BTreeMap<String, BTreeSet<u64>>,
    attendant: &mut dyn Attendant,
) -> Result<Gathered, Error> {
    let names: BTreeSet<String> = wanted.iter().map(|one| one.name().to_string()).collect();
    if names.len() > MAX_INDEX_NAMES {
        let message = format!(
            "{} skills of `{}` are asked for; a bundle holds at most {MAX_INDEX_NAMES} of one \
             registry",
            names.len(),
            registry_text(registry.url())
        );
        return Err(Error::new(Kind::Failed, "bundle_too_large", message)
            .with_hint("make several, naming the skills of each"));
    }
    let mut names: Vec<QualifiedName> = wanted.iter().map(|one| one.name().clone()).collect();
    names.sort_by_cached_key(ToString::to_string);
    names.dedup();
    let trust = Trust::new(settings, Rules::of(policy));
    let mut carriage = trust.carriage(registry, &names, since).await?;
    for notice in &carriage.notices {
        notice.to(attendant);
    }
    let mut picked: BTreeMap<QualifiedName, Vec<VersionEntry>> = BTreeMap::new();
    let (mut claims, mut lost) = (Vec::new(), Vec::new());
    for one in wanted {
        let taken =
            carriage.documents.iter().find(|taken| taken.found.document.name == *one.name());
        let found = taken.ok_or_else(|| not_there(&carriage.place, one.name()));
        let found = found.and_then(|taken| Ok((taken, pick(taken, one, attendant)?)));
        let (taken, entry) = match found {
            // The lockfile's other skills are bundled all the same.
            Err(error) if spares_lost && error.kind == Kind::Failed => {
                lost.push((one.name().clone(), error));
                continue;
            }
            found => found?,
        };
        let versions = picked.entry(one.name().clone()).or_default();
        if !versions.iter().any(|known| known.version == entry.version) {
            let view = taken.found.view.clone().ok_or_else(ended_early)?;
            claims.push((view, Claim::of(&taken.found.document, &entry)));
            versions.push(entry);
        }
    }
    if picked.is_empty() && !lost.is_empty() {
        return Err(lost.swap_remove(0).1);
    }
    carriage.documents.retain(|taken| picked.contains_key(&taken.found.document.name));
    let lost = lost.into_iter().map(|(name, error)| {
        attendant.warn(&format!("`{name}` is left out: {}", error.message));
        name
    });
    let lost = lost.collect();
    let proofs = trust.proofs(&carriage.place, &claims).await?;
    let mut chosen: BTreeMap<QualifiedName, Vec<Chosen>> = BTreeMap::new();
    for ((view, claim), proof) in claims.into_iter().zip(proofs) {
        let entry = picked.get(&claim.name).into_iter().flatten();
        let entry = entry.clone().find(|entry| entry.version == claim.version);
        let entry = entry.ok_or_else(ended_early)?.clone();
        let origin = view.origin().to_owned();
        chosen.entry(claim.name).or_default().push(Chosen { entry, origin, proof });
    }
    for versions in chosen.values_mut() {
        versions.sort_by(|one, other| one.entry.version.semver().cmp(other.entry.version.semver()));
    }
    Ok(Gathered { registry: registry.clone(), carriage, chosen, lost })
}

/// The version that goes into the bundle. What is said against it is told: the other side is told it
/// too, by the document, and refuses there what an advisory forbids.
fn pick(
    taken: &Taken,
    wanted: &Wanted,
    attendant: &mut dyn Attendant,
) -> Result<VersionEntry, Error> {
    let document = &taken.found.document;
    let entry = match wanted {
        Wanted::Locked(locked) => locked_entry(document, locked)?,
        Wanted::Named(reference) => {
            let requirement = reference.requirement.clone().unwrap_or(Requirement::Latest);
            pick_passing(document, &requirement, |_| false)
                .map_err(|error| error.advising("skillpkg bundle"))?
                .entry
        }
    };
    check_keys(document, entry)?;
    for told in Standing::in_document(document, &entry.version).told(&document.name, &entry.version)
    {
        attendant.warn(&told);
    }
    Ok(entry.clone())
}
