//! The hashes of the relayed log's tree, all of them: a tile of 8 KiB for every 256 leaves.
//!
//! With them a mirror proves what it relays without upstream: from whatever size a client knows, to
//! whatever later one.

use std::collections::BTreeMap;

use skillpkg_schema::address::DIGEST_BYTES;
use skillpkg_schema::log::{
    Edge, Hash, MadeTile, Range, TILE_WIDTH, Tile, TileHashes, consistency_ranges,
    inclusion_ranges, proof_of, tiles_of,
};
use sqlx::AnyConnection;

use super::trouble::Trouble;
use crate::database::Write;
use crate::problem::Refusal;

/// Most leaves of a log that is mirrored: 128 MiB of hashes.
pub(super) const MAX_LEAVES: u64 = 1 << 22;

/// Tiles that are yet to be written, the widest of each place.
pub(super) type Made = BTreeMap<(u8, u64), Vec<u8>>;

/// Appends the leaves of one tile of level 0 that the edge does not have; their hashes are only as
/// good as the root that they lead to.
pub(super) fn append(edge: &mut Edge, tile: Tile, hashes: &[Hash], made: &mut Made) -> bool {
    let known = edge.size().saturating_sub(tile.index * TILE_WIDTH);
    let Some(leaves) = usize::try_from(known).ok().and_then(|known| hashes.get(known..)) else {
        return false;
    };
    let Ok(tiles) = edge.append(leaves) else { return false };
    made.extend(tiles.into_iter().map(|made| ((made.tile.level, made.tile.index), made.bytes)));
    true
}

/// Writes tiles, in the place of narrower ones.
pub(super) async fn store(write: &mut Write, made: &Made) -> Result<(), sqlx::Error> {
    for ((level, number), hashes) in made {
        sqlx::query(
            "INSERT INTO relayed_tiles (level, number, hashes) VALUES ($1, $2, $3)
             ON CONFLICT (level, number) DO UPDATE SET hashes = excluded.hashes",
        )
        .bind(i64::from(*level))
        .bind(number.cast_signed())
        .bind(hashes)
        .execute(&mut **write)
        .await?;
    }
    Ok(())
}

/// The bytes of a tile as a tree had it when the tile was this wide; [`None`] where it is not held.
pub(super) async fn tile(
    connection: &mut AnyConnection,
    tile: &Tile,
) -> Result<Option<Vec<u8>>, sqlx::Error> {
    let hashes: Option<Vec<u8>> =
        sqlx::query_scalar("SELECT hashes FROM relayed_tiles WHERE level = $1 AND number = $2")
            .bind(i64::from(tile.level))
            .bind(tile.index.cast_signed())
            .fetch_optional(connection)
            .await?;
    let length = usize::from(tile.width) * DIGEST_BYTES;
    Ok(hashes.and_then(|hashes| hashes.get(..length).map(<[u8]>::to_vec)))
}

/// The right edge of a tree of `size` leaves.
pub(super) async fn edge(connection: &mut AnyConnection, size: u64) -> Result<Edge, Trouble> {
    let mut tiles = Vec::new();
    for wanted in Edge::tiles(size) {
        let bytes = tile(connection, &wanted).await?.ok_or_else(|| damaged(&wanted))?;
        tiles.push(MadeTile { tile: wanted, bytes });
    }
    Edge::from_tiles(size, &tiles).map_err(|error| Trouble::Ours(Refusal::internal(&error)))
}

/// The proof that the tree of `to` leaves continues that of `from`; [`None`] where it does not.
pub(super) async fn consistency(
    connection: &mut AnyConnection,
    from: u64,
    to: u64,
) -> Result<Option<Vec<Hash>>, Trouble> {
    match consistency_ranges(from, to) {
        Some(ranges) => hashes(connection, &ranges, to).await.map(Some),
        None => Ok(None),
    }
}

/// The proof that a leaf is in the tree of `size` leaves; [`None`] where it is outside.
pub(super) async fn inclusion(
    connection: &mut AnyConnection,
    leaf: u64,
    size: u64,
) -> Result<Option<Vec<Hash>>, Trouble> {
    match inclusion_ranges(leaf, size) {
        Some(ranges) => hashes(connection, &ranges, size).await.map(Some),
        None => Ok(None),
    }
}

/// The hashes of nodes of the tree of `size` leaves, which is no larger than the one that is held.
pub(super) async fn hashes(
    connection: &mut AnyConnection,
    ranges: &[Range],
    size: u64,
) -> Result<Vec<Hash>, Trouble> {
    let internal = |error| Trouble::Ours(Refusal::internal(&error));
    let mut held = TileHashes::default();
    for wanted in tiles_of(ranges, size) {
        let bytes = tile(connection, &wanted).await?.ok_or_else(|| damaged(&wanted))?;
        held.insert(wanted, &bytes).map_err(internal)?;
    }
    proof_of(ranges, &held).map_err(internal)
}

/// The hash of one leaf.
pub(super) async fn leaf(
    connection: &mut AnyConnection,
    leaf: u64,
) -> Result<Option<Hash>, sqlx::Error> {
    let (number, at) = (leaf / TILE_WIDTH, leaf % TILE_WIDTH);
    let Ok(width) = u16::try_from(at + 1) else { return Ok(None) };
    let bytes = tile(connection, &Tile { level: 0, index: number, width }).await?;
    let hash = bytes.as_deref().and_then(<[u8]>::last_chunk::<DIGEST_BYTES>);
    Ok(hash.map(|hash| Hash::from_bytes(*hash)))
}

fn damaged(tile: &Tile) -> Trouble {
    let Tile { level, index, .. } = tile;
    Trouble::Ours(Refusal::internal(&format!("tile {index} of level {level} is not held")))
}
