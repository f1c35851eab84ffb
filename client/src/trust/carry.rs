//! What a bundle takes along of one registry, verified as an install verifies it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use skillpkg_schema::QualifiedName;
use skillpkg_schema::bundle::{BundledLog, tile_path};
use skillpkg_schema::log::{
    Checkpoint, Hash, Tile, TileHashes, TilePath, consistency_ranges, proof_of, tile_count,
    tiles_of, tree_range, verify_consistency,
};
use skillpkg_schema::wire::{Hashes, MAX_PROOFS, Proven, View};
use url::Url;

use super::ask::{Asked, Found, Trust};
use super::compare::{prefix_of, tile_at};
use super::error::Refusal;
use super::places::{Places, passed_over};
use super::prove::Unproven;
use crate::registry::{Indexed, Registry};
use crate::settings::registry_text;
use crate::{Error, Kind};

/// How many tiles of each level are taken along at the right edge of a tree: with those of level 0
/// the last 16,384 leaves, so that every checkpoint of their time is continued.
const TILES_AT_EDGE: u64 = 64;
/// Most tiles that are asked for at once.
const AT_ONCE: usize = 8;
/// How often a place is asked whose log moves on meanwhile.
const ATTEMPTS: usize = 3;

/// What a bundle takes along of one registry.
#[derive(Debug)]
pub(crate) struct Carriage {
    /// Documents with the views that prove them.
    pub(crate) documents: Vec<Taken>,
    /// What was asked for and is not there, or not shown to whoever asks.
    pub(crate) missing: Vec<QualifiedName>,
    /// The logs, each with one view of all names; sorted by origin.
    pub(crate) logs: Vec<BundledLog>,
    /// Tiles of the logs, by their paths in a bundle.
    pub(crate) tiles: BTreeMap<String, Bytes>,
    /// What is worth telling.
    pub(crate) notices: Vec<super::Notice>,
    /// Where all of it comes from.
    pub(crate) place: Registry,
}

/// A document as a bundle takes it along.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) found: Found,
    /// SHA-256 of its bytes.
    pub(crate) digest: Hash,
    /// Its bytes, as the registry serves them.
    pub(crate) bytes: Bytes,
}

