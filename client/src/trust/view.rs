//! One view of a log, verified: its checkpoint, and the documents that it proves.

use std::collections::BTreeMap;

use serde::Deserialize;
use skillpkg_schema::QualifiedName;
use skillpkg_schema::log::{
    Bucket, Checkpoint, CheckpointError, Hash, NoteKey, SignatureKind, Subject, VerifiedCheckpoint,
    bucket_of, head_key, verify_consistency, verify_document, verify_inclusion,
};
use skillpkg_schema::signature::Envelope;
use skillpkg_schema::wire::{Document, View};

use super::error::{HeadsFault, Refusal, Shown};
use super::rules::{LogKey, Rules};
use super::store::KnownLog;
use crate::registry::Place;

/// Most leaves that a log is believed to have. A checkpoint of more would keep every true one from
/// being believed after it.
pub(super) const MAX_LEAVES: u64 = 1 << 40;

/// Which log is meant, and what is asked of it.
pub(super) struct Expected<'e> {
    /// The URL that answers.
    pub(super) place: &'e Place,
    pub(super) origin: &'e str,
    /// The keys that sign its checkpoints now.
    pub(super) keys: &'e [NoteKey],
    /// The checkpoint that is known.
    pub(super) known: Option<&'e VerifiedCheckpoint>,
    /// What the configuration asks for.
    pub(super) configured: Option<&'e LogKey>,
    pub(super) rules: &'e Rules,
    pub(super) now: u64,
}

/// A view that was verified.
#[derive(Debug, Clone)]
pub(crate) struct VerifiedView {
    pub(super) place: Place,
    pub(super) origin: String,
    pub(super) verified: VerifiedCheckpoint,
    /// The signed note.
    pub(super) note: String,
    buckets: BTreeMap<u16, Bucket>,
    statements: BTreeMap<String, Envelope>,
    keys: Vec<NoteKey>,
}

/// What a view says of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// The log lists a document with this digest.
    Listed(Hash),
    /// The log states that a private document has this digest.
    Private(Hash),
    /// There is none that this log speaks for.
    Nothing,
    /// The view does not speak of the name.
    Silent,
}

impl Expected<'_> {
    /// Verifies a checkpoint: who signed it, when, and that the log is not smaller than it was or
    /// another of the same size. Whether a larger one continues it, its proof tells.
    pub(super) fn checkpoint(&self, note: &str) -> Result<VerifiedCheckpoint, Refusal> {
        let (place, origin) = (self.place.clone(), self.origin.to_owned());
        let witnesses = self.rules.witnesses();
        let verified =
            Checkpoint::verify(note.as_bytes(), self.origin, self.keys, &witnesses).map_err(
                |reason| Refusal::Unsigned { place: place.clone(), origin: origin.clone(), reason },
            )?;
        if let Some(LogKey::Key(key)) = self.configured {
            let key = std::slice::from_ref(&**key);
            let signed = Checkpoint::verify(note.as_bytes(), self.origin, key, &[]);
            if signed.is_err() {
                return Err(Refusal::OtherKey { place, origin });
            }
        }
        let now = &verified.checkpoint;
        if let Some(known) = self.known {
            let (from, to) = (
                Shown::of(&known.checkpoint, known.time),
                Shown::of(&verified.checkpoint, verified.time),
            );
            if now.size < known.checkpoint.size {
                return Err(Refusal::Rewind { place, origin, from, to });
            }
            if now.size == known.checkpoint.size && now.root != known.checkpoint.root {
                return Err(Refusal::Fork { place, origin, from, to });
            }
        }
        if now.size > MAX_LEAVES {
            return Err(Refusal::TooLarge { place, origin, size: now.size });
        }
        match verified.time {
            Some(signed) => self.rules.check_time(self.place, self.origin, signed, self.now)?,
            // A log that cosigns always does: somebody took the time away.
            None if self.tells_time() || self.rules.maximum_age.is_some() => {
                return Err(Refusal::Timeless { place, origin });
            }
            None => {}
        }
        self.rules.check_witnesses(self.place, self.origin, &verified.witnesses)?;
        Ok(verified)
    }

    fn tells_time(&self) -> bool {
        self.keys.iter().any(|key| key.kind() == SignatureKind::Cosignature)
    }

    /// Whether a refusal says that no key that is known has signed: the log may have other keys
    /// since.
    pub(super) fn may_be_rotated(refusal: &Refusal) -> bool {
        matches!(refusal, Refusal::Unsigned { reason: CheckpointError::NotSigned(_), .. })
    }

    /// The refusal of a checkpoint that no key of now has signed, where keys of `log` did that it
    /// has replaced since.
    pub(super) fn superseded(&self, refusal: Refusal, note: &str, log: &KnownLog) -> Refusal {
        let (keys, latest) = (log.chain.keys_of_all(), log.chain.latest());
        match Checkpoint::verify(note.as_bytes(), self.origin, &keys, &[]) {
            Ok(verified) if Self::may_be_rotated(&refusal) => Refusal::Superseded {
                place: self.place.clone(),
                origin: self.origin.to_owned(),
                identity: latest.map_or(0, |latest| latest.number),
                from: Shown::of(log.checkpoint(), log.verified.time),
                to: Shown::of(&verified.checkpoint, verified.time),
            },
            _ => refusal,
        }
    }

    /// Verifies a view: its checkpoint, that it continues what is known, and what it proves of
    /// `names`.
    pub(super) fn view(&self, view: &View, names: usize) -> Result<VerifiedView, Refusal> {
        let verified = self.checkpoint(&view.checkpoint)?;
        let Checkpoint { size, root, .. } = &verified.checkpoint;
        if let Some(known) = self.known {
            let before = &known.checkpoint;
            verify_consistency(before.size, &before.root, *size, root, &view.consistency.0)
                .map_err(|reason| Refusal::Inconsistent {
                    place: self.place.clone(),
                    origin: self.origin.to_owned(),
                    from: Shown::of(before, known.time),
                    to: Shown::of(&verified.checkpoint, verified.time),
                    reason,
                })?;
        }
        let buckets = self.buckets(view, names, *size, root)?;
        let mut statements = BTreeMap::new();
        for statement in view.statements.iter().take(names) {
            #[derive(Deserialize)]
            struct OnlyName {
                name: String,
            }
            // What it says counts once its signature was verified.
            if let Ok(OnlyName { name }) = serde_json::from_slice(&statement.payload()) {
                statements.insert(name, statement.clone());
            }
        }
        let keys = match self.configured {
            Some(LogKey::Key(key)) => vec![(**key).clone()],
            _ => self.keys.to_vec(),
        };
        Ok(VerifiedView {
            place: self.place.clone(),
            origin: self.origin.to_owned(),
            note: view.checkpoint.clone(),
            verified,
            buckets,
            statements,
            keys,
        })
    }

    fn buckets(
        &self,
        view: &View,
        names: usize,
        size: u64,
        root: &Hash,
    ) -> Result<BTreeMap<u16, Bucket>, Refusal> {
        let refused = |reason| Refusal::Heads {
            place: self.place.clone(),
            origin: self.origin.to_owned(),
            reason,
        };
        let heads = &view.heads;
        let Some(last) = size.checked_sub(1) else { return Err(refused(HeadsFault::Empty)) };
        if heads.index != last {
            return Err(refused(HeadsFault::NotLast { index: heads.index, size }));
        }
        let subject = &heads.sealed.record.subject;
        let (Subject::Heads { root: listed }, None) = (subject, &heads.sealed.salt) else {
            return Err(refused(HeadsFault::NotHeads(subject.kind())));
        };
        verify_inclusion(&heads.sealed.leaf_hash(), heads.index, size, root, &heads.proof.0)
            .map_err(|reason| refused(HeadsFault::NotIncluded(reason)))?;
        if view.buckets.len() > names {
            return Err(refused(HeadsFault::TooMany));
        }
        let mut buckets = BTreeMap::new();
        for proven in &view.buckets {
            let number = proven.bucket;
            let bytes: Vec<u8> = proven.heads.0.iter().flat_map(|hash| *hash.as_bytes()).collect();
            let bucket = Bucket::from_bytes(number, &bytes)
                .map_err(|reason| refused(HeadsFault::Bucket { number, reason }))?;
            bucket
                .verify(number, listed, &proven.proof.0)
                .map_err(|reason| refused(HeadsFault::NotProven { number, reason }))?;
            buckets.insert(number, bucket);
        }
        Ok(buckets)
    }
}

