//! A bundle that is open: every byte of it compared, nothing of it believed yet.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use skillpkg_schema::bundle::{BundleIndex, BundledRegistry, BundledSkill, BundledVersion};
use skillpkg_schema::{QualifiedName, Version};
use skillpkg_store::bundle::{BundleReader, looks_like_bundle};
use url::Url;

use super::error::{lacks, quoted, refused};
use crate::project::io_error;
use crate::settings::{Chosen, RegistryChoice, registry_text, registry_url};
use crate::{Error, Kind, Settings, regular_file};

/// Most names that a hint tells.
const MOST_TOLD: usize = 10;

/// A bundle that is open. Nothing in it is believed for standing there.
pub struct Carried {
    path: PathBuf,
    index: BundleIndex,
    /// As many as the index has registries.
    urls: Vec<Url>,
    reader: Mutex<BundleReader<File>>,
    /// The origins of the logs of which it was told that they are of an earlier day.
    told: Mutex<BTreeSet<String>>,
}

/// What a bundle holds of one registry: it is asked in the registry's place.
#[derive(Clone)]
pub(crate) struct Shelf {
    carried: Arc<Carried>,
    /// Its place among the registries of the index.
    place: usize,
}

/// Whether a file starts as a bundle does.
pub fn is_bundle(path: &Path) -> bool {
    regular_file::open(path).and_then(looks_like_bundle).unwrap_or(false)
}

impl Carried {
    /// Opens a bundle, and reads it from its first byte to its last.
    pub fn open(path: &Path) -> Result<Arc<Self>, Error> {
        let file = regular_file::open(path).map_err(|error| io_error(path, &error))?;
        let reader = BundleReader::open(file).map_err(|error| refused(path, &error))?;
        let index = reader.index().clone();
        let urls = index.registries.iter().map(|registry| url_of(path, registry));
        let urls = urls.collect::<Result<_, _>>()?;
        let (reader, told) = (Mutex::new(reader), Mutex::default());
        Ok(Arc::new(Self { path: path.to_path_buf(), index, urls, reader, told }))
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it holds.
    pub fn index(&self) -> &BundleIndex {
        &self.index
    }

    /// Its registries, each with its URL.
    pub(crate) fn registries(&self) -> impl Iterator<Item = (&Url, &BundledRegistry)> {
        self.urls.iter().zip(&self.index.registries)
    }

    /// The bytes of one of its files.
    pub(super) fn bytes(&self, path: &str) -> Result<Vec<u8>, Error> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.read(path).map_err(|error| refused(&self.path, &error))
    }

    /// What it holds of the registry at `url`.
    pub(crate) fn shelf(self: &Arc<Self>, url: &Url) -> Result<Shelf, Error> {
        let wanted = registry_text(url);
        let place = self.urls.iter().position(|one| registry_text(one) == wanted);
        if let Some(place) = place {
            return Ok(Shelf { carried: Arc::clone(self), place });
        }
        let there: Vec<String> =
            self.urls.iter().take(MOST_TOLD).map(|one| quoted(registry_text(one))).collect();
        let message = format!("the bundle holds nothing of the registry `{wanted}`");
        Err(Error::new(Kind::Refused, "bundle_registry", message)
            .in_file(self.path.to_string_lossy())
            .with_hint(format!(
                "it is of {}: where that is the one that is meant, name it with `--registry`, or \
                 for the names of a scope under `scopes` in the configuration",
                there.join(", ")
            )))
    }

    /// Whether it holds the archive of a version of a registry's skill.
    pub(crate) fn holds(&self, url: &Url, name: &QualifiedName, version: &Version) -> bool {
        let versions = self.versions(url, name);
        versions.is_some_and(|versions| versions.iter().any(|one| one.version == *version))
    }

    /// The versions of a registry's skill whose archives it holds; [`None`] where it does not speak
    /// of the skill.
    pub(crate) fn versions(&self, url: &Url, name: &QualifiedName) -> Option<&[BundledVersion]> {
        let wanted = registry_text(url);
        let mut registries = self.registries();
        let (_, registry) = registries.find(|(url, _)| registry_text(url) == wanted)?;
        let skill = registry.skills.iter().find(|skill| skill.name == *name)?;
        Some(&skill.versions)
    }

