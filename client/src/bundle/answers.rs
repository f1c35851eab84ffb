//! What a bundle answers in the place of a registry, unverified as all answers are.

use bytes::Bytes;
use serde_json::json;
use skillpkg_schema::bundle::{BundledLog, BundledSkill, archive_path, document_path, tile_path};
use skillpkg_schema::log::{
    Checkpoint, Hash, TileHashes, TilePath, bucket_of, consistency_ranges, head_key, proof_of,
    tree_range, verify_consistency,
};
use skillpkg_schema::wire::{
    Document, Hashes, KnownLog, LogInfo, Logs, ProofsAnswer, ProofsRequest, View,
};
use skillpkg_schema::{ContentAddress, QualifiedName};

use super::carried::Shelf;
use crate::registry::Indexed;
use crate::{Error, Kind};

/// The most of a directory of tiles that is read: what `skillpkg bundle` takes along is far less.
const MAX_TILES: usize = 20_000;

impl Shelf {
    /// Documents, and what the logs prove of them, as `POST /v1/index` answers it.
    ///
    /// A skill that the bundle does not speak of is an error: that a registry does not have it no
    /// bundle says.
    pub(crate) fn index(
        &self,
        names: &[QualifiedName],
        known: &[KnownLog],
    ) -> Result<Indexed, Error> {
        let registry = self.registry()?;
        let mut documents = Vec::with_capacity(names.len());
        for name in names {
            let skill = registry.skills.iter().find(|skill| skill.name == *name);
            let skill = skill.ok_or_else(|| self.lacks(&format!("`{name}`")))?;
            documents.push(self.document(skill)?);
        }
        let views: Vec<View> =
            registry.logs.iter().map(|log| self.view(log, names, known)).collect();
        let bytes = serde_json::to_vec(&json!({ "views": views })).unwrap_or_default();
        Ok(Indexed { documents, missing: Vec::new(), views, bytes: Bytes::from(bytes) })
    }

    fn document(&self, skill: &BundledSkill) -> Result<(Document, Hash), Error> {
        let path = document_path(&skill.document);
        let bytes = self.carried().bytes(&path)?;
        let document: Document = serde_json::from_slice(&bytes)
            .map_err(|error| self.damaged(&format!("`{path}` is no document: {error}")))?;
        if document.name != skill.name {
            return Err(self.damaged(&format!("`{path}` is not the document of `{}`", skill.name)));
        }
        Ok((document, Hash::of(&bytes)))
    }

    /// The view of a log for these names; that it continues what is known where the tiles prove it.
    fn view(&self, log: &BundledLog, names: &[QualifiedName], known: &[KnownLog]) -> View {
        let buckets: Vec<u16> = names.iter().map(|name| bucket_of(&head_key(name))).collect();
        let mut view = log.view.clone();
        view.buckets.retain(|proven| buckets.contains(&proven.bucket));
        view.statements.retain(|statement| {
            let names_one = |name: &QualifiedName| is_about(&statement.payload(), name);
            names.iter().any(names_one)
        });
        let known = known.iter().find(|known| known.origin == view.origin);
        if let Some(known) = known.filter(|known| known.size > 0)
            && let Some((proof, _)) = self.consistency(&view, known.size)
        {
            view.consistency = proof;
        }
        view
    }

    /// That the tree of a view continues the one of its first `from` leaves, as its tiles have it,
    /// with the root of that one; [`None`] where the tiles are not there.
    fn consistency(&self, view: &View, from: u64) -> Option<(Hashes, Hash)> {
        let size = view.heads.index.checked_add(1)?;
        let ranges = consistency_ranges(from, size)?;
        let tiles = self.tiles(view).ok()?;
        let proof = proof_of(&ranges, &tiles).ok()?;
        let root = tiles.hash(tree_range(from)?).ok()?;
        Some((Hashes(proof), root))
    }

    /// What the tiles say of an earlier checkpoint that a view does not continue: whether they prove
    /// that the log had another tree of that size ([`None`] where they prove nothing).
    pub(crate) fn forks_from(&self, view: &View, known: &Checkpoint, now: &Checkpoint) -> bool {
        let Some((proof, other)) = self.consistency(view, known.size) else { return false };
        let (size, root) = (now.size, &now.root);
        other != known.root && verify_consistency(known.size, &other, size, root, &proof.0).is_ok()
    }

