//! Answers about many names of upstream's at once, with what proves them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::address::DIGEST_BYTES;
use skillpkg_schema::log::{Hash, bucket_of, head_key};
use skillpkg_schema::wire::{Hashes, Proven, ProvenBucket, View};

use super::documents::{Held, Live};
use super::relay::{Moment, Through};
use super::trouble::Trouble;
use super::{Mirror, tree};
use crate::problem::Refusal;
use crate::upstream::UpstreamError;

/// What is answered about names that are upstream's.
#[derive(Debug)]
pub struct Relayed {
    /// The documents that there are.
    pub documents: BTreeMap<QualifiedName, Bytes>,
    /// What proves them, and that there are no others, where it was asked for.
    pub view: Option<View>,
}

/// The buckets that prove an answer.
type Buckets = BTreeMap<u16, Arc<ProvenBucket>>;

/// What is held of the names of one question.
struct AtHand {
    documents: BTreeMap<QualifiedName, Held>,
    /// Names of which nothing is known.
    unknown: Vec<QualifiedName>,
    /// The moments that the answer would be of.
    moments: BTreeSet<Hash>,
}

impl Mirror {
    /// Answers about `names`, all of them upstream's; with `known`, the size of the log that the
    /// client knows, also with a view.
    ///
    /// What is held is answered as it is held. Where something is not, where what is held is of more
    /// than one moment and a view is wanted, or where the client has seen more of the log than it
    /// shows, upstream is asked for all of it.
    pub(super) async fn relay_index(
        &self,
        names: &[QualifiedName],
        known: Option<u64>,
        through: Through<'_>,
    ) -> Result<Relayed, Trouble> {
        let names: BTreeSet<&QualifiedName> = names.iter().collect();
        let names: Vec<QualifiedName> = names.into_iter().cloned().collect();
        let names = names.as_slice();
        let hand = self.at_hand(names).await?;
        let is_provable = hand.moments.len() <= 1;
        let is_behind = match known {
            Some(_) if is_provable => {
                known > self.moment_of(&hand).await?.map(|moment| moment.size)
            }
            _ => false,
        };
        if hand.unknown.is_empty() && (known.is_none() || is_provable && !is_behind) {
            // With no names it is the newest moment.
            return self.answer_from_hand(names, hand, known).await;
        }
        match self.ask(names, through).await {
            Ok(live) => {
                self.0.fetched.notify_one();
                self.answer_from_live(live, hand, known).await
            }
            // None of them is of the log that is relayed.
            Err(Trouble::Upstream(UpstreamError::Elsewhere { .. })) => {
                self.answer_from_hand(names, hand, None).await
            }
            // A client that has seen more sees that this is behind.
            Err(trouble) if hand.unknown.is_empty() && (known.is_none() || is_provable) => {
                tracing::debug!(%trouble, "upstream was asked in vain; what is held is served");
                self.answer_from_hand(names, hand, known).await
            }
            Err(trouble) => Err(trouble),
        }
    }

    async fn at_hand(&self, names: &[QualifiedName]) -> Result<AtHand, Trouble> {
        let mut hand =
            AtHand { documents: BTreeMap::new(), unknown: Vec::new(), moments: BTreeSet::new() };
        for name in names {
            if let Some(held) = self.held(name).await? {
                hand.moments.insert(held.heads);
                hand.documents.insert(name.clone(), held);
            } else if let Some(missing) = self.missing(name) {
                hand.moments.insert(missing.heads());
            } else {
                hand.unknown.push(name.clone());
            }
        }
        Ok(hand)
    }

    /// The moment of what is held; of nothing it is the newest.
    async fn moment_of(&self, hand: &AtHand) -> Result<Option<Arc<Moment>>, Trouble> {
        match hand.moments.iter().next() {
            Some(heads) => self.0.relay.moment(heads).await,
            None => Ok(self.0.relay.seen().and_then(|seen| seen.newest.clone())),
        }
    }

