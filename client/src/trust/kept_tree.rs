//! The tree of a log that a bundle brought, kept so that a bundle of an earlier day can be told from
//! one of another history.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::log::{
    Checkpoint, Tile, TileHashes, TilePath, TilesError, consistency_ranges, proof_of, tree_range,
    verify_consistency,
};
use skillpkg_schema::wire::View;

use super::ask::{Notice, Trust};
use super::error::{Refusal, Shown};
use super::store::{KnownLog, TrustStore};
use super::time;
use super::view::VerifiedView;
use crate::Error;
use crate::registry::Registry;
use crate::state::{Durable, Stored};

/// The file of a tree beside that of its log.
pub(super) const TREE_FILE: &str = "tree.json";

/// Tiles that lead to the root of a verified checkpoint.
#[derive(Debug, Clone)]
pub(super) struct Tree(Vec<(Tile, Vec<u8>)>);

/// A tree as its file holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TreeRecord {
    /// The checkpoint, a signed note, that was verified to be of the log that is known.
    checkpoint: String,
    /// By their paths, in base64.
    tiles: BTreeMap<String, String>,
}

impl TrustStore {
    fn tree_file(&self, origin: &str) -> Stored {
        Stored::new(self.directory_of(origin).join(TREE_FILE))
    }

    /// Keeps the tree of the checkpoint that is known now. A kill leaves the tree before or this
    /// one; one that a loss of power damages counts as none.
    pub(super) fn keep_tree(&self, now: &KnownLog, tree: Tree) -> Result<(), Error> {
        if self.is_looking() {
            return Ok(());
        }
        let Tree(tiles) = tree;
        let tiles = tiles
            .into_iter()
            .map(|(tile, bytes)| (TilePath::Hashes(tile).to_string(), STANDARD.encode(bytes)));
        let record =
            TreeRecord { checkpoint: now.record.checkpoint.clone(), tiles: tiles.collect() };
        Ok(self.tree_file(now.origin()).write_as(&record, Durable::No)?)
    }

    /// The tree that is kept of a log, with its checkpoint, where it holds together.
    fn tree(&self, log: &KnownLog) -> Option<(Checkpoint, TileHashes)> {
        let record: TreeRecord = self.tree_file(log.origin()).read().ok()??;
        let keys = log.chain.keys_of_all();
        let note = record.checkpoint.as_bytes();
        let verified = Checkpoint::verify(note, log.origin(), &keys, &[]).ok()?.checkpoint;
        let mut tiles = TileHashes::default();
        for (path, bytes) in record.tiles {
            let TilePath::Hashes(tile) = TilePath::parse(&path)? else { return None };
            tiles.insert(tile, &STANDARD.decode(bytes).ok()?).ok()?;
        }
        tiles.check(verified.size, &verified.root).ok()?;
        Some((verified, tiles))
    }
}

impl Trust<'_> {
    /// Whether a bundle's view is of an earlier day of the log than is known, which the tree that is
    /// kept proves. The known checkpoint continues the one of that tree, as was verified when it
    /// became known.
    ///
    /// A registry that shows an earlier day is refused as ever: it is expected to know today.
    pub(super) fn earlier(
        &self,
        place: &Registry,
        log: &KnownLog,
        view: &View,
    ) -> Result<bool, Refusal> {
        if place.shelf().is_none() {
            return Ok(false);
        }
        let keys = log.chain.keys_of_all();
        let signed = Checkpoint::verify(view.checkpoint.as_bytes(), log.origin(), &keys, &[]);
        // What is wrong with it is told where it is verified.
        let Ok(signed) = signed else { return Ok(false) };
        let (known, now) = (log.checkpoint(), &signed.checkpoint);
        if now.size >= known.size {
            return Ok(false);
        }
        let (place, origin) = (place.place(), log.origin().to_owned());
        let (from, to) = (Shown::of(known, log.verified.time), Shown::of(now, signed.time));
        let unproven = || Refusal::Earlier {
            place: place.clone(),
            origin: origin.clone(),
            from: from.clone(),
            to: to.clone(),
        };
        let (kept, tiles) = self.store.tree(log).ok_or_else(unproven)?;
        let ranges = consistency_ranges(now.size, kept.size).ok_or_else(unproven)?;
        let proof = proof_of(&ranges, &tiles).map_err(|_| unproven())?;
        let continues =
            |root| verify_consistency(now.size, root, kept.size, &kept.root, &proof).is_ok();
        if continues(&now.root) {
            return Ok(true);
        }
        let other = tree_range(now.size).and_then(|range| tiles.hash(range).ok());
        match other {
            Some(other) if other != now.root && continues(&other) => {
                Err(Refusal::Fork { place, origin, from, to })
            }
            _ => Err(unproven()),
        }
    }
}

