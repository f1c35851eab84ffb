//! What an index says, held against itself.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    BundleIndex, BundleIndexError, BundledRegistry, MAX_BUNDLE_BYTES, MAX_BUNDLED_FILES,
    MAX_BUNDLED_REGISTRIES, archive_path, document_path, log_directory,
};
use crate::address::DIGEST_BYTES;
use crate::limits::MAX_ARCHIVE_BYTES;
use crate::log::{MAX_IDENTITIES, Tile, TilePath};
use crate::wire::{MAX_ANSWER_BYTES, MAX_INDEX_NAMES};

/// Most logs of one registry: its own and what it relays.
const MAX_LOGS: usize = 8;

type Checked = Result<(), BundleIndexError>;

impl BundleIndex {
    /// That everything is there once and in order, within its bounds, and nothing else.
    pub fn check(&self) -> Checked {
        most("registries", self.registries.len(), MAX_BUNDLED_REGISTRIES)?;
        most("files", self.files.len(), MAX_BUNDLED_FILES)?;
        in_order("registry", self.registries.iter().map(|one| one.url.as_str()))?;
        in_order("file", self.files.iter().map(|file| file.path.as_str()))?;
        let total = self.files.iter().try_fold(0_u64, |sum, file| sum.checked_add(file.size));
        if total.is_none_or(|total| total > MAX_BUNDLE_BYTES) {
            return Err(BundleIndexError::TooLarge);
        }
        let mut wanted = BTreeSet::new();
        let mut trees: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for registry in &self.registries {
            registry.check(&mut wanted)?;
            for log in &registry.logs {
                let sizes = trees.entry(log_directory(&log.view.origin)).or_default();
                // The last leaf is the one of the heads.
                sizes.push(log.view.heads.index.saturating_add(1));
            }
        }
        for file in &self.files {
            let size = || BundleIndexError::Size { path: file.path.clone(), size: file.size };
            if let Some(tile) = tile_of(&file.path, &trees) {
                if file.size != u64::from(tile.width) * DIGEST_BYTES as u64 {
                    return Err(size());
                }
                continue;
            }
            if !wanted.remove(&file.path) {
                return Err(BundleIndexError::Unexpected(file.path.clone()));
            }
            let is_archive = file.path.starts_with("archives/");
            if file.size > if is_archive { MAX_ARCHIVE_BYTES } else { MAX_ANSWER_BYTES } {
                return Err(size());
            }
            if !file.path.contains(&file.sha256.to_string()) {
                return Err(BundleIndexError::Digest(file.path.clone()));
            }
        }
        match wanted.into_iter().next() {
            Some(missing) => Err(BundleIndexError::Missing(missing)),
            None => Ok(()),
        }
    }
}

impl BundledRegistry {
    fn check(&self, wanted: &mut BTreeSet<String>) -> Checked {
        most("skills of one registry", self.skills.len(), MAX_INDEX_NAMES)?;
        most("logs of one registry", self.logs.len(), MAX_LOGS)?;
        in_order("log", self.logs.iter().map(|log| log.view.origin.as_str()))?;
        let names: Vec<String> = self.skills.iter().map(|skill| skill.name.to_string()).collect();
        in_order("skill", names.iter().map(String::as_str))?;
        for log in &self.logs {
            most("identities of one log", log.identities.len(), MAX_IDENTITIES)?;
            most("buckets of one log", log.view.buckets.len(), MAX_INDEX_NAMES)?;
            most("statements of one log", log.view.statements.len(), MAX_INDEX_NAMES)?;
        }
        for (skill, name) in self.skills.iter().zip(names) {
            wanted.insert(document_path(&skill.document));
            let mut before = None;
            for version in &skill.versions {
                let label = || format!("{name}@{}", version.version);
                if before.is_some_and(|before| before >= version.version.semver()) {
                    return Err(BundleIndexError::Order { what: "version", name: label() });
                }
                before = Some(version.version.semver());
                if !self.logs.iter().any(|log| log.view.origin == version.origin) {
                    let origin = version.origin.clone();
                    return Err(BundleIndexError::NoLog { name: label(), origin });
                }
                let path = archive_path(&version.archive)
                    .ok_or_else(|| BundleIndexError::Digest(version.archive.to_string()))?;
                wanted.insert(path);
            }
        }
        Ok(())
    }
}

/// The tile that a path names, where it is one of a tree that is spoken of.
fn tile_of(path: &str, trees: &BTreeMap<String, Vec<u64>>) -> Option<Tile> {
    let (directory, rest) = path.strip_prefix("logs/")?.split_once('/')?;
    let TilePath::Hashes(tile) = TilePath::parse(rest)? else { return None };
    let sizes = trees.get(directory)?;
    sizes
        .iter()
        .any(|size| Tile::in_tree(tile.level, tile.index, *size) == Some(tile))
        .then_some(tile)
}

fn most(what: &'static str, count: usize, most: usize) -> Checked {
    if count > most { Err(BundleIndexError::TooMany { what, count, most }) } else { Ok(()) }
}

fn in_order<'t>(what: &'static str, names: impl Iterator<Item = &'t str>) -> Checked {
    let mut before: Option<&str> = None;
    for name in names {
        if before.is_some_and(|before| before >= name) {
            return Err(BundleIndexError::Order { what, name: name.to_owned() });
        }
        before = Some(name);
    }
    Ok(())
}
