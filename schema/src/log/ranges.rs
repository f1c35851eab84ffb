//! Which hashes a proof consists of, which tiles hold them, and the proof made from those tiles.

use std::collections::BTreeMap;

use super::merkle::{Hash, empty_root, node_hash};
use super::tile::{TILE_HEIGHT, TILE_WIDTH, Tile, hashes_from_bytes};

/// Leaves `start..end` of a tree, whose hash is one node of some tree (RFC 6962's `MTH(D[a:b])`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    start: u64,
    end: u64,
}

/// Why no proof comes from these tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TilesError {
    /// A tile is not among them.
    #[error("the tile {} of level {} is needed and not there", .0.index, .0.level)]
    Missing(Tile),
    /// A tile does not have the length that its width asks for.
    #[error("the tile {} of level {} should hold {} hashes", .0.index, .0.level, .0.width)]
    Length(Tile),
    /// A tile holds other hashes than the one above it says.
    #[error("the tile {} of level {} is not the one of the tree", .0.index, .0.level)]
    Other(Tile),
    /// The tiles are those of another tree.
    #[error("the tiles lead to another root")]
    Root,
}

/// The whole of a tree of `size` leaves; [`None`] where it is empty.
pub fn tree_range(size: u64) -> Option<Range> {
    (size > 0).then_some(Range { start: 0, end: size })
}

/// The nodes of an inclusion proof, from the leaf's sibling up; [`None`] where the leaf is outside.
pub fn inclusion_ranges(index: u64, size: u64) -> Option<Vec<Range>> {
    if index >= size {
        return None;
    }
    let (mut start, mut end) = (0, size);
    let mut ranges = Vec::new();
    while end - start > 1 {
        let middle = start + split(end - start);
        if index < middle {
            ranges.push(Range { start: middle, end });
            end = middle;
        } else {
            ranges.push(Range { start, end: middle });
            start = middle;
        }
    }
    ranges.reverse();
    Some(ranges)
}

/// The nodes of a consistency proof; [`None`] where the tree shrank. Empty where `from` is 0 or
/// equals `to`.
pub fn consistency_ranges(from: u64, to: u64) -> Option<Vec<Range>> {
    if from > to {
        return None;
    }
    let mut ranges = Vec::new();
    if from == 0 || from == to {
        return Some(ranges);
    }
    let (mut start, mut end) = (0, to);
    // Whether the earlier tree's root is known to the verifier as it is.
    let mut is_root = true;
    while from != end {
        let middle = start + split(end - start);
        if from <= middle {
            ranges.push(Range { start: middle, end });
            end = middle;
        } else {
            ranges.push(Range { start, end: middle });
            start = middle;
            is_root = false;
        }
    }
    if !is_root {
        ranges.push(Range { start, end });
    }
    ranges.reverse();
    Some(ranges)
}

/// The largest power of two below `count`, which is at least 2.
fn split(count: u64) -> u64 {
    1 << (u64::BITS - 1 - (count - 1).leading_zeros())
}

impl Range {
    /// The complete subtrees that it consists of, from the left: level and index of each.
    fn subtrees(self) -> impl Iterator<Item = (u32, u64)> {
        let mut start = self.start;
        std::iter::from_fn(move || {
            let count = self.end.checked_sub(start).filter(|count| *count > 0)?;
            // A range begins at a multiple of every subtree in it: the largest fits first.
            let level = u64::BITS - 1 - count.leading_zeros();
            let index = start >> level;
            start += 1 << level;
            Some((level, index))
        })
    }
}

/// The tiles, in a tree of `size` leaves, that hold the hashes of `ranges`; each once.
pub fn tiles_of(ranges: &[Range], size: u64) -> Vec<Tile> {
    let mut tiles: Vec<Tile> = ranges
        .iter()
        .flat_map(|range| range.subtrees())
        .filter_map(|(level, index)| {
            let (tile_level, first, _) = placed(level, index);
            Tile::in_tree(tile_level, first / TILE_WIDTH, size)
        })
        .collect();
    tiles.sort_unstable();
    tiles.dedup();
    tiles
}

/// The level of the tile that holds a subtree, the first of its hashes there, and how many.
fn placed(level: u32, index: u64) -> (u8, u64, u64) {
    let (tile_level, within) = (level / TILE_HEIGHT, level % TILE_HEIGHT);
    // A tree of 64 levels has tiles of levels 0 to 7.
    (u8::try_from(tile_level).unwrap_or(u8::MAX), index << within, 1 << within)
}

/// Tiles that were fetched, unverified: what is made from them is held against a signed root.
#[derive(Debug, Clone, Default)]
pub struct TileHashes(BTreeMap<(u8, u64), Vec<Hash>>);

impl TileHashes {
    /// Adds the bytes of a tile, which must have the length of its width.
    pub fn insert(&mut self, tile: Tile, bytes: &[u8]) -> Result<(), TilesError> {
        let hashes = hashes_from_bytes(bytes)
            .filter(|hashes| hashes.len() == usize::from(tile.width))
            .ok_or(TilesError::Length(tile))?;
        self.0.insert((tile.level, tile.index), hashes);
        Ok(())
    }

    /// Holds all tiles against the root of a tree of `size` leaves: what they hold is a part of that
    /// tree, down to the last hash. Above each full one has to be the one that holds its hash.
    pub fn check(&self, size: u64, root: &Hash) -> Result<(), TilesError> {
        for ((level, index), hashes) in &self.0 {
            if hashes.len() as u64 == TILE_WIDTH {
                let above = self.subtree(TILE_HEIGHT * (u32::from(*level) + 1), *index)?;
                if above != super::merkle::root_of(hashes) {
                    return Err(TilesError::Other(Tile {
                        level: *level,
                        index: *index,
                        width: 256,
                    }));
                }
            }
        }
        let found = tree_range(size).map_or(Ok(empty_root()), |range| self.hash(range))?;
        if found == *root { Ok(()) } else { Err(TilesError::Root) }
    }

    /// The hash of a range.
    pub fn hash(&self, range: Range) -> Result<Hash, TilesError> {
        let hashes =
            range.subtrees().map(|(level, index)| self.subtree(level, index)).collect::<Vec<_>>();
        let mut hash = None;
        for subtree in hashes.into_iter().rev() {
            let subtree = subtree?;
            hash = Some(hash.map_or(subtree, |right| node_hash(&subtree, &right)));
        }
        Ok(hash.unwrap_or_else(empty_root))
    }

    fn subtree(&self, level: u32, index: u64) -> Result<Hash, TilesError> {
        let (tile_level, first, count) = placed(level, index);
        let (tile, at) = (first / TILE_WIDTH, first % TILE_WIDTH);
        let hashes = self.0.get(&(tile_level, tile)).and_then(|hashes| {
            hashes.get(usize::try_from(at).ok()?..usize::try_from(at + count).ok()?)
        });
        let missing = Tile { level: tile_level, index: tile, width: 256 };
        Ok(super::merkle::root_of(hashes.ok_or(TilesError::Missing(missing))?))
    }
}

/// The hashes of a proof, made from the tiles that [`tiles_of`] names.
pub fn proof_of(ranges: &[Range], tiles: &TileHashes) -> Result<Vec<Hash>, TilesError> {
    ranges.iter().map(|range| tiles.hash(*range)).collect()
}