/// The tree of a bundle's view that was verified; [`None`] of a registry's, or where the bundle has
/// no tiles.
pub(super) fn tree_of(
    place: &Registry,
    view: &View,
    verified: &VerifiedView,
) -> Result<Option<Tree>, Refusal> {
    let Some(shelf) = place.shelf() else { return Ok(None) };
    let refused = |reason: TilesError| Refusal::Tiles {
        place: place.place(),
        origin: view.origin.clone(),
        reason,
    };
    // That its bytes could not be read again the next who reads them tells.
    let Ok(files) = shelf.tile_files(view) else { return Ok(None) };
    if files.is_empty() {
        return Ok(None);
    }
    let mut tiles = TileHashes::default();
    for (tile, bytes) in &files {
        tiles.insert(*tile, bytes).map_err(refused)?;
    }
    let Checkpoint { size, root, .. } = verified.checkpoint();
    tiles.check(*size, root).map_err(refused)?;
    Ok(Some(Tree(files)))
}

/// That a bundle's view is of an earlier day than this machine has seen, and by how much; once a
/// bundle and log.
pub(super) fn lagging(place: &Registry, log: &KnownLog, view: &VerifiedView) -> Option<Notice> {
    place.shelf().filter(|shelf| shelf.tells_first(log.origin()))?;
    let (known, held) = (log.checkpoint(), view.checkpoint());
    let day = |time: Option<u64>| {
        time.map_or_else(String::new, |time| format!(", of {}", time::shown(time)))
    };
    let by = log.verified.time.zip(view.time()).map(|(known, held)| known.saturating_sub(held));
    let by = by.map_or_else(String::new, |by| format!(" and {}", time::span(by)));
    let leaves = known.size.saturating_sub(held.size);
    let leaves = if leaves == 1 { "1 leaf".to_owned() } else { format!("{leaves} leaves") };
    Some(Notice::Warn(format!(
        "{} is older than what this machine has seen: it holds the log `{}` with {} leaves{}, and \
         {}{} are known. It lags by {leaves}{by}, and says nothing of what was published, yanked or \
         warned of since: where the registry is reached, `skillpkg bundle` makes one of today",
        place.place(),
        escape(log.origin()),
        held.size,
        day(view.time()),
        known.size,
        day(log.verified.time),
    )))
}

/// A refusal of a bundle's view, told as what its tiles say: that there are two histories, or that
/// nothing is proven either way.
pub(super) fn told_of_bundle(
    place: &Registry,
    log: &KnownLog,
    view: &View,
    refusal: Refusal,
) -> Refusal {
    let Some(shelf) = place.shelf() else { return refusal };
    let Refusal::Inconsistent { place, origin, from, to, reason } = refusal else {
        return refusal;
    };
    let keys = log.chain.keys_of_all();
    let signed = Checkpoint::verify(view.checkpoint.as_bytes(), &view.origin, &keys, &[]);
    let forks =
        signed.is_ok_and(|signed| shelf.forks_from(view, log.checkpoint(), &signed.checkpoint));
    if forks {
        Refusal::Fork { place, origin, from, to }
    } else if view.consistency.0.is_empty() {
        Refusal::Apart { place, origin, from, to }
    } else {
        Refusal::Inconsistent { place, origin, from, to, reason }
    }
}
