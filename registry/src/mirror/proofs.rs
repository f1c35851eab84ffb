//! Proofs that records are in the relayed log: made here, of records that were fetched once.

use std::collections::BTreeMap;

use skillpkg_schema::log::{Entries, Sealed, TILE_WIDTH, Tile, TilePath};
use skillpkg_schema::wire::{Hashes, MAX_PROOFS, ProofsAnswer, ProofsRequest, Proven};

use super::relay::Through;
use super::trouble::Trouble;
use super::{Mirror, tree};
use crate::problem::{Code, Refusal};
use crate::upstream::{self, Ask, Bound};

impl Mirror {
    /// The proofs of leaves in the tree of `size` leaves, for those whose record anybody may read.
    pub(super) async fn relay_proofs(
        &self,
        size: u64,
        indices: &[u64],
        through: Through<'_>,
    ) -> Result<ProofsAnswer, Trouble> {
        if size > self.size() {
            // Whoever asks has seen more of the log: it may be there by now.
            self.ask(&[], through).await?;
        }
        let newest = self.size();
        if size > newest {
            let detail = format!("the log has {newest} leaves here; {size} were asked about");
            return Err(Refusal::new(Code::InvalidRequest, detail).into());
        }
        let held = self.held_records(indices).await?;
        let unknown: Vec<u64> = indices
            .iter()
            .copied()
            .filter(|index| *index < size && !held.contains_key(index))
            .collect();
        let fetched = if unknown.is_empty() {
            BTreeMap::new()
        } else {
            self.fetch_records(&unknown, through).await?
        };
        let mut answer = ProofsAnswer { records: Vec::new(), missing: Vec::new() };
        let mut read = self.0.data.database.readers().acquire().await?;
        for index in indices {
            let sealed = held.get(index).or_else(|| fetched.get(index));
            let proof = tree::inclusion(&mut read, *index, size).await?;
            match (sealed, proof) {
                (Some(sealed), Some(proof)) => answer.records.push(Proven {
                    index: *index,
                    sealed: sealed.clone(),
                    proof: Hashes(proof),
                }),
                _ => answer.missing.push(*index),
            }
        }
        Ok(answer)
    }

    /// Leaves of the log that are followed.
    fn size(&self) -> u64 {
        self.0.relay.seen().and_then(|seen| seen.newest.as_ref().map(|it| it.size)).unwrap_or(0)
    }

    async fn held_records(&self, indices: &[u64]) -> Result<BTreeMap<u64, Sealed>, Trouble> {
        let mut held = BTreeMap::new();
        for index in indices {
            let sealed: Option<String> =
                sqlx::query_scalar("SELECT sealed FROM relayed_records WHERE leaf = $1")
                    .bind(index.cast_signed())
                    .fetch_optional(self.0.data.database.readers())
                    .await?;
            if let Some(sealed) = sealed {
                let sealed = serde_json::from_str(&sealed);
                held.insert(*index, sealed.map_err(|error| Refusal::internal(&error))?);
            }
        }
        Ok(held)
    }

    /// Asks upstream for records, holds them against the tree, and keeps them.
    pub(super) async fn fetch_records(
        &self,
        indices: &[u64],
        through: Through<'_>,
    ) -> Result<BTreeMap<u64, Sealed>, Trouble> {
        let Some(seen) = self.0.relay.seen() else { return Ok(BTreeMap::new()) };
        let size = seen.newest.as_ref().map_or(0, |newest| newest.size);
        let indices = indices.iter().copied().take(MAX_PROOFS).collect();
        let request = ProofsRequest { origin: seen.chain.origin().to_owned(), size, indices };
        let body = upstream::body(&request).map_err(|error| Refusal::internal(&error))?;
        let route = self.0.upstream.route(&["v1", "log", "proofs"]);
        let ask = Ask::post(route, through.clone(), body);
        let answer: Result<ProofsAnswer, _> = self.0.upstream.json(&ask, Bound::DOCUMENT).await;
        let answer = answer.map_err(|error| Trouble::unanswered("log", error))?;
        let mut records = BTreeMap::new();
        let mut write = self.0.data.database.write().await?;
        for Proven { index, sealed, .. } in answer.records {
            if tree::leaf(&mut write, index).await? != Some(sealed.leaf_hash()) {
                return Err(Trouble::log(format!("leaf {index} is not the record that was sent")));
            }
            let text = serde_json::to_string(&sealed).map_err(|error| Refusal::internal(&error))?;
            sqlx::query(
                "INSERT INTO relayed_records (leaf, sealed) VALUES ($1, $2)
                 ON CONFLICT (leaf) DO NOTHING",
            )
            .bind(index.cast_signed())
            .bind(text)
            .execute(&mut *write)
            .await?;
            records.insert(index, sealed);
        }
        write.commit().await?;
        Ok(records)
    }

    /// A file of the relayed log: a tile as it is held, a bundle of entries as upstream has it,
    /// held against its tile.
    pub(super) async fn relay_tile(
        &self,
        path: TilePath,
        through: Through<'_>,
    ) -> Result<Option<Vec<u8>>, Trouble> {
        let Some(seen) = self.0.relay.seen() else { return Ok(None) };
        let size = seen.newest.as_ref().map_or(0, |newest| newest.size);
        let tile = *path.tile();
        let within = Tile::in_tree(tile.level, tile.index, size);
        if within.is_none_or(|within| within.width < tile.width) {
            return Ok(None);
        }
        let mut read = self.0.data.database.readers().acquire().await?;
        let hashes = tree::tile(&mut read, &tile).await?;
        drop(read);
        let (TilePath::Entries(_), Some(hashes)) = (path, &hashes) else { return Ok(hashes) };
        let bundle = match self.0.relay.piece(&seen, path, Bound::ENTRIES, through).await {
            Err(upstream::UpstreamError::NotFound { .. }) if !tile.is_full() => {
                let full = TilePath::Entries(Tile { width: 256, ..tile });
                self.0.relay.piece(&seen, full, Bound::ENTRIES, through).await
            }
            other => other,
        };
        // The log has it: its tile of hashes is held.
        let bundle = bundle.map_err(|error| Trouble::unanswered("log", error))?;
        let entries =
            Entries::from_bytes(&bundle).map_err(|error| Trouble::log(error.to_string()))?;
        let mut cut = Vec::with_capacity(bundle.len());
        for (at, entry) in entries.iter().take(usize::from(tile.width)).enumerate() {
            let hash = skillpkg_schema::log::leaf_hash(entry);
            if hashes.as_chunks::<32>().0.get(at) != Some(hash.as_bytes()) {
                let leaf = tile.index * TILE_WIDTH + at as u64;
                return Err(Trouble::log(format!("entry {leaf} is not the one of its tile")));
            }
            Entries::append(&mut cut, entry).map_err(|error| Trouble::log(error.to_string()))?;
        }
        if entries.iter().len() < usize::from(tile.width) {
            return Err(Trouble::log("a bundle of entries is too short"));
        }
        Ok(Some(cut))
    }
}