impl Trust<'_> {
    /// The documents of `names` with one view of each log that proves them all, and the tiles that
    /// prove that each continues earlier checkpoints: those of the edge, and of the sizes in `since`
    /// by origin.
    ///
    /// All of it comes from one place, the first mirror that has it or the registry itself, and is
    /// verified before this answers.
    pub(crate) async fn carriage(
        &self,
        registry: &Registry,
        names: &[QualifiedName],
        since: &BTreeMap<String, BTreeSet<u64>>,
    ) -> Result<Carriage, Error> {
        let mut notices = Vec::new();
        let is_known = !self.store.logs_of(registry.url())?.is_empty();
        for (place, is_last) in Places::of(self.settings, registry)?.iter() {
            // Which log is the registry's own no mirror says.
            if !is_last && !is_known && place.url() != registry.url() {
                continue;
            }
            match self.carriage_at(registry.url(), place, names, since).await {
                // What a mirror does not have is asked of the registry itself.
                Ok(carriage) if !is_last && !carriage.missing.is_empty() => {
                    if let Some(name) = carriage.missing.first() {
                        notices.push(passed_over(place, &not_there(place, name)));
                    }
                }
                Ok(mut carriage) => {
                    carriage.notices.splice(..0, notices);
                    return Ok(carriage);
                }
                Err(error) if is_last => return Err(error),
                Err(error) => notices.push(passed_over(place, &error)),
            }
        }
        Err(crate::parallel::ended_early())
    }

    async fn carriage_at(
        &self,
        registry: &Url,
        place: &Registry,
        names: &[QualifiedName],
        since: &BTreeMap<String, BTreeSet<u64>>,
    ) -> Result<Carriage, Error> {
        let (mut names, mut missing) = (names.to_vec(), Vec::new());
        for _ in 0..ATTEMPTS {
            let asked = self.documents_at(registry, place, &names).await?;
            if let Some(first) = asked.missing.first() {
                // An answer that is carried is of what is there alone.
                let error = not_there(place, first);
                names.retain(|name| !asked.missing.contains(name));
                missing.extend(asked.missing);
                if names.is_empty() {
                    return Err(error);
                }
                continue;
            }
            let Some(views) = one_of_each(&asked.answers) else { continue };
            if views.is_empty() {
                let message = format!(
                    "`{}` keeps no log, so nothing of it could be proven where no network is",
                    registry_text(registry)
                );
                return Err(Error::new(Kind::Refused, "log_missing", message));
            }
            let (mut logs, mut tiles) = (Vec::new(), BTreeMap::new());
            for (origin, view) in views {
                let Some(log) = self.store.log(&origin)? else { continue };
                let relayed = log.is_relayed(registry_text(registry));
                let since = since.get(&origin).cloned().unwrap_or_default();
                tiles.extend(self.tiles(place, &view, &since).await?);
                let identities = log.record.identities.clone();
                logs.push(BundledLog { relayed, identities, view });
            }
            let Asked { documents, answers, notices, .. } = asked;
            let documents = taken(documents, &answers)?;
            let place = place.clone();
            return Ok(Carriage { documents, missing, logs, tiles, notices, place });
        }
        Err(Refusal::Busy { place: place.place() }.into())
    }

    /// The proofs of claims, in their order, verified against their views.
    pub(crate) async fn proofs(
        &self,
        place: &Registry,
        claims: &[Unproven],
    ) -> Result<Vec<Proven>, Error> {
        let mut all: BTreeMap<usize, Proven> = BTreeMap::new();
        let mut by_log: BTreeMap<&str, Vec<(usize, Unproven)>> = BTreeMap::new();
        for (at, claim) in claims.iter().enumerate() {
            by_log.entry(claim.0.origin()).or_default().push((at, claim.clone()));
        }
        for claims in by_log.into_values() {
            for claims in claims.chunks(MAX_PROOFS) {
                let (at, claims): (Vec<usize>, Vec<Unproven>) = claims.iter().cloned().unzip();
                all.extend(at.into_iter().zip(self.prove_at(place, &claims).await?));
            }
        }
        Ok(all.into_values().collect())
    }

    /// The tiles that a bundle takes along of the tree of a view, verified to lead to its root.
    async fn tiles(
        &self,
        place: &Registry,
        view: &View,
        since: &BTreeSet<u64>,
    ) -> Result<BTreeMap<String, Bytes>, Error> {
        let keys = self.store.log(&view.origin)?.map(|log| log.chain.keys_of_all());
        let keys = keys.unwrap_or_default();
        let note = view.checkpoint.as_bytes();
        let verified = Checkpoint::verify(note, &view.origin, &keys, &[]).map_err(|reason| {
            let (place, origin) = (place.place(), view.origin.clone());
            Error::from(Refusal::Unsigned { place, origin, reason })
        })?;
        let Checkpoint { size, root, .. } = verified.checkpoint;
        let unread = |reason: String| {
            let message = format!(
                "the tiles of the log of `{}` cannot be had: {reason}",
                registry_text(place.url())
            );
            Error::new(Kind::Failed, "log_tiles_missing", message)
        };
        let prefix = prefix_of(place, &view.origin).await;
        let prefix = prefix.ok_or_else(|| unread("it does not say where they lie".to_owned()))?;
        let wanted = wanted(size, since);
        let fetched: Vec<(Tile, Bytes)> = stream::iter(wanted.into_iter().map(|tile| {
            let prefix = &prefix;
            async move { tile_at(place, prefix, tile).await.map(|bytes| (tile, bytes)) }
        }))
        .buffered(AT_ONCE)
        .try_collect()
        .await
        .map_err(unread)?;
        let mut hashes = TileHashes::default();
        let refused = |reason| {
            let (place, origin) = (place.place(), view.origin.clone());
            Error::from(Refusal::Tiles { place, origin, reason })
        };
        for (tile, bytes) in &fetched {
            hashes.insert(*tile, bytes).map_err(refused)?;
        }
        hashes.check(size, &root).map_err(refused)?;
        for from in since.iter().filter(|from| **from < size) {
            let proof = consistency_ranges(*from, size).map(|ranges| proof_of(&ranges, &hashes));
            let earlier = tree_range(*from).map(|range| hashes.hash(range));
            if let (Some(proof), Some(earlier)) = (proof, earlier) {
                let (proof, earlier) = (proof.map_err(refused)?, earlier.map_err(refused)?);
                verify_consistency(*from, &earlier, size, &root, &proof)
                    .map_err(|error| unread(error.to_string()))?;
            }
        }
        let path = |tile| tile_path(&view.origin, &TilePath::Hashes(tile));
        Ok(fetched.into_iter().map(|(tile, bytes)| (path(tile), bytes)).collect())
    }
}

/// The tiles of a tree that a bundle takes along: the edge of each level, those that show what the
/// tree was at the sizes in `since`, and above each those that hold its hash.
fn wanted(size: u64, since: &BTreeSet<u64>) -> BTreeSet<Tile> {
    let mut wanted = BTreeSet::new();
    for level in 0..=7 {
        let count = tile_count(level, size);
        for index in count.saturating_sub(TILES_AT_EDGE)..count {
            wanted.extend(Tile::in_tree(level, index, size));
        }
    }
    for from in since.iter().filter(|from| **from < size) {
        let ranges = consistency_ranges(*from, size).into_iter().flatten();
        let ranges: Vec<_> = ranges.chain(tree_range(*from)).collect();
        wanted.extend(tiles_of(&ranges, size));
    }
    let mut above: Vec<Tile> = wanted.iter().copied().collect();
    while let Some(tile) = above.pop() {
        let parent = Tile::in_tree(tile.level + 1, tile.index / 256, size);
        if let Some(parent) = parent.filter(|_| tile.is_full())
            && wanted.insert(parent)
        {
            above.push(parent);
        }
    }
    wanted
}

