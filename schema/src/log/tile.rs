//! Tiles: the tree and its entries as files that never change (C2SP tlog-tiles).

use std::fmt;

use super::merkle::Hash;
use super::record::MAX_RECORD_BYTES;
use crate::address::DIGEST_BYTES;

/// Levels of the tree in one tile.
pub const TILE_HEIGHT: u32 = 8;
/// Hashes, or entries, in a full tile.
pub const TILE_WIDTH: u64 = 256;
/// The highest level of a tile that a tree of less than 2^63 leaves has.
const MAX_LEVEL: u8 = 7;

/// One tile: `width` consecutive hashes of the tree's level `8 * level`, from `index * 256` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tile {
    /// Level of the tile, 0 for hashes of leaves.
    pub level: u8,
    /// Index of the tile within its level.
    pub index: u64,
    /// Hashes in it: 1 to 256.
    pub width: u16,
}

/// What a path beneath a log's prefix names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TilePath {
    /// A tile of hashes: `tile/<L>/<N>[.p/<W>]`.
    Hashes(Tile),
    /// A bundle of entries: `tile/entries/<N>[.p/<W>]`; the level is 0.
    Entries(Tile),
}

impl Tile {
    /// The tile with this index in a tree of `size` leaves; [`None`] where the tree has none there.
    pub fn in_tree(level: u8, index: u64, size: u64) -> Option<Self> {
        let width = hashes_at(level, size).checked_sub(index.checked_mul(TILE_WIDTH)?)?;
        let width = u16::try_from(width.min(TILE_WIDTH)).ok()?;
        (width > 0).then_some(Self { level, index, width })
    }

    /// Whether it has all its hashes.
    pub fn is_full(&self) -> bool {
        u64::from(self.width) == TILE_WIDTH
    }
}

/// Tiles of this level in a tree of `size` leaves, a partial one among them.
pub fn tile_count(level: u8, size: u64) -> u64 {
    hashes_at(level, size).div_ceil(TILE_WIDTH)
}

/// Hashes that tiles of this level hold together in a tree of `size` leaves.
fn hashes_at(level: u8, size: u64) -> u64 {
    size.checked_shr(TILE_HEIGHT * u32::from(level)).unwrap_or(0)
}

impl fmt::Display for TilePath {
    /// The path beneath the log's prefix.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tile = match self {
            Self::Hashes(tile) => {
                write!(f, "tile/{}/", tile.level)?;
                tile
            }
            Self::Entries(tile) => {
                f.write_str("tile/entries/")?;
                tile
            }
        };
        let mut groups = vec![tile.index % 1_000];
        let mut rest = tile.index / 1_000;
        while rest > 0 {
            groups.push(rest % 1_000);
            rest /= 1_000;
        }
        for (at, group) in groups.iter().enumerate().rev() {
            if at > 0 {
                write!(f, "x{group:03}/")?;
            } else {
                write!(f, "{group:03}")?;
            }
        }
        if tile.is_full() { Ok(()) } else { write!(f, ".p/{}", tile.width) }
    }
}

impl TilePath {
    /// Reads a path beneath the log's prefix, and no other spelling of it.
    pub fn parse(path: &str) -> Option<Self> {
        let path_of = path.strip_prefix("tile/")?;
        let (level, rest) = path_of.split_once('/')?;
        let (number, width) = match rest.split_once(".p/") {
            Some((number, width)) => (number, width.parse::<u8>().ok().map(u16::from)?),
            None => (rest, 256),
        };
        let mut index: u64 = 0;
        for group in number.split('/') {
            let group: u64 = group.strip_prefix('x').unwrap_or(group).parse().ok()?;
            index = index.checked_mul(1_000)?.checked_add(group)?;
        }
        let tile = |level| Tile { level, index, width };
        let read = if level == "entries" {
            Self::Entries(tile(0))
        } else {
            let level: u8 = level.parse().ok().filter(|level| *level <= MAX_LEVEL)?;
            Self::Hashes(tile(level))
        };
        (width > 0 && read.to_string() == path).then_some(read)
    }

    /// The tile.
    pub fn tile(&self) -> &Tile {
        match self {
            Self::Hashes(tile) | Self::Entries(tile) => tile,
        }
    }
}

/// The bytes of a tile of hashes.
pub(super) fn hashes_to_bytes(hashes: &[Hash]) -> Vec<u8> {
    hashes.iter().flat_map(|hash| *hash.as_bytes()).collect()
}

/// The hashes in the bytes of a tile; [`None`] where they are no whole number of hashes.
pub(super) fn hashes_from_bytes(bytes: &[u8]) -> Option<Vec<Hash>> {
    let (hashes, rest) = bytes.as_chunks::<DIGEST_BYTES>();
    rest.is_empty().then(|| hashes.iter().map(|hash| Hash::from_bytes(*hash)).collect())
}

/// A bundle of entries: each behind its length in two bytes, big-endian.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entries(Vec<Vec<u8>>);

/// Bytes that are no bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EntriesError {
    /// It ends within an entry.
    #[error("the bundle ends within entry {0}")]
    Truncated(usize),
    /// More than a tile's width.
    #[error("the bundle has more than 256 entries")]
    TooMany,
    /// An entry is longer than a record may be.
    #[error("entry {0} is longer than {MAX_RECORD_BYTES} bytes")]
    TooLong(usize),
}

impl Entries {
    /// Most bytes of a bundle.
    pub const MAX_BYTES: usize = 256 * (MAX_RECORD_BYTES + 2);

    /// Reads the bytes of a bundle.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, EntriesError> {
        let mut entries = Vec::new();
        while !bytes.is_empty() {
            let at = entries.len();
            if at as u64 == TILE_WIDTH {
                return Err(EntriesError::TooMany);
            }
            let truncated = EntriesError::Truncated(at);
            let (length, rest) = bytes.split_first_chunk::<2>().ok_or(truncated)?;
            let length = usize::from(u16::from_be_bytes(*length));
            if length > MAX_RECORD_BYTES {
                return Err(EntriesError::TooLong(at));
            }
            let (entry, rest) = rest.split_at_checked(length).ok_or(truncated)?;
            entries.push(entry.to_vec());
            bytes = rest;
        }
        Ok(Self(entries))
    }

    /// Appends the bytes of one entry to those of a bundle.
    pub fn append(bundle: &mut Vec<u8>, entry: &[u8]) -> Result<(), EntriesError> {
        let length = u16::try_from(entry.len()).ok().filter(|_| entry.len() <= MAX_RECORD_BYTES);
        let length = length.ok_or(EntriesError::TooLong(0))?;
        bundle.extend_from_slice(&length.to_be_bytes());
        bundle.extend_from_slice(entry);
        Ok(())
    }

    /// The entries, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.0.iter().map(Vec::as_slice)
    }

    /// The entry at this place of the bundle.
    pub fn get(&self, at: usize) -> Option<&[u8]> {
        self.0.get(at).map(Vec::as_slice)
    }
}
