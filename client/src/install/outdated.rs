//! `outdated` and `update --dry-run`: what an update would do, without doing any of it.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::wire::{Document, VersionEntry};
use skillpkg_schema::{ContentAddress, Manifest, QualifiedName, Requirement, Version};
use skillpkg_store::content::Store;

use super::attend::Attendant;
use super::index::Index;
use super::list::settle;
use super::pick::{Picked, pick, pick_passing};
use super::prepare::stored;
use super::session::{open_directory, root_of};
use super::update::named;
use crate::activation::growth;
use crate::agents::Reach;
use crate::difference::{Difference, Side};
use crate::policy::Policy;
use crate::project::{Locked, Source, Wanted, requirement_text};
use crate::registry::Registry;
use crate::state::{Signers, State};
use crate::trust::{Standing, now};
use crate::{Error, Settings};

/// Requests for manifests that are under way at once.
const AT_ONCE: usize = 8;

/// One locked skill, and what an update would make of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outdated {
    /// The skill.
    pub name: QualifiedName,
    /// What the project asks for, as `skillpkg.toml` has it.
    pub requirement: String,
    /// Where it comes from.
    pub source: Source,
    /// The locked version.
    pub current: Version,
    /// The locked snapshot.
    pub address: ContentAddress,
    /// The version that an update would take; [`None`] for a skill from a file, and where none will
    /// do.
    pub fits: Option<Version>,
    /// The newest version there is, whatever the project asks for.
    pub newest: Option<Version>,
    /// What an update would add to what the locked version may do, phrases that are safe to print;
    /// [`None`] where nothing would move, or one of the two manifests could not be had.
    pub adds: Option<Vec<String>>,
    /// What its registry says against the locked version.
    pub standing: Standing,
    /// Newer versions that would do and are kept back by a policy, and why, as sentences.
    pub kept_back: Vec<String>,
    /// Why no version will do, or why an update refuses the one that would; safe to print.
    pub problem: Option<String>,
    /// What an update would change; only [`preview`] fills it in.
    pub difference: Option<Difference>,
}

impl Outdated {
    /// Whether an update would take another version.
    pub fn moves(&self) -> bool {
        self.fits.as_ref().is_some_and(|fits| *fits != self.current)
    }
}

/// What an update of the skills with these names would do, or of all where there are none; sorted
/// by name. Asks each registry once, and for the manifest of each version that would come. Changes
/// nothing of the project; what registries say against versions is remembered, unless the settings
/// only look.
pub async fn outdated(
    settings: &Settings,
    reach: Reach,
    names: &[String],
    attendant: &mut dyn Attendant,
) -> Result<Vec<Outdated>, Error> {
    look(settings, reach, names, false, attendant).await
}

/// [`outdated`], with all that would change. The archive of each version that would come is read,
/// and nothing of it is kept.
pub async fn preview(
    settings: &Settings,
    reach: Reach,
    names: &[String],
    attendant: &mut dyn Attendant,
) -> Result<Vec<Outdated>, Error> {
    look(settings, reach, names, true, attendant).await
}

async fn look(
    settings: &Settings,
    reach: Reach,
    names: &[String],
    compare: bool,
    attendant: &mut dyn Attendant,
) -> Result<Vec<Outdated>, Error> {
    if !settings.looks_only {
        settle(settings, reach, attendant)?;
    }
    if !root_of(settings, reach).is_dir() {
        return Ok(Vec::new());
    }
    let directory = open_directory(settings, reach)?;
    let files = directory.read()?;
    for warning in &files.warnings {
        attendant.warn(&warning.to_string());
    }
    let skills = &files.project.skills;
    let chosen: Vec<QualifiedName> =
        names.iter().map(|text| named(text, skills)).collect::<Result<_, _>>()?;
    let mut pairs: Vec<(&Wanted, &Locked)> = Vec::new();
    for locked in files.lock.skills() {
        let wanted = files.project.skill(&locked.name);
        let is_chosen = names.is_empty() || chosen.contains(&locked.name);
        pairs.extend(wanted.filter(|_| is_chosen).map(|wanted| (wanted, locked)));
    }
    let asked: Vec<_> = pairs
        .iter()
        .filter(|(wanted, _)| wanted.file.is_none())
        .map(|(wanted, locked)| (wanted.name.clone(), locked.source.registry().cloned()))
        .collect();
    let policy = Policy::of_project(settings, directory.root())?;
    let index = if asked.is_empty() {
        Index::default()
    } else {
        Index::ask_each(settings, &policy, &asked).await?
    };
    if !settings.looks_only {
        let state = State::new(&settings.home);
        let signers = state.signers()?;
        state.learn_revocations(&signers, index.documents())?;
        index.learn_standings(&settings.home, now())?;
    }
    for notice in &index.notices {
        notice.to(attendant);
    }
    let signers = State::new(&settings.home).signers()?;
    let looker = Looker { settings, policy: &policy, index: &index, signers: &signers, compare };
    stream::iter(pairs.into_iter().map(|(wanted, locked)| looker.one(wanted, locked)))
        .buffered(AT_ONCE)
        .try_collect()
        .await
}

