//! The heads tree: which bytes every public document has, in one root.
//!
//! A Merkle tree of RFC 6962 with exactly 65,536 leaves. A skill's leaf, its bucket, is told by the
//! first two bytes of the SHA-256 of its name; a bucket is the sorted list of the skills in it, each
//! as the SHA-256 of its name and that of its document. That a skill is not listed is shown as well
//! as what its document is.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::merkle::{Hash, ProofError, leaf_hash, node_hash, verify_inclusion};
use crate::address::DIGEST_BYTES;
use crate::name::QualifiedName;

/// Leaves of the heads tree.
pub const BUCKETS: u64 = 65_536;
/// The same, as an index.
const LEAVES: usize = 65_536;
/// Bytes of one skill in a bucket.
const HEAD_BYTES: usize = 2 * DIGEST_BYTES;

/// Why bytes are no bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeadsError {
    /// Not a whole number of heads.
    #[error("the bucket ends within a head")]
    Truncated,
    /// Not sorted, twice in it, or of another bucket.
    #[error("head {0} of the bucket is out of place")]
    OutOfPlace(usize),
}

/// What a skill is listed under: the SHA-256 of `[scope/]name`.
pub fn head_key(name: &QualifiedName) -> Hash {
    Hash::of(name.to_string().as_bytes())
}

/// The bucket of a key.
pub fn bucket_of(key: &Hash) -> u16 {
    let [first, second, ..] = *key.as_bytes();
    u16::from_be_bytes([first, second])
}

/// The skills of one bucket, and the digests of their documents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bucket(Vec<(Hash, Hash)>);

impl Bucket {
    /// Reads the bytes of the bucket with this number. The caller has bounded their length.
    pub fn from_bytes(number: u16, bytes: &[u8]) -> Result<Self, HeadsError> {
        let (heads, rest) = bytes.as_chunks::<HEAD_BYTES>();
        if !rest.is_empty() {
            return Err(HeadsError::Truncated);
        }
        let mut bucket = Self::default();
        for (at, head) in heads.iter().enumerate() {
            let (key, digest) = head.split_at(DIGEST_BYTES);
            let hash = |bytes: &[u8]| bytes.try_into().map(Hash::from_bytes);
            let (Ok(key), Ok(digest)) = (hash(key), hash(digest)) else {
                return Err(HeadsError::Truncated);
            };
            if bucket_of(&key) != number || bucket.0.last().is_some_and(|(last, _)| *last >= key) {
                return Err(HeadsError::OutOfPlace(at));
            }
            bucket.0.push((key, digest));
        }
        Ok(bucket)
    }

    /// The bytes of the leaf.
    pub fn to_bytes(&self) -> Vec<u8> {
        let bytes = self.0.iter().flat_map(|(key, digest)| [*key.as_bytes(), *digest.as_bytes()]);
        bytes.flatten().collect()
    }

    /// The hash of the leaf.
    pub fn leaf_hash(&self) -> Hash {
        leaf_hash(&self.to_bytes())
    }

    /// The keys and the digests, sorted by key.
    pub fn heads(&self) -> &[(Hash, Hash)] {
        &self.0
    }

    /// The digest of the document listed under a key.
    pub fn get(&self, key: &Hash) -> Option<&Hash> {
        let at = self.0.binary_search_by_key(key, |(key, _)| *key).ok()?;
        self.0.get(at).map(|(_, digest)| digest)
    }

    /// Lists a document under a key, in the place of what was listed; [`None`] takes it away.
    pub fn set(&mut self, key: Hash, digest: Option<Hash>) {
        match (self.0.binary_search_by_key(&key, |(key, _)| *key), digest) {
            (Ok(at), Some(digest)) => {
                if let Some(head) = self.0.get_mut(at) {
                    head.1 = digest;
                }
            }
            (Err(at), Some(digest)) => self.0.insert(at, (key, digest)),
            (Ok(at), None) => {
                self.0.remove(at);
            }
            (Err(_), None) => {}
        }
    }

    /// Checks that this is the bucket with this number beneath a root of the heads tree.
    pub fn verify(&self, number: u16, root: &Hash, proof: &[Hash]) -> Result<(), ProofError> {
        verify_inclusion(&self.leaf_hash(), u64::from(number), BUCKETS, root, proof)
    }
}