    /// The tiles of the tree of a view.
    pub(crate) fn tiles(&self, view: &View) -> Result<TileHashes, Error> {
        let mut tiles = TileHashes::default();
        for (tile, bytes) in self.tile_files(view)? {
            tiles.insert(tile, &bytes).map_err(|error| self.damaged(&error.to_string()))?;
        }
        Ok(tiles)
    }

    /// The tiles of the tree of a view, with their bytes.
    pub(crate) fn tile_files(
        &self,
        view: &View,
    ) -> Result<Vec<(skillpkg_schema::log::Tile, Vec<u8>)>, Error> {
        let size = view.heads.index.saturating_add(1);
        let mut found = Vec::new();
        let index = self.carried().index();
        for file in index.files.iter().take(MAX_TILES) {
            let Some(named) = file.path.strip_prefix("logs/").and_then(|rest| rest.split_once('/'))
            else {
                continue;
            };
            let Some(TilePath::Hashes(tile)) = TilePath::parse(named.1) else { continue };
            let is_of_tree =
                skillpkg_schema::log::Tile::in_tree(tile.level, tile.index, size) == Some(tile);
            if is_of_tree && file.path == tile_path(&view.origin, &TilePath::Hashes(tile)) {
                found.push((tile, self.carried().bytes(&file.path)?));
            }
        }
        Ok(found)
    }

    /// Who the logs say they are.
    pub(crate) fn logs(&self) -> Result<Logs, Error> {
        let info = |log: &BundledLog| LogInfo {
            origin: log.view.origin.clone(),
            prefix: log.view.origin.clone(),
            relayed: log.relayed,
            identities: log.identities.clone(),
            checkpoint: log.view.checkpoint.clone(),
        };
        Ok(Logs { logs: self.registry()?.logs.iter().map(info).collect() })
    }

    /// A tile of the log of an origin; [`None`] where it is not there.
    pub(crate) fn log_file(&self, origin: &str, path: &str) -> Result<Option<Vec<u8>>, Error> {
        let Some(path) = TilePath::parse(path).map(|tile| tile_path(origin, &tile)) else {
            return Ok(None);
        };
        let there = self.carried().index().file(&path).is_some();
        there.then(|| self.carried().bytes(&path)).transpose()
    }

    /// Proofs that versions are in a log, and the whole answer.
    pub(crate) fn proofs(&self, request: &ProofsRequest) -> Result<(ProofsAnswer, Bytes), Error> {
        let versions = self.registry()?.skills.iter().flat_map(|skill| &skill.versions);
        let of_log: Vec<_> =
            versions.filter(|one| one.origin == request.origin).map(|one| &one.proof).collect();
        let mut answer = ProofsAnswer { records: Vec::new(), missing: Vec::new() };
        for index in &request.indices {
            match of_log.iter().find(|proven| proven.index == *index) {
                Some(proven) => answer.records.push((*proven).clone()),
                None => answer.missing.push(*index),
            }
        }
        let bytes = serde_json::to_vec(&answer).unwrap_or_default();
        Ok((answer, Bytes::from(bytes)))
    }

    /// The bytes of an archive.
    pub(crate) fn archive(&self, archive: &ContentAddress) -> Result<Bytes, Error> {
        let path = archive_path(archive);
        let path = path.filter(|path| self.carried().index().file(path).is_some());
        let path = path.ok_or_else(|| self.lacks(&format!("the archive {archive}")))?;
        let bytes = self.carried().bytes(&path)?;
        if !archive.matches(&bytes) {
            return Err(self.damaged(&format!("`{path}` is another archive")));
        }
        Ok(Bytes::from(bytes))
    }

    fn damaged(&self, what: &str) -> Error {
        Error::new(Kind::Verification, "bundle_content", format!("the bundle is refused: {what}"))
            .in_file(self.carried().path().to_string_lossy())
    }
}

/// Whether a statement is about a name, as far as it says so itself.
fn is_about(statement: &[u8], name: &QualifiedName) -> bool {
    #[derive(serde::Deserialize)]
    struct OnlyName {
        name: String,
    }
    let said = serde_json::from_slice::<OnlyName>(statement);
    said.is_ok_and(|said| said.name == name.to_string())
}