struct Looker<'a> {
    settings: &'a Settings,
    policy: &'a Policy,
    index: &'a Index,
    signers: &'a Signers,
    compare: bool,
}

impl Looker<'_> {
    async fn one(&self, wanted: &Wanted, locked: &Locked) -> Result<Outdated, Error> {
        let mut one = Outdated {
            name: wanted.name.clone(),
            requirement: requirement_text(&wanted.requirement),
            source: locked.source.clone(),
            current: locked.version.clone(),
            address: locked.address,
            fits: None,
            newest: None,
            adds: None,
            standing: Standing::default(),
            kept_back: Vec::new(),
            problem: None,
            difference: None,
        };
        let Some((registry, document)) = self.index.get(&wanted.name) else {
            // One that is not shown any more hides nothing of the others.
            one.problem = self.index.absence(&wanted.name).map(|error| {
                let hint = error.hint.unwrap_or_default();
                format!("{}: {hint}", error.message)
            });
            return Ok(one);
        };
        one.standing = Standing::in_document(document, &locked.version);
        one.newest = pick(document, &Requirement::Latest).ok().map(|entry| entry.version.clone());
        // One snapshot has no newer one.
        if matches!(wanted.requirement, Requirement::Address(_)) {
            one.fits = Some(locked.version.clone());
            return Ok(one);
        }
        let now = Timestamp::now();
        let is_young = |entry: &VersionEntry| self.policy.is_young(entry, now);
        let entry = match pick_passing(document, &wanted.requirement, is_young) {
            Ok(Picked { entry, passed_over }) => {
                let newer = passed_over.into_iter().filter(|one| one.version > locked.version);
                let kept_back = newer.map(|entry| self.policy.passed_over(&wanted.name, entry));
                one.kept_back = kept_back.collect();
                entry
            }
            Err(error) => {
                one.problem = Some(error.to_string());
                return Ok(one);
            }
        };
        one.fits = Some(entry.version.clone());
        if one.moves() {
            one.adds = self.adds(registry, locked, entry).await?;
        }
        if one.moves() && !self.is_same_signer(locked, entry) {
            one.problem = Some(format!(
                "`{}@{}` is signed by somebody else than what is installed: `skillpkg update` \
                 refuses it without `--accept-signer`",
                wanted.name, entry.version
            ));
        }
        if one.moves() && self.compare {
            let difference = self.difference(registry, document, locked, entry).await?;
            one.adds = Some(difference.adds.clone());
            one.difference = Some(difference);
        }
        Ok(one)
    }

    /// Whether one of the keys that are pinned for a skill signed a version, as an update asks.
    fn is_same_signer(&self, locked: &Locked, entry: &VersionEntry) -> bool {
        let pinned = self.signers.pinned(locked.source.registry(), &locked.name);
        let is_known =
            |id: &KeyId| *id == locked.key || pinned.is_some_and(|pinned| pinned.keys.contains(id));
        entry.key_ids.iter().any(is_known)
    }

    /// What the manifests say that is added; [`None`] where one of them cannot be had.
    async fn adds(
        &self,
        registry: &Registry,
        locked: &Locked,
        entry: &VersionEntry,
    ) -> Result<Option<Vec<String>>, Error> {
        if self.compare {
            return Ok(None);
        }
        let (before, after) = (
            self.manifest(registry, &locked.address).await?,
            self.manifest(registry, &entry.address).await?,
        );
        Ok(before.zip(after).map(|(before, after)| growth(&before, &after)))
    }

    /// A manifest, of the digest that is asked for.
    async fn manifest(
        &self,
        registry: &Registry,
        address: &ContentAddress,
    ) -> Result<Option<Manifest>, Error> {
        let known = match Store::look(&self.settings.home)? {
            Some(store) => stored(&store, address)?,
            None => None,
        };
        if let Some(stored) = known {
            return Ok(Some(stored.manifest));
        }
        // That there is a newer version is worth telling all the same.
        Ok(registry.manifest(address).await.ok())
    }

    async fn difference(
        &self,
        registry: &Registry,
        document: &Document,
        locked: &Locked,
        entry: &VersionEntry,
    ) -> Result<Difference, Error> {
        let mut notices = Vec::new();
        let before = if let Some(side) = Side::snapshot(self.settings, &locked.address)? {
            side
        } else {
            let entry = super::from_registry::locked_entry(document, locked)?;
            Side::release(self.settings, registry, document, entry, &mut notices).await?
        };
        let after = Side::release(self.settings, registry, document, entry, &mut notices).await?;
        Difference::of(&before, &after)
    }
}