/// The whole heads tree by its hashes: 4 MiB, however many skills there are.
#[derive(Debug, Clone)]
pub struct HeadsTree {
    /// A complete binary tree: the root at 1, the children of `n` at `2n` and `2n + 1`.
    nodes: Vec<Hash>,
}

impl HeadsTree {
    /// The tree whose buckets have these leaf hashes; all others are empty.
    pub fn new(buckets: impl IntoIterator<Item = (u16, Hash)>) -> Self {
        let mut nodes = vec![leaf_hash(&[]); 2 * LEAVES];
        // All are empty at first, and one a level is hashed for all of it.
        let (mut start, mut hash) = (LEAVES / 2, leaf_hash(&[]));
        while start > 0 {
            hash = node_hash(&hash, &hash);
            nodes.iter_mut().skip(start).take(start).for_each(|node| *node = hash);
            start /= 2;
        }
        let mut tree = Self { nodes };
        let mut is_changed = vec![false; 2 * LEAVES];
        for (number, hash) in buckets {
            let at = LEAVES + usize::from(number);
            tree.put(at, hash);
            is_changed.get_mut(at / 2).into_iter().for_each(|above| *above = true);
        }
        for at in (1..LEAVES).rev() {
            if !is_changed.get(at).copied().unwrap_or(false) {
                continue;
            }
            if let (Some(left), Some(right)) = (tree.nodes.get(2 * at), tree.nodes.get(2 * at + 1))
            {
                tree.put(at, node_hash(left, right));
            }
            is_changed.get_mut(at / 2).into_iter().for_each(|above| *above = true);
        }
        tree
    }

    fn put(&mut self, at: usize, hash: Hash) {
        if let Some(node) = self.nodes.get_mut(at) {
            *node = hash;
        }
    }

    /// The nodes that are others once these buckets have these leaf hashes, the root last.
    fn changed(&self, buckets: &[(u16, Hash)]) -> BTreeMap<usize, Hash> {
        let mut level: BTreeMap<usize, Hash> =
            buckets.iter().map(|(number, hash)| (LEAVES + usize::from(*number), *hash)).collect();
        let mut changed = BTreeMap::new();
        loop {
            let mut above = BTreeMap::new();
            for at in level.keys().map(|at| at / 2).filter(|at| *at > 0) {
                let child = |at: usize| level.get(&at).or_else(|| self.nodes.get(at));
                if let (Some(left), Some(right)) = (child(2 * at), child(2 * at + 1)) {
                    above.entry(at).or_insert_with(|| node_hash(left, right));
                }
            }
            changed.append(&mut level);
            if above.is_empty() {
                return changed;
            }
            level = above;
        }
    }

    /// The root of the tree once these buckets have these leaf hashes.
    pub fn root_with(&self, buckets: &[(u16, Hash)]) -> Hash {
        self.changed(buckets).get(&1).copied().unwrap_or_else(|| self.root())
    }

    /// The leaf hash of a bucket.
    pub fn leaf(&self, number: u16) -> Hash {
        self.nodes.get(LEAVES + usize::from(number)).copied().unwrap_or_else(|| leaf_hash(&[]))
    }

    /// The root.
    pub fn root(&self) -> Hash {
        self.nodes.get(1).copied().unwrap_or_else(super::merkle::empty_root)
    }

    /// Sets the leaf hash of a bucket.
    pub fn set(&mut self, number: u16, hash: Hash) {
        self.set_all(&[(number, hash)]);
    }

    /// Sets the leaf hashes of buckets; each node above them is hashed once.
    pub fn set_all(&mut self, buckets: &[(u16, Hash)]) {
        for (at, hash) in self.changed(buckets) {
            self.put(at, hash);
        }
    }

    /// The inclusion proof of a bucket: 16 hashes.
    pub fn proof(&self, number: u16) -> Vec<Hash> {
        let mut at = LEAVES + usize::from(number);
        let mut proof = Vec::with_capacity(16);
        while at > 1 {
            proof.extend(self.nodes.get(at ^ 1));
            at /= 2;
        }
        proof
    }
}

/// The root of a heads tree over no documents.
pub fn empty_heads() -> Hash {
    let mut hash = Hash::from_bytes(Sha256::digest([0]).into());
    for _ in 0..16 {
        hash = node_hash(&hash, &hash);
    }
    hash
}
