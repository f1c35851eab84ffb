//! The tiles of the log, in the object store under `log/`: written once, never changed.

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use object_store::path::Path;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use skillpkg_schema::log::{
    Edge, Entries, Hash, MadeTile, Range, TILE_WIDTH, Tile, TileHashes, TilePath, proof_of,
    tiles_of,
};

use super::{LogError, PREFIX};
use crate::blobs::Blobs;

/// Most bytes of tiles in memory.
const CACHE_BYTES: u64 = 16 * 1024 * 1024;
/// Partial tiles deleted at once.
const DELETES: usize = 8;
/// The width of a full tile.
const FULL: u16 = 256;
/// About how many tiles that is.
const CACHE_ITEMS: usize = 2_048;

#[derive(Debug, Clone)]
struct ByLength;

impl Weighter<TilePath, Bytes> for ByLength {
    fn weight(&self, _: &TilePath, bytes: &Bytes) -> u64 {
        bytes.len() as u64 + 128
    }
}

/// The tiles, those that are asked for often in memory.
#[derive(Debug)]
pub struct TileStore {
    blobs: Blobs,
    cache: Cache<TilePath, Bytes, ByLength>,
}

impl TileStore {
    /// Those in `blobs`.
    pub fn new(blobs: Blobs) -> Self {
        Self { blobs, cache: Cache::with_weighter(CACHE_ITEMS, CACHE_BYTES, ByLength) }
    }

    /// The key of a tile.
    pub fn key(path: &TilePath) -> Path {
        Path::from(format!("{PREFIX}/{path}"))
    }

    /// The bytes of a tile; [`None`] where it is not there.
    pub async fn get(&self, path: TilePath) -> Result<Option<Bytes>, LogError> {
        if let Some(bytes) = self.cache.get(&path) {
            return Ok(Some(bytes));
        }
        let limit = Entries::MAX_BYTES as u64;
        let bytes = self.blobs.read_key(&Self::key(&path), limit).await?;
        if let Some(bytes) = &bytes {
            self.cache.insert(path, bytes.clone());
        }
        Ok(bytes)
    }

    /// The bytes of a tile that must be there.
    pub async fn read(&self, path: TilePath) -> Result<Bytes, LogError> {
        self.get(path).await?.ok_or_else(|| LogError::MissingTile(Self::key(&path).to_string()))
    }

    /// Writes a tile; what returns has survived a crash. One that is there has these bytes.
    pub async fn put(&self, path: TilePath, bytes: Bytes) -> Result<(), LogError> {
        let key = Self::key(&path);
        if !self.blobs.create(&key, bytes.clone()).await? {
            let present = self.blobs.read_key(&key, Entries::MAX_BYTES as u64).await?;
            let present = present.ok_or_else(|| LogError::MissingTile(key.to_string()))?;
            if present != bytes {
                return Err(LogError::OtherTile(key.to_string()));
            }
        }
        self.cache.insert(path, bytes);
        Ok(())
    }

    /// Whether there are entries beyond a tree of `size` leaves: those of a later state of the log, or
    /// of another.
    pub async fn has_beyond(&self, size: u64) -> Result<bool, LogError> {
        let (number, width) = (size / TILE_WIDTH, size % TILE_WIDTH);
        let full = Tile { level: 0, index: number, width: FULL };
        if self.blobs.meta(&Self::key(&TilePath::Entries(full))).await?.is_some() {
            return Ok(true);
        }
        // The narrower ones of this place lie together, named by their widths.
        let partial = Self::key(&TilePath::Entries(Tile { width: 1, ..full })).to_string();
        let together =
            partial.rsplit_once('/').map_or(partial.as_str(), |(directory, _)| directory);
        let mut there = self.blobs.list(&Path::from(together));
        while let Some(object) = there.try_next().await? {
            let found = object.location.filename().and_then(|name| name.parse::<u64>().ok());
            if found.is_some_and(|found| found > width) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The hashes of a proof; `size` is that of a tree whose tiles are there, such as the newest
    /// one's, and need not be the one that the proof is about.
    pub async fn proof(&self, ranges: &[Range], size: u64) -> Result<Vec<Hash>, LogError> {
        let mut hashes = TileHashes::default();
        for tile in tiles_of(ranges, size) {
            hashes.insert(tile, &self.read(TilePath::Hashes(tile)).await?)?;
        }
        Ok(proof_of(ranges, &hashes)?)
    }

    /// The bytes of one leaf of a tree of `size` leaves.
    pub async fn entry(&self, index: u64, size: u64) -> Result<Vec<u8>, LogError> {
        let tile = Tile::in_tree(0, index / TILE_WIDTH, size).filter(|_| index < size);
        let tile = tile.ok_or(LogError::Outside(index))?;
        let bytes = self.read(TilePath::Entries(tile)).await?;
        let entries = Entries::from_bytes(&bytes)?;
        let at = usize::try_from(index % TILE_WIDTH).unwrap_or(usize::MAX);
        entries.get(at).map(<[u8]>::to_vec).ok_or(LogError::Outside(index))
    }

    /// The right edge of a tree of `size` leaves.
    pub async fn edge(&self, size: u64) -> Result<Edge, LogError> {
        let mut tiles = Vec::new();
        for tile in Edge::tiles(size) {
            let bytes = self.read(TilePath::Hashes(tile)).await?.to_vec();
            tiles.push(MadeTile { tile, bytes });
        }
        Ok(Edge::from_tiles(size, &tiles)?)
    }

    /// Removes the partial tiles in the place of which the full one is there; what stays does no harm.
    pub(super) async fn prune(&self, full: TilePath) {
        let tile = *full.tile();
        let partial = |width| {
            let tile = Tile { width, ..tile };
            match full {
                TilePath::Hashes(_) => TilePath::Hashes(tile),
                TilePath::Entries(_) => TilePath::Entries(tile),
            }
        };
        for width in 1..256 {
            self.cache.remove(&partial(width));
        }
        // All of them lie beneath one prefix.
        let first = Self::key(&partial(1));
        let parts = first.parts().count().saturating_sub(1);
        let beneath: Path = first.parts().take(parts).collect();
        let removed = self
            .blobs
            .list(&beneath)
            .try_for_each_concurrent(DELETES, |object| async move {
                self.blobs.delete(&object.location).await
            })
            .await;
        if let Err(error) = removed {
            tracing::debug!(%error, %full, "partial tiles stay");
        }
    }
}
