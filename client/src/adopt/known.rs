//! What the registries have under the names that directories and entries give.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use skillpkg_schema::wire::{Document, VersionEntry};
use skillpkg_schema::{ContentAddress, Manifest, QualifiedName, Scope};
use skillpkg_store::content::Store;

use crate::policy::{From, Policy};
use crate::registry::Registry;
use crate::settings::registry_text;
use crate::trust::{Notice, Rules, Trust, check_log};
use crate::{Error, Settings};

/// Most names that are asked for.
const MOST_NAMES: usize = 4_000;
/// Most scopes that a name is looked for in.
const MOST_SCOPES: usize = 50;
/// Most manifests that are fetched.
const MOST_MANIFESTS: usize = 300;

/// What the registries have.
#[derive(Debug, Default)]
pub(super) struct Known {
    documents: BTreeMap<QualifiedName, (Registry, Document)>,
    manifests: HashMap<ContentAddress, Option<Manifest>>,
    /// The registries that were asked, as they are written.
    pub(super) registries: BTreeSet<String>,
    pub(super) notices: Vec<Notice>,
    /// How many manifests were fetched.
    fetched: usize,
}

/// The scopes that names are looked for in beside the empty one and those that entries give: those
/// that are routed to a registry, and those of the account whose token there is.
pub(super) async fn scopes(settings: &Settings) -> BTreeSet<Scope> {
    let mut scopes: BTreeSet<Scope> = settings.routes.keys().cloned().collect();
    let registry =
        settings.chosen_registry().and_then(|choice| Registry::chosen(settings, &choice));
    if let Ok(registry) = registry
        && registry.has_token()
        // A token goes to no registry that has not shown its log.
        && check_log(settings, &registry).await.is_ok()
        && let Ok(who) = registry.who_am_i().await
    {
        scopes.extend(who.scopes);
    }
    scopes.into_iter().take(MOST_SCOPES).collect()
}

impl Known {
    /// Asks each registry for the documents of the names that go to it, proven by its log.
    pub(super) async fn ask(
        settings: &Settings,
        policy: &Policy,
        names: BTreeSet<QualifiedName>,
    ) -> Result<Self, Error> {
        let mut known = Self::default();
        let mut by_registry: BTreeMap<String, (Registry, Vec<QualifiedName>)> = BTreeMap::new();
        for name in names.into_iter().take(MOST_NAMES) {
            let choice = settings.registry_for(&name)?;
            if !policy.origin(&name, From::Registry(&choice.url)).is_empty() {
                continue;
            }
            let key = registry_text(&choice.url).to_owned();
            if let Some((_, names)) = by_registry.get_mut(&key) {
                names.push(name);
            } else {
                by_registry.insert(key, (Registry::chosen(settings, &choice)?, vec![name]));
            }
        }
        let trust = Trust::new(settings, Rules::of(policy));
        for (url, (registry, names)) in by_registry {
            let asked = trust.documents(&registry, &names).await?;
            known.registries.insert(url);
            known.notices.extend(asked.notices);
            for found in asked.documents {
                if names.contains(&found.document.name) {
                    let name = found.document.name.clone();
                    known.documents.insert(name, (registry.clone(), found.document));
                }
            }
        }
        Ok(known)
    }

    /// The document of a name.
    pub(super) fn document(&self, name: &QualifiedName) -> Option<&Document> {
        self.documents.get(name).map(|(_, document)| document)
    }

    /// The manifest of a version, from the store or its registry; [`None`] where it is not had, or
    /// too many were fetched already.
    pub(super) async fn manifest(
        &mut self,
        store: Option<&Store>,
        name: &QualifiedName,
        entry: &VersionEntry,
    ) -> Option<&Manifest> {
        if !self.manifests.contains_key(&entry.address) {
            let stored = store.and_then(|store| store.stored(&entry.address).ok().flatten());
            let manifest = match (stored, self.documents.get(name)) {
                (Some(stored), _) => Some(stored.manifest),
                (None, Some((registry, _)))
                    if registry.shelf().is_none() && self.fetched < MOST_MANIFESTS =>
                {
                    self.fetched += 1;
                    registry.manifest(&entry.address).await.ok()
                }
                _ => None,
            };
            self.manifests.insert(entry.address, manifest);
        }
        self.manifests.get(&entry.address)?.as_ref()
    }
}
