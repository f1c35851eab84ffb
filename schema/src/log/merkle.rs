//! The Merkle tree of RFC 6962 over SHA-256, and the two proofs about it.

use sha2::{Digest as _, Sha256};

use crate::address::Sha256Digest;

/// A hash of the tree: of a leaf, of a node or of the whole.
pub type Hash = Sha256Digest;

/// Most hashes in a proof: the tree of the largest size is 64 levels high.
const MAX_PROOF_HASHES: usize = 64;

/// Why a proof shows nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The leaf lies outside the tree.
    #[error("leaf {index} is outside a tree of {size} leaves")]
    Outside {
        /// The leaf's index.
        index: u64,
        /// The tree's size.
        size: u64,
    },
    /// The tree that is to contain the other is the smaller one.
    #[error("a tree of {to} leaves cannot continue one of {from}")]
    Shrunk {
        /// Size of the earlier tree.
        from: u64,
        /// Size of the later tree.
        to: u64,
    },
    /// Too few or too many hashes for these sizes.
    #[error("the proof has {found} hashes, which no proof for these sizes has")]
    Length {
        /// How many there are.
        found: usize,
    },
    /// The hashes lead to another root.
    #[error("the proof leads to another root")]
    OtherRoot,
}

/// The hash of a leaf's bytes.
pub fn leaf_hash(entry: &[u8]) -> Hash {
    finish(Sha256::new().chain_update([0]).chain_update(entry))
}

/// The hash of a node over its two children.
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    let node = Sha256::new().chain_update([1]);
    finish(node.chain_update(left.as_bytes()).chain_update(right.as_bytes()))
}

/// The root of a tree without leaves.
pub fn empty_root() -> Hash {
    finish(Sha256::new())
}

fn finish(hasher: Sha256) -> Hash {
    Hash::from_bytes(hasher.finalize().into())
}

/// The root over the hashes of all leaves. Needs memory for them; a log is hashed by
/// [`super::Edge`].
pub fn root_of(leaves: &[Hash]) -> Hash {
    if leaves.is_empty() {
        return empty_root();
    }
    // A level at a time; a last one without a partner is taken up as it is, which is what the
    // split of RFC 6962 at the largest power of two comes to.
    let mut level = leaves.to_vec();
    while level.len() > 1 {
        level = level
            .chunks(2)
            .map(|pair| match pair {
                [left, right] => node_hash(left, right),
                _ => pair.first().copied().unwrap_or_else(empty_root),
            })
            .collect();
    }
    level.first().copied().unwrap_or_else(empty_root)
}

/// Checks that the leaf with this hash is the one at `index` of the tree with this size and root
/// (RFC 9162, section 2.1.3.2).
pub fn verify_inclusion(
    leaf: &Hash,
    index: u64,
    size: u64,
    root: &Hash,
    proof: &[Hash],
) -> Result<(), ProofError> {
    if index >= size {
        return Err(ProofError::Outside { index, size });
    }
    let wrong_length = ProofError::Length { found: proof.len() };
    if proof.len() > MAX_PROOF_HASHES {
        return Err(wrong_length);
    }
    let (mut at, mut last) = (index, size - 1);
    let mut hash = *leaf;
    for sibling in proof {
        if last == 0 {
            return Err(wrong_length);
        }
        if at & 1 == 1 || at == last {
            hash = node_hash(sibling, &hash);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        at >>= 1;
        last >>= 1;
    }
    if last != 0 {
        return Err(wrong_length);
    }
    if hash == *root { Ok(()) } else { Err(ProofError::OtherRoot) }
}

/// Checks that the tree of size `to` continues the one of size `from` (RFC 9162, section 2.1.4.2).
///
/// Of an empty earlier tree there is nothing to prove, and two trees of one size must be one; the
/// proof is empty in both cases.
pub fn verify_consistency(
    from: u64,
    from_root: &Hash,
    to: u64,
    to_root: &Hash,
    proof: &[Hash],
) -> Result<(), ProofError> {
    let wrong_length = ProofError::Length { found: proof.len() };
    if from > to {
        return Err(ProofError::Shrunk { from, to });
    }
    if proof.len() > 2 * MAX_PROOF_HASHES {
        return Err(wrong_length);
    }
    if from == to || from == 0 {
        if !proof.is_empty() {
            return Err(wrong_length);
        }
        let same = if from == to { from_root == to_root } else { *from_root == empty_root() };
        return if same { Ok(()) } else { Err(ProofError::OtherRoot) };
    }
    // The earlier root itself is the first hash where its tree is a complete subtree.
    let mut hashes = proof.iter();
    let first =
        if from.is_power_of_two() { from_root } else { hashes.next().ok_or(wrong_length)? };
    let (mut at, mut last) = (from - 1, to - 1);
    while at & 1 == 1 {
        at >>= 1;
        last >>= 1;
    }
    let (mut earlier, mut later) = (*first, *first);
    for hash in hashes {
        if last == 0 {
            return Err(wrong_length);
        }
        if at & 1 == 1 || at == last {
            earlier = node_hash(hash, &earlier);
            later = node_hash(hash, &later);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            later = node_hash(&later, hash);
        }
        at >>= 1;
        last >>= 1;
    }
    if last != 0 {
        return Err(wrong_length);
    }
    if earlier == *from_root && later == *to_root { Ok(()) } else { Err(ProofError::OtherRoot) }
}
