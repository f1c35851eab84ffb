//! The documents of skills, from the registries that their names go to.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::try_join_all;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::wire::{Document, VersionEntry};
use url::Url;

use crate::policy::{From, Policy, refuse};
use crate::registry::Registry;
use crate::settings::registry_text;
use crate::trust::{Claim, Found, Notice, Rules, Said, Standings, Trust, Unproven};
use crate::{Error, Kind, Settings, trust};

/// The documents of skills, and the registries that they came from.
#[derive(Debug, Default)]
pub(super) struct Index {
    documents: BTreeMap<QualifiedName, (Registry, Found)>,
    /// Skills that their registries do not have, or do not show.
    absent: BTreeMap<QualifiedName, Registry>,
    /// What is worth telling about how they were had.
    pub(super) notices: Vec<Notice>,
}

impl Index {
    /// Asks for the documents of `names`, each of which must be there; see [`Index::ask_each`].
    pub(super) async fn ask(
        settings: &Settings,
        policy: &Policy,
        names: &[(QualifiedName, Option<Url>)],
    ) -> Result<Self, Error> {
        let index = Self::ask_each(settings, policy, names).await?;
        match names.iter().find(|(name, _)| index.absent.contains_key(name)) {
            Some((name, _)) => Err(index.unknown(name).await),
            None => Ok(index),
        }
    }

    /// Asks for the documents of `names`: one request a registry. What is not there, or may not be
    /// read, is [`Index::absence`].
    ///
    /// Beside each name stands the registry that the lockfile has it from, which is asked where none
    /// is configured. Nobody but the project chose it: no token of the environment goes there.
    /// What a policy does not let come from there is not asked for. Each document is proven by the
    /// log of its registry, where that keeps one.
    pub(super) async fn ask_each(
        settings: &Settings,
        policy: &Policy,
        names: &[(QualifiedName, Option<Url>)],
    ) -> Result<Self, Error> {
        let mut forbidden = Vec::new();
        let mut by_registry: BTreeMap<String, (Registry, Vec<QualifiedName>)> = BTreeMap::new();
        for (name, locked) in names {
            let choice = match (settings.registry_for(name), locked) {
                (Err(error), Some(url)) if error.code == "no_registry" => settings.registry_at(url),
                (choice, _) => choice?,
            };
            let violations = policy.origin(name, From::Registry(&choice.url));
            if !violations.is_empty() {
                forbidden.extend(violations);
                continue;
            }
            let key = registry_text(&choice.url).to_owned();
            if let Some((_, names)) = by_registry.get_mut(&key) {
                names.push(name.clone());
            } else {
                let registry = Registry::chosen(settings, &choice)?;
                by_registry.insert(key, (registry, vec![name.clone()]));
            }
        }
        refuse(&forbidden)?;
        let trust = Trust::new(settings, Rules::of(policy));
        let asked = by_registry.into_values().map(|(registry, names)| {
            let trust = &trust;
            async move {
                let answer = trust.documents(&registry, &names).await?;
                Ok::<_, Error>((registry, names, answer))
            }
        });
        let mut index = Self::default();
        for (registry, names, answered) in try_join_all(asked).await? {
            index.notices.extend(answered.notices);
            // Only what was asked for counts, whatever else an answer holds.
            for found in answered.documents {
                if names.contains(&found.document.name) {
                    let name = found.document.name.clone();
                    index.documents.insert(name, (registry.clone(), found));
                }
            }
            for name in names {
                if !index.documents.contains_key(&name) {
                    index.absent.insert(name, registry.clone());
                }
            }
        }
        Ok(index)
    }

    /// Proves that versions of its documents are in the logs of their registries: one request a
    /// registry, for those of which no proof is kept.
    pub(super) async fn prove(
        &mut self,
        settings: &Settings,
        policy: &Policy,
        chosen: &[(QualifiedName, VersionEntry)],
    ) -> Result<(), Error> {
        let trust = Trust::new(settings, Rules::of(policy));
        let mut by_registry: BTreeMap<&str, (&Registry, Vec<Unproven>)> = BTreeMap::new();
        for (name, entry) in chosen {
            let Some((registry, found)) = self.documents.get(name) else { continue };
            let Some(view) = &found.view else { continue };
            let claim = (Arc::clone(view), Claim::of(&found.document, entry));
            let key = registry_text(registry.url());
            by_registry.entry(key).or_insert((registry, Vec::new())).1.push(claim);
        }
        for (registry, claims) in by_registry.into_values() {
            trust.prove(registry, claims, &mut self.notices).await?;
        }
        Ok(())
    }

    /// Remembers what the documents say against versions: those of a bundle as of the time of the
    /// checkpoint that proves them.
    pub(super) fn learn_standings(&self, home: &Path, now: u64) -> Result<(), Error> {
        let is_carried = self.documents.values().any(|(registry, _)| registry.shelf().is_some());
        let said = self.documents.values().map(|(registry, found)| {
            let said = Said::carried(registry.url(), found, now);
            if is_carried { said } else { Said { at: now, ..said } }
        });
        if is_carried { Standings::learn_earlier(home, said) } else { Standings::learn(home, said) }
    }

    /// Every document, and the registry it came from.
    pub(super) fn documents(&self) -> impl Iterator<Item = (&Url, &Document)> {
        self.documents.values().map(|(registry, found)| (registry.url(), &found.document))
    }

    /// That a skill which was asked for is not there, or is not shown to whoever asks.
    pub(super) fn absence(&self, name: &QualifiedName) -> Option<Error> {
        Some(not_there(self.absent.get(name)?, name))
    }

    /// The same, with the nearest name that the registry's search gives.
    pub(super) async fn unknown(&self, name: &QualifiedName) -> Error {
        match self.absent.get(name) {
            Some(registry) => unknown(registry, name).await,
            None => crate::parallel::ended_early(),
        }
    }

    /// The document of `name`, and the registry it came from.
    pub(super) fn get(&self, name: &QualifiedName) -> Option<(&Registry, &Document)> {
        self.documents.get(name).map(|(registry, found)| (registry, &found.document))
    }
}

/// That a registry does not have a skill, with the nearest name that its search gives.
pub(super) async fn unknown(registry: &Registry, name: &QualifiedName) -> Error {
    let error = not_there(registry, name);
    match registry.nearest(name).await {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

/// That a registry does not have a skill, or does not show it.
fn not_there(registry: &Registry, name: &QualifiedName) -> Error {
    let error = trust::not_there(registry, name);
    let mut hint =
        "look for it with `skillpkg search`; one of a private scope is shown to its members"
            .to_owned();
    if !registry.has_token() {
        hint.push_str(", after `skillpkg login`");
        if let Some(reason) = registry.withheld() {
            let _ = write!(hint, "; {reason}");
        }
    }
    error.with_hint(hint)
}

/// That a lockfile names another registry than the one its skill's name goes to.
pub(super) fn check_registry(
    settings: &Settings,
    name: &QualifiedName,
    locked: &Url,
) -> Result<(), Error> {
    let Ok(choice) = settings.registry_for(name) else { return Ok(()) };
    if registry_text(&choice.url) == registry_text(locked) {
        return Ok(());
    }
    // The lockfile came with the project: it does not decide which host is spoken to.
    let message = format!(
        "the lockfile has `{name}` from `{}`; here it comes from `{}`",
        registry_text(locked),
        registry_text(&choice.url)
    );
    Err(Error::new(Kind::Refused, "registry_changed", message).with_hint(format!(
        "`--registry {}` uses the one of the lockfile; `skillpkg update {name}` takes it from here",
        registry_text(locked)
    )))
}
