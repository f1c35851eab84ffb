//! Views: documents of one moment, with what proves them.

use std::collections::BTreeMap;
use std::sync::Arc;

use skillpkg_schema::QualifiedName;
use skillpkg_schema::log::{
    Checkpoint, Hash, bucket_of, consistency_ranges, head_key, sign_document,
};
use skillpkg_schema::wire::{Hashes, Proven, ProvenBucket, View};

use super::{Keyring, Log};
use crate::auth::Caller;
use crate::documents::{DocumentCache, Known};
use crate::problem::{Answer, Refusal};

/// How often a view is begun anew, where what it would show is being changed.
const ATTEMPTS: usize = 20;

/// What is read of a moment while it stays.
struct Glance {
    keyring: Arc<Keyring>,
    checkpoint: Checkpoint,
    note: String,
    heads: Proven,
    /// The leaf hash of each bucket, and its proof.
    buckets: BTreeMap<u16, (Hash, Vec<Hash>)>,
}

impl Log {
    /// The documents of `names` as one checkpoint has them, in their order, and the view that proves
    /// them to a client that knows the log's first `known` leaves.
    ///
    /// Documents are taken as they come, and held against the heads of one moment: where that has
    /// moved on, all is begun anew.
    pub async fn view(
        &self,
        cache: &DocumentCache,
        caller: &Caller,
        names: &[QualifiedName],
        known: u64,
    ) -> Answer<(Vec<Known>, View)> {
        for _ in 0..ATTEMPTS {
            let before = self.moment().await.size();
            let mut documents = Vec::with_capacity(names.len());
            for name in names {
                documents.push(cache.get(caller, name).await?);
            }
            let glance = self.glance(names).await?;
            // What no bucket tells must not have changed meanwhile.
            let is_told = |(name, known): (&QualifiedName, &Known)| match known {
                Some(prepared) => !prepared.private,
                None => !caller.reads_private(name),
            };
            if before != glance.checkpoint.size && !names.iter().zip(&documents).all(is_told) {
                continue;
            }
            if let Some(buckets) = self.buckets_of(names, &documents, &glance).await? {
                let view = self.finish(caller, names, &documents, glance, buckets, known).await?;
                return Ok((documents, view));
            }
        }
        let detail = "what was asked for is being changed too fast; ask for fewer names";
        Err(Refusal::unavailable(detail, 1))
    }

    async fn glance(&self, names: &[QualifiedName]) -> Answer<Glance> {
        let keyring = self.keyring();
        let moment = self.moment().await;
        let numbers = names.iter().map(|name| bucket_of(&head_key(name)));
        let tree = moment.tree();
        Ok(Glance {
            checkpoint: moment.checkpoint().clone(),
            note: moment.note(&keyring)?,
            heads: moment.heads().clone(),
            keyring,
            buckets: numbers
                .map(|number| (number, (tree.leaf(number), tree.proof(number))))
                .collect(),
        })
    }

    /// The buckets of the names, where they list just these documents; [`None`] where the moment has
    /// moved on.
    async fn buckets_of(
        &self,
        names: &[QualifiedName],
        documents: &[Known],
        glance: &Glance,
    ) -> Answer<Option<Vec<ProvenBucket>>> {
        let mut buckets = BTreeMap::new();
        for (number, (hash, _)) in &glance.buckets {
            let Some(bucket) = self.buckets.get(*number, *hash).await? else { return Ok(None) };
            buckets.insert(*number, bucket);
        }
        for (name, known) in names.iter().zip(documents) {
            let key = head_key(name);
            let public = known.as_ref().filter(|prepared| !prepared.private);
            let listed = buckets.get(&bucket_of(&key)).and_then(|bucket| bucket.1.get(&key));
            if listed != public.map(|prepared| &prepared.digest) {
                return Ok(None);
            }
        }
        let proven = buckets.into_iter().map(|(bucket, kept)| {
            let heads = kept.1.heads().iter().flat_map(|(key, digest)| [*key, *digest]);
            let proof = glance.buckets.get(&bucket).map(|(_, proof)| proof.clone());
            let proof = Hashes(proof.unwrap_or_default());
            ProvenBucket { bucket, heads: Hashes(heads.collect()), proof }
        });
        Ok(Some(proven.collect()))
    }

    async fn finish(
        &self,
        caller: &Caller,
        names: &[QualifiedName],
        documents: &[Known],
        glance: Glance,
        buckets: Vec<ProvenBucket>,
        known: u64,
    ) -> Answer<View> {
        let Checkpoint { origin, size, .. } = glance.checkpoint;
        // A client that knows more than there is sees it by the size alone.
        let ranges = consistency_ranges(known, size).unwrap_or_default();
        let consistency = Hashes(self.tiles.proof(&ranges, size).await?);
        let mut statements = Vec::new();
        for (name, known) in names.iter().zip(documents) {
            let digest = match known {
                Some(prepared) if prepared.private => Some(prepared.digest),
                None if caller.reads_private(name) => None,
                _ => continue,
            };
            statements.push(sign_document(&origin, size, name, digest, glance.keyring.log_key()));
        }
        let (checkpoint, heads) = (glance.note, glance.heads);
        let refreshed = None;
        Ok(View { origin, checkpoint, consistency, heads, buckets, statements, refreshed })
    }
}
