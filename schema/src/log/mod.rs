//! The transparency log: what its leaves say, how its tree is hashed and cut into tiles, how its
//! checkpoints are signed, and the proofs that hold one against the other.
//!
//! The formats are those of C2SP: signed-note, tlog-checkpoint, tlog-cosignature, tlog-tiles and
//! tlog-proof; the tree is that of RFC 6962. Records, heads and identities are this project's own:
//! see `docs/wire/log.md`.

mod checkpoint;
mod edge;
mod heads;
mod identity;
mod merkle;
mod note;
mod proof;
mod ranges;
mod record;
mod sealed;
mod statement;
mod tile;

pub use checkpoint::{Checkpoint, CheckpointError, MAX_CHECKPOINT_BYTES, VerifiedCheckpoint};
pub use edge::{Edge, EdgeError, MadeTile};
pub use heads::{BUCKETS, Bucket, HeadsError, HeadsTree, bucket_of, empty_heads, head_key};
pub use identity::{
    IdentityChain, IdentityError, LogIdentity, MAX_IDENTITIES, RotationKeys, sign_identity,
};
pub use merkle::{
    Hash, ProofError, empty_root, leaf_hash, node_hash, root_of, verify_consistency,
    verify_inclusion,
};
pub use note::{Note, NoteError, NoteKey, NoteSignature, NoteSigner, SignatureKind, Witnessed};
pub use proof::{TlogProof, TlogProofError};
pub use ranges::{
    Range, TileHashes, TilesError, consistency_ranges, inclusion_ranges, proof_of, tiles_of,
    tree_range,
};
pub use record::{LOG_SCHEMA, MAX_RECORD_BYTES, Record, RecordError, Subject};
pub use sealed::{Salt, Sealed};
pub use statement::{DocumentStatement, StatementError, sign_document, verify_document};
pub use tile::{Entries, EntriesError, TILE_HEIGHT, TILE_WIDTH, Tile, TilePath, tile_count};
