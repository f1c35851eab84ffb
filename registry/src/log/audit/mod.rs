//! An audit of the whole log from its files: that it is what it says, and with the database beside
//! it, that the two say the same.

mod files;
mod leaves;
mod rows;

use serde::Serialize;
use skillpkg_schema::log::{
    Checkpoint, Edge, Entries, Hash, IdentityChain, TILE_WIDTH, Tile, TilePath, leaf_hash,
    tile_count,
};

pub use files::Files;
use leaves::Leaves;
use rows::Rows;

use super::{Counters, LogError, TileStore};
use crate::data::Data;
use crate::upkeep::{Damage, DamageKind};

/// Most problems that are told.
const MAX_PROBLEMS: usize = 1_000;
/// How often a log that grows meanwhile is begun anew.
const ATTEMPTS: usize = 50;

/// What an audit has found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The log's origin.
    pub origin: String,
    /// Leaves read.
    pub leaves: u64,
    /// Tiles read, bundles of entries among them.
    pub tiles: u64,
    /// In the order found, the first thousand.
    pub problems: Vec<Damage>,
}

impl Report {
    pub(super) fn damage(&mut self, kind: DamageKind, subject: &str, detail: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            let (subject, detail) = (subject.to_owned(), detail.into());
            self.problems.push(Damage { kind, subject, detail });
        }
    }
}

/// Audits a log by its files alone.
///
/// Reads every leaf and every tile once, and needs memory for one bundle, for the right edge, and 16
/// bytes for each version that was ever published.
pub async fn audit(files: &Files) -> Result<Report, LogError> {
    let mut report = Report::default();
    let Some((chain, checkpoint)) = signed(files, &mut report).await? else { return Ok(report) };
    walk(files, &chain, &checkpoint, &mut report, None).await?;
    Ok(report)
}

/// Audits the log of a data directory and the database beside it; a directory that was never served
/// has none. Works while the registry serves.
pub async fn audit_data(data: &Data) -> Result<Report, LogError> {
    let files = Files::of(data);
    let mut apart = String::new();
    for _ in 0..ATTEMPTS {
        let mut report = Report::default();
        let mut rows = Rows::begin(data).await?;
        if rows.covered() == 0 && !files.has_checkpoint().await? {
            return Ok(report);
        }
        let Some((chain, checkpoint)) = signed(&files, &mut report).await? else {
            return Ok(report);
        };
        // The registry that serves has signed a newer one since the snapshot was begun.
        if !rows.are_of(checkpoint.size) {
            apart = told_apart(checkpoint.size, rows.covered());
            drop(rows);
            tokio::time::sleep(std::time::Duration::from_millis(40)).await;
            continue;
        }
        let sealed = rows.leaves_sealed().max(checkpoint.size);
        walk(&files, &chain, &checkpoint, &mut report, Some(rows)).await?;
        // Whoever serves has gone on meanwhile, and then the rows have as well.
        if TileStore::new(data.blobs.clone()).has_beyond(sealed).await?
            && Counters::read(data.database.readers()).await?.sealed <= sealed
        {
            let beyond = LogError::NewerObjects(sealed).to_string();
            report.damage(DamageKind::Row, "log/tile", beyond);
        }
        return Ok(report);
    }
    let mut report = Report::default();
    report.damage(DamageKind::Row, "log/checkpoint", apart);
    Ok(report)
}

/// What is told of a checkpoint and a database of two states, and what to do.
fn told_apart(signed: u64, covered: u64) -> String {
    let way_out = if signed > covered {
        "the database is an older copy; restore one that is at least as new, such as the one that was \
         backed up with `log`"
    } else {
        "the directory `log` is an older copy; restore the one that was backed up with the database, \
         or start the registry, which signs a newer checkpoint"
    };
    format!("covers {signed} leaves, and the database knows {covered}: {way_out}")
}