    async fn answer_from_hand(
        &self,
        names: &[QualifiedName],
        hand: AtHand,
        known: Option<u64>,
    ) -> Result<Relayed, Trouble> {
        let view = match known {
            None => None,
            Some(known) => {
                let missing = "a moment of documents is not held";
                let moment = self.moment_of(&hand).await?;
                let moment = moment.ok_or_else(|| Refusal::internal(&missing))?;
                let buckets = self.buckets(names, &moment.heads).await?;
                Some(self.view(&moment, buckets, known).await?)
            }
        };
        let documents = hand.documents.into_iter().map(|(name, held)| (name, held.bytes)).collect();
        Ok(Relayed { documents, view })
    }

    async fn answer_from_live(
        &self,
        live: Live,
        hand: AtHand,
        known: Option<u64>,
    ) -> Result<Relayed, Trouble> {
        let mut documents = live.documents;
        // What may not change and did is held as it was; of this moment it is not.
        for name in live.changed {
            let (Some(held), None) = (hand.documents.get(&name), known) else {
                let detail = "a version of it has other content than before";
                return Err(Trouble::lie(name.to_string(), detail));
            };
            documents.insert(name, held.bytes.clone());
        }
        let view = match known {
            Some(known) => Some(self.view(&live.moment, live.buckets, known).await?),
            None => None,
        };
        Ok(Relayed { documents, view })
    }

    /// The buckets of names, as they are held.
    async fn buckets(&self, names: &[QualifiedName], heads: &Hash) -> Result<Buckets, Trouble> {
        let mut buckets = Buckets::new();
        for name in names {
            let number = bucket_of(&head_key(name));
            if buckets.contains_key(&number) {
                continue;
            }
            let remembered = self.missing(name).and_then(|missing| missing.bucket_at(heads));
            let bucket = match remembered {
                Some(bucket) => bucket,
                None => Arc::new(self.held_bucket(number, heads).await?),
            };
            buckets.insert(number, bucket);
        }
        Ok(buckets)
    }

    async fn held_bucket(&self, number: u16, heads: &Hash) -> Result<ProvenBucket, Trouble> {
        let row: Option<(Vec<u8>, Vec<u8>)> = sqlx::query_as(
            "SELECT bytes, proof FROM relayed_buckets WHERE heads = $1 AND number = $2",
        )
        .bind(heads.to_string())
        .bind(i64::from(number))
        .fetch_optional(self.0.data.database.readers())
        .await?;
        let missing = "a bucket of documents that are held is not";
        let (bytes, proof) = row.ok_or_else(|| Refusal::internal(&missing))?;
        Ok(ProvenBucket { bucket: number, heads: hashes(&bytes), proof: hashes(&proof) })
    }

    /// A view of the log at a moment, for a client that knows `known` leaves of it.
    async fn view(&self, moment: &Moment, buckets: Buckets, known: u64) -> Result<View, Trouble> {
        let mut read = self.0.data.database.readers().acquire().await?;
        // A client that knows more has it from elsewhere: it sees that this view is older.
        let consistency = tree::consistency(&mut read, known, moment.size).await?;
        let index = moment.size.saturating_sub(1);
        let proof = tree::inclusion(&mut read, index, moment.size).await?;
        drop(read);
        let buckets = buckets.into_values().map(|bucket| ProvenBucket::clone(&bucket));
        Ok(View {
            origin: self.0.relay.origin_seen(),
            checkpoint: moment.checkpoint.clone(),
            consistency: Hashes(consistency.unwrap_or_default()),
            heads: Proven {
                index,
                sealed: moment.sealed.clone(),
                proof: Hashes(proof.unwrap_or_default()),
            },
            buckets: buckets.collect(),
            statements: Vec::new(),
            refreshed: Some(moment.at.clone()),
        })
    }
}

fn hashes(bytes: &[u8]) -> Hashes {
    let (hashes, _) = bytes.as_chunks::<DIGEST_BYTES>();
    Hashes(hashes.iter().map(|hash| Hash::from_bytes(*hash)).collect())
}