/// One view of each log, of all names of the answers; [`None`] where the log moved on between them.
fn one_of_each(answers: &[Arc<Indexed>]) -> Option<BTreeMap<String, View>> {
    let mut views: BTreeMap<String, View> = BTreeMap::new();
    for view in answers.iter().flat_map(|answer| &answer.views) {
        let Some(merged) = views.get_mut(&view.origin) else {
            let view = View { consistency: Hashes::default(), refreshed: None, ..view.clone() };
            views.insert(view.origin.clone(), view);
            continue;
        };
        if merged.checkpoint != view.checkpoint {
            return None;
        }
        merged.buckets.extend(view.buckets.iter().cloned());
        merged.statements.extend(view.statements.iter().cloned());
    }
    for view in views.values_mut() {
        view.buckets.sort_by_key(|proven| proven.bucket);
        view.buckets.dedup_by_key(|proven| proven.bucket);
        view.statements.sort_by_cached_key(skillpkg_schema::signature::Envelope::to_bytes);
        view.statements.dedup();
    }
    Some(views)
}

/// Each document with its bytes.
fn taken(documents: Vec<Found>, answers: &[Arc<Indexed>]) -> Result<Vec<Taken>, Error> {
    let mut raw: BTreeMap<Hash, Bytes> = BTreeMap::new();
    let mut digests = BTreeMap::new();
    for answer in answers {
        raw.extend(answer.raw());
        for (document, digest) in &answer.documents {
            digests.insert(document.name.clone(), *digest);
        }
    }
    let with_bytes = |found: Found| {
        let digest = digests.get(&found.document.name)?;
        let bytes = raw.get(digest)?.clone();
        Some(Taken { found, digest: *digest, bytes })
    };
    let all: Option<Vec<Taken>> = documents.into_iter().map(with_bytes).collect();
    all.ok_or_else(crate::parallel::ended_early)
}

/// That a skill is not in a registry, or not shown to whoever asks.
pub(crate) fn not_there(registry: &Registry, name: &QualifiedName) -> Error {
    let message = format!("`{name}` is not in the registry `{}`", registry_text(registry.url()));
    Error::new(Kind::Failed, "skill_not_found", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillpkg_schema::log::{leaf_hash, root_of};

    /// The hash of a node of a tree, level and index, out of its leaves.
    fn tile_bytes(leaves: &[Hash], tile: Tile) -> Vec<u8> {
        let leaves_each = 1_usize << (8 * u32::from(tile.level));
        let first = usize::try_from(tile.index).unwrap() * 256 * leaves_each;
        let hashes = leaves[first..].chunks(leaves_each).take(usize::from(tile.width));
        hashes.flat_map(|leaves| *root_of(leaves).as_bytes()).collect()
    }

    #[test]
    fn the_tiles_of_a_bundle_prove_the_last_days_and_those_that_were_named() {
        let leaves: Vec<Hash> =
            (0..40_000_u32).map(|leaf| leaf_hash(&leaf.to_be_bytes())).collect();
        let size = leaves.len() as u64;
        let mut tiles = TileHashes::default();
        let wanted = wanted(size, &BTreeSet::from([5, 1_000]));
        assert!(wanted.len() < 2 * 64 + 10, "{}", wanted.len());
        for tile in wanted {
            tiles.insert(tile, &tile_bytes(&leaves, tile)).unwrap();
        }
        let root = root_of(&leaves);
        tiles.check(size, &root).unwrap();
        assert!(tiles.check(size, &root_of(&leaves[1..])).is_err());
        let proven = |from: u64| {
            let ranges = consistency_ranges(from, size).unwrap();
            let proof = proof_of(&ranges, &tiles).ok()?;
            let earlier = tiles.hash(tree_range(from)?).ok()?;
            assert_eq!(earlier, root_of(&leaves[..usize::try_from(from).unwrap()]));
            verify_consistency(from, &earlier, size, &root, &proof).ok()
        };
        for from in [5, 1_000, 24_001, 30_000, 39_936, 39_999, 40_000] {
            assert!(proven(from).is_some(), "{from}");
        }
        assert!(proven(3_000).is_none());
        let first = Tile::in_tree(0, 150, size).unwrap();
        let mut changed = tile_bytes(&leaves, first);
        changed[7] ^= 1;
        tiles.insert(first, &changed).unwrap();
        assert!(tiles.check(size, &root).is_err());
    }
}