    /// Every skill, each with the URL of its registry.
    pub(crate) fn skills(&self) -> impl Iterator<Item = (&Url, &BundledSkill)> {
        self.registries()
            .flat_map(|(url, registry)| registry.skills.iter().map(move |skill| (url, skill)))
    }

    pub(super) fn lacks(&self, what: &str) -> Error {
        let held = self.skills().flat_map(|(_, skill)| {
            let name = &skill.name;
            skill.versions.iter().map(move |one| format!("`{name}@{}`", one.version))
        });
        lacks(&self.path, what, &held.take(MOST_TOLD).collect::<Vec<_>>())
    }
}

impl fmt::Debug for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carried").field("path", &self.path).finish_non_exhaustive()
    }
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf").field("carried", &self.carried).field("place", &self.place).finish()
    }
}

impl Shelf {
    pub(super) fn carried(&self) -> &Carried {
        &self.carried
    }

    /// What is held of the registry.
    pub(super) fn registry(&self) -> Result<&BundledRegistry, Error> {
        let found = self.carried.index.registries.get(self.place);
        found.ok_or_else(crate::parallel::ended_early)
    }

    /// The versions of a skill whose archives are there.
    pub(crate) fn versions(&self, name: &QualifiedName) -> &[BundledVersion] {
        let skill = self
            .registry()
            .ok()
            .and_then(|registry| registry.skills.iter().find(|skill| skill.name == *name));
        skill.map_or(&[], |skill| &skill.versions)
    }

    /// Whether the bundle says that its registry relays the log of this origin: its own word.
    pub(crate) fn relays(&self, origin: &str) -> bool {
        let registry = self.registry().ok();
        let mut logs = registry.into_iter().flat_map(|registry| &registry.logs);
        logs.any(|log| log.view.origin == origin && log.relayed)
    }

    /// Whether this is the first time that something is told of the log of this origin.
    pub(crate) fn tells_first(&self, origin: &str) -> bool {
        let mut told = self.carried.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(origin.to_owned())
    }

    /// Where the bundle lies, as messages show it.
    pub(crate) fn shown(&self) -> String {
        skillpkg_schema::diagnostic::escape(&self.carried.path.to_string_lossy())
    }

    /// That it does not hold something.
    pub(crate) fn lacks(&self, what: &str) -> Error {
        self.carried.lacks(what)
    }
}

fn url_of(path: &Path, registry: &BundledRegistry) -> Result<Url, Error> {
    let url = registry_url(&registry.url).ok();
    url.filter(|url| registry_text(url) == registry.url).ok_or_else(|| {
        let message = format!("{} is not the URL of a registry", quoted(&registry.url));
        Error::new(Kind::Verification, "bundle_index", message).in_file(path.to_string_lossy())
    })
}

impl Settings {
    /// These settings with a bundle in the place of every registry: no network is asked.
    ///
    /// Where no registry is configured, a bundle of one registry says which it is: that decides what
    /// the lockfile will name, and not whose log is believed. A log is believed on first sight only
    /// where `trust_on_first_use` says so, whatever holds for registries: their host's name was
    /// proven, and a file proves nothing about where it comes from.
    #[must_use]
    pub fn with_bundle(mut self, carried: Arc<Carried>, trust_on_first_use: bool) -> Self {
        self.offline = true;
        self.trust_on_first_use = trust_on_first_use;
        if self.registry.is_none()
            && let [url] = carried.urls.as_slice()
        {
            self.registry = Some(RegistryChoice { url: url.clone(), chosen: Chosen::ByProject });
        }
        self.bundle = Some(carried);
        self
    }

    /// Whether somebody can be asked about a version: a registry, or a bundle that holds it.
    pub(crate) fn can_ask(&self, url: &Url, name: &QualifiedName, version: &Version) -> bool {
        match &self.bundle {
            Some(bundle) => bundle.holds(url, name, version),
            None => !self.offline,
        }
    }
}