/// The identities and the checkpoint that they sign.
async fn signed(
    files: &Files,
    report: &mut Report,
) -> Result<Option<(IdentityChain, Checkpoint)>, LogError> {
    let chain = match files.identities().await? {
        Ok(chain) => chain,
        Err(detail) => {
            report.damage(DamageKind::Signature, "log/identities.json", detail);
            return Ok(None);
        }
    };
    chain.origin().clone_into(&mut report.origin);
    let Some(bytes) = files.checkpoint().await? else {
        report.damage(DamageKind::Missing, "log/checkpoint", "is missing");
        return Ok(None);
    };
    // An identity that was adopted since has not signed this one yet.
    let keys = chain.keys_of_all();
    match Checkpoint::verify(&bytes, chain.origin(), &keys, &[]) {
        Ok(verified) => Ok(Some((chain, verified.checkpoint))),
        Err(error) => {
            report.damage(DamageKind::Signature, "log/checkpoint", error.to_string());
            Ok(None)
        }
    }
}

async fn walk(
    files: &Files,
    chain: &IdentityChain,
    checkpoint: &Checkpoint,
    report: &mut Report,
    mut rows: Option<Rows>,
) -> Result<(), LogError> {
    let size = checkpoint.size;
    let mut edge = Edge::default();
    // The newest partial tile of each level: those of the last edge are files.
    let mut partial: Vec<Option<Vec<u8>>> = vec![None; 8];
    let mut leaves = Leaves::new(chain);
    for number in 0..tile_count(0, size) {
        let Some(tile) = Tile::in_tree(0, number, size) else { break };
        let Some(entries) = bundle(files, tile, report).await? else { return Ok(()) };
        let first = number * TILE_WIDTH;
        let hashes: Vec<Hash> = entries.iter().map(leaf_hash).collect();
        for made in edge.append(&hashes)? {
            if made.tile.is_full() {
                compare(files, made.tile, &made.bytes, report).await?;
            } else if let Some(kept) = partial.get_mut(usize::from(made.tile.level)) {
                *kept = Some(made.bytes);
            }
        }
        let records = leaves.read(first, &entries, report);
        if let Some(rows) = &mut rows {
            rows.compare(first, &entries, &records, report).await?;
        }
        report.leaves += entries.iter().len() as u64;
    }
    for tile in Edge::tiles(size) {
        let bytes = partial.get_mut(usize::from(tile.level)).and_then(Option::take);
        compare(files, tile, &bytes.unwrap_or_default(), report).await?;
    }
    if edge.root() != checkpoint.root {
        let detail = "signs another root than the leaves have";
        report.damage(DamageKind::Digest, "log/checkpoint", detail);
    }
    let heads = leaves.finish(size, report);
    if let Some(rows) = rows {
        rows.finish(size, heads, report).await?;
    }
    Ok(())
}

/// Reads a bundle of entries; [`None`] where nothing after it can be said.
async fn bundle(
    files: &Files,
    tile: Tile,
    report: &mut Report,
) -> Result<Option<Entries>, LogError> {
    let path = TilePath::Entries(tile);
    let Some(bytes) = files.tile(&path).await? else {
        report.damage(DamageKind::Missing, &format!("log/{path}"), "is missing");
        return Ok(None);
    };
    report.tiles += 1;
    let entries = match Entries::from_bytes(&bytes) {
        Ok(entries) => entries,
        Err(error) => {
            report.damage(DamageKind::Digest, &format!("log/{path}"), error.to_string());
            return Ok(None);
        }
    };
    if entries.iter().len() != usize::from(tile.width) {
        let detail = format!("holds {} leaves, not {}", entries.iter().len(), tile.width);
        report.damage(DamageKind::Digest, &format!("log/{path}"), detail);
        return Ok(None);
    }
    Ok(Some(entries))
}

/// Holds a tile of hashes against the leaves beneath it.
async fn compare(
    files: &Files,
    tile: Tile,
    expected: &[u8],
    report: &mut Report,
) -> Result<(), LogError> {
    let path = TilePath::Hashes(tile);
    match files.tile(&path).await? {
        None => report.damage(DamageKind::Missing, &format!("log/{path}"), "is missing"),
        Some(bytes) => {
            report.tiles += 1;
            if bytes != expected {
                let detail = "holds other hashes than the leaves beneath it have";
                report.damage(DamageKind::Digest, &format!("log/{path}"), detail);
            }
        }
    }
    Ok(())
}
