//! Which published version a directory is.

use std::collections::BTreeSet;
use std::path::Path;

use skillpkg_schema::wire::{Document, VersionEntry};
use skillpkg_schema::{ContentAddress, Manifest, QualifiedName, Scope, SkillName, Version};
use skillpkg_store::content::Store;
use skillpkg_store::pack::{PackOptions, Packing};

use super::compare::{Comparison, compare};
use super::entry::{Entry, name_of};
use super::known::Known;
use super::tree::FoundTree;

/// Most versions of one skill whose manifests are looked at for one directory, newest first.
const MOST_VERSIONS: usize = 16;

/// The names under which a directory may be published.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    /// In the scope that an entry gives, which come before all others.
    pub(super) told: BTreeSet<QualifiedName>,
    pub(super) others: BTreeSet<QualifiedName>,
    /// The version that an entry gives.
    pub(super) version: Option<Version>,
}

impl Names {
    /// Those of a directory of this name, with this tree, of which these entries tell.
    pub(super) fn of(
        directory: &str,
        tree: Option<&FoundTree>,
        entries: &[&Entry],
        scopes: &BTreeSet<Scope>,
    ) -> Self {
        let mut names = Self::default();
        let in_file = tree.and_then(|tree| tree.name.as_deref());
        let own: BTreeSet<SkillName> =
            [Some(directory), in_file].into_iter().flatten().filter_map(name_of).collect();
        for entry in entries {
            let all = own.iter().chain(&entry.name);
            for name in all {
                let whole = QualifiedName::new(entry.scope.clone(), name.clone());
                names.told.insert(whole);
            }
            names.version = names.version.or_else(|| entry.version.clone());
        }
        let given: BTreeSet<&SkillName> =
            own.iter().chain(entries.iter().filter_map(|entry| entry.name.as_ref())).collect();
        for name in given {
            names.others.insert(QualifiedName::new(None, name.clone()));
            for scope in scopes {
                names.others.insert(QualifiedName::new(Some(scope.clone()), name.clone()));
            }
        }
        names.others.retain(|name| !names.told.contains(name));
        names
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &QualifiedName> {
        self.told.iter().chain(&self.others)
    }
}

/// A version that a directory is, or is nearest to.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) name: QualifiedName,
    pub(super) version: Version,
    pub(super) address: ContentAddress,
    pub(super) comparison: Comparison,
}

/// What a directory was found to be.
#[derive(Debug, Clone, Default)]
pub(super) struct Identified {
    /// The versions that it is exactly, one a name, the likeliest name first.
    pub(super) exact: Vec<Candidate>,
    /// Where it is none exactly: the one it differs least from.
    pub(super) nearest: Option<Candidate>,
    /// Whether a skill of one of the names is published at all.
    pub(super) is_published: bool,
}

/// Finds out which published version a directory is.
pub(super) async fn identify(
    known: &mut Known,
    store: Option<&Store>,
    path: &Path,
    tree: &FoundTree,
    names: &Names,
) -> Identified {
    let mut identified = Identified::default();
    let published: Vec<(QualifiedName, Vec<VersionEntry>)> = names
        .all()
        .filter_map(|name| Some((name.clone(), ordered(known.document(name)?, names))))
        .collect();
    for (name, versions) in published {
        identified.is_published = true;
        if let Some(exact) = by_address(path, tree, &name, &versions) {
            identified.exact.push(exact);
            continue;
        }
        for entry in versions.iter().take(MOST_VERSIONS) {
            let Some(manifest) = known.manifest(store, &name, entry).await else { continue };
            let candidate = candidate(&name, entry, compare(tree, manifest));
            if candidate.comparison.is_exact() {
                identified.exact.push(candidate);
                break;
            }
            let differing = candidate.comparison.differing.len();
            let nearest = &mut identified.nearest;
            if nearest.as_ref().is_none_or(|other| differing < other.comparison.differing.len()) {
                *nearest = Some(candidate);
            }
        }
    }
    identified
}

/// The versions in the order in which they are looked at: the one that an entry gives, then the
/// newest first, those that were yanked last.
fn ordered(document: &Document, names: &Names) -> Vec<VersionEntry> {
    let mut versions: Vec<VersionEntry> = document.versions.iter().rev().cloned().collect();
    versions.sort_by_key(|entry| {
        (Some(&entry.version) != names.version.as_ref(), entry.yanked.is_some())
    });
    versions
}

/// The version that a directory is by its address alone, which asks nobody anything.
fn by_address(
    path: &Path,
    tree: &FoundTree,
    name: &QualifiedName,
    versions: &[VersionEntry],
) -> Option<Candidate> {
    let first = versions.first()?;
    let options = PackOptions {
        name: Some(name.clone()),
        version: Some(first.version.clone()),
        allow_secrets: true,
    };
    let packing = Packing::plan(path, &options).ok()?;
    let manifest = packing.manifest();
    versions.iter().find_map(|entry| {
        let manifest = Manifest { version: entry.version.clone(), ..manifest.clone() };
        if manifest.address() != entry.address {
            return None;
        }
        // What packing leaves out is there all the same.
        let candidate = candidate(name, entry, compare(tree, &manifest));
        candidate.comparison.is_exact().then_some(candidate)
    })
}

fn candidate(name: &QualifiedName, entry: &VersionEntry, comparison: Comparison) -> Candidate {
    let (version, address) = (entry.version.clone(), entry.address);
    Candidate { name: name.clone(), version, address, comparison }
}
