//! The right edge of a log's tree: all that must be in memory to append to it.

use super::merkle::{Hash, empty_root, node_hash, root_of};
use super::tile::{TILE_WIDTH, Tile, hashes_from_bytes, hashes_to_bytes, tile_count};

/// Why an edge is not made from tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EdgeError {
    /// A tile does not have the length that the tree's size asks for.
    #[error("the tile {} of level {} should hold {} hashes", .0.index, .0.level, .0.width)]
    Length(Tile),
    /// The tree is as large as it can be.
    #[error("the log has as many leaves as a log can have")]
    Full,
}

/// A tile whose bytes are to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeTile {
    /// Which.
    pub tile: Tile,
    /// Its hashes.
    pub bytes: Vec<u8>,
}

/// The partial tiles at the right of a tree, one a level.
///
/// Takes at most 255 hashes a level, whatever the size of the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edge {
    size: u64,
    /// The hashes of the partial tile of each level, lowest first.
    levels: Vec<Vec<Hash>>,
}

impl Edge {
    /// The partial tiles that a tree of `size` leaves ends with: what [`Edge::from_tiles`] needs.
    pub fn tiles(size: u64) -> Vec<Tile> {
        let mut tiles = Vec::new();
        for level in 0_u8..8 {
            let count = tile_count(level, size);
            if count == 0 {
                break;
            }
            tiles.extend(Tile::in_tree(level, count - 1, size).filter(|tile| !tile.is_full()));
        }
        tiles
    }

    /// The edge of a tree of `size` leaves, from the bytes of its partial tiles.
    ///
    /// Nothing is verified: compare [`Edge::root`] with a signed one.
    pub fn from_tiles(size: u64, tiles: &[MadeTile]) -> Result<Self, EdgeError> {
        let mut levels: Vec<Vec<Hash>> = Vec::new();
        for tile in Self::tiles(size) {
            let bytes = tiles.iter().find(|made| made.tile == tile).map(|made| &made.bytes);
            let hashes = bytes
                .and_then(|bytes| hashes_from_bytes(bytes))
                .filter(|hashes| hashes.len() == usize::from(tile.width))
                .ok_or(EdgeError::Length(tile))?;
            levels.resize(usize::from(tile.level), Vec::new());
            levels.push(hashes);
        }
        Ok(Self { size, levels })
    }

    /// Leaves in the tree.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The tree's root.
    pub fn root(&self) -> Hash {
        let mut root: Option<Hash> = None;
        for level in &self.levels {
            // The complete subtrees within one tile, from the right: those of its lower bits.
            let mut end = level.len();
            while end > 0 {
                let count = 1 << end.trailing_zeros();
                let start = end - count;
                let subtree = root_of(level.get(start..end).unwrap_or_default());
                root = Some(root.map_or(subtree, |right| node_hash(&subtree, &right)));
                end = start;
            }
        }
        root.unwrap_or_else(empty_root)
    }

    /// Appends leaves by their hashes; answers the tiles of hashes that are new: full ones, and the
    /// partial ones of the new edge.
    pub fn append(&mut self, leaves: &[Hash]) -> Result<Vec<MadeTile>, EdgeError> {
        let size = self.size.checked_add(leaves.len() as u64).filter(|size| *size < 1 << 63);
        let size = size.ok_or(EdgeError::Full)?;
        let mut made = Vec::new();
        for leaf in leaves {
            self.push(*leaf, &mut made);
        }
        // Of the tiles of the new edge, those that are as they were are written already.
        let before = Self::tiles(self.size - leaves.len() as u64);
        for tile in Self::tiles(size).into_iter().filter(|tile| !before.contains(tile)) {
            let hashes = self.levels.get(usize::from(tile.level));
            let bytes = hashes_to_bytes(hashes.map(Vec::as_slice).unwrap_or_default());
            made.push(MadeTile { tile, bytes });
        }
        Ok(made)
    }

    fn push(&mut self, leaf: Hash, made: &mut Vec<MadeTile>) {
        self.size += 1;
        let mut hash = leaf;
        for level in 0_u8..8 {
            let at = usize::from(level);
            if self.levels.len() <= at {
                self.levels.push(Vec::new());
            }
            let Some(hashes) = self.levels.get_mut(at) else { return };
            hashes.push(hash);
            if (hashes.len() as u64) < TILE_WIDTH {
                return;
            }
            let index = (self.size >> (8 * (u32::from(level) + 1))) - 1;
            let bytes = hashes_to_bytes(hashes);
            made.push(MadeTile { tile: Tile { level, index, width: 256 }, bytes });
            hash = root_of(hashes);
            hashes.clear();
        }
    }
}