impl VerifiedView {
    /// The log's origin.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// When the log signed it, in seconds since 1970, where it tells.
    pub(crate) fn time(&self) -> Option<u64> {
        self.verified.time
    }

    /// What was signed.
    pub(crate) fn checkpoint(&self) -> &Checkpoint {
        &self.verified.checkpoint
    }

    /// What the log says of a name.
    pub(super) fn says(&self, name: &QualifiedName) -> Result<Said, Refusal> {
        let key = head_key(name);
        let bucket = self.buckets.get(&bucket_of(&key));
        if let Some(listed) = bucket.and_then(|bucket| bucket.get(&key)) {
            return Ok(Said::Listed(*listed));
        }
        let Some(statement) = self.statements.get(&name.to_string()) else {
            return Ok(if bucket.is_some() { Said::Nothing } else { Said::Silent });
        };
        let size = self.checkpoint().size;
        let stated =
            verify_document(statement, &self.origin, size, name, &self.keys).map_err(|reason| {
                Refusal::Statement { origin: self.origin.clone(), name: name.clone(), reason }
            })?;
        // That no private one is there says nothing unless no public one is there either.
        Ok(match stated {
            Some(digest) => Said::Private(digest),
            None if bucket.is_some() => Said::Nothing,
            None => Said::Silent,
        })
    }

    /// Holds a document against what the log says of it.
    pub(super) fn check_document(&self, document: &Document, digest: &Hash) -> Result<(), Refusal> {
        let (place, origin) = (self.place.clone(), self.origin.clone());
        let name = document.name.clone();
        let listed = match self.says(&name)? {
            Said::Listed(listed) => listed,
            Said::Private(listed) if document.private => listed,
            Said::Private(_) | Said::Nothing => {
                return Err(Refusal::NotListed { place, origin, name });
            }
            Said::Silent => {
                let reason = HeadsFault::NoBucket(bucket_of(&head_key(&name)));
                return Err(Refusal::Heads { place, origin, reason });
            }
        };
        if listed == *digest {
            return Ok(());
        }
        Err(Refusal::Changed { place, origin, name, listed, found: *digest })
    }

    /// Holds that there is no such skill against what the log says.
    pub(super) fn check_missing(&self, name: &QualifiedName) -> Result<(), Refusal> {
        let (place, origin, name) = (self.place.clone(), self.origin.clone(), name.clone());
        match self.says(&name)? {
            Said::Nothing => Ok(()),
            Said::Listed(_) | Said::Private(_) => Err(Refusal::Hidden { place, origin, name }),
            Said::Silent => {
                let reason = HeadsFault::NoBucket(bucket_of(&head_key(&name)));
                Err(Refusal::Heads { place, origin, reason })
            }
        }
    }
}
