//! What the newest checkpoint says.

use std::sync::{Mutex, PoisonError};

use skillpkg_schema::log::{Checkpoint, Hash, HeadsTree};
use skillpkg_schema::wire::Proven;

use super::{Keyring, LogError};
use crate::clock;

/// Seconds after which a cosignature is made anew.
const FRESH: u64 = 5 * 60;

/// A checkpoint with what it stands for, all of one moment.
#[derive(Debug)]
pub struct Moment {
    pub(super) checkpoint: Checkpoint,
    pub(super) heads: Proven,
    pub(super) tree: HeadsTree,
    note: Mutex<Signed>,
}

#[derive(Debug, Default)]
struct Signed {
    text: String,
    time: u64,
    identity: u64,
}

impl Moment {
    pub(super) fn new(checkpoint: Checkpoint, heads: Proven, tree: HeadsTree) -> Self {
        Self { checkpoint, heads, tree, note: Mutex::default() }
    }

    /// What it is once these buckets of the heads tree have these leaf hashes.
    pub(super) fn advance(
        &mut self,
        checkpoint: Checkpoint,
        heads: Proven,
        buckets: &[(u16, Hash)],
    ) {
        self.checkpoint = checkpoint;
        self.heads = heads;
        self.tree.set_all(buckets);
        self.note = Mutex::new(Signed::default());
    }

    /// The checkpoint.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Leaves in the log.
    pub fn size(&self) -> u64 {
        self.checkpoint.size
    }

    /// The last leaf: the root of the heads tree.
    pub fn heads(&self) -> &Proven {
        &self.heads
    }

    /// The heads tree.
    pub fn tree(&self) -> &HeadsTree {
        &self.tree
    }

    /// The checkpoint, signed by the newest identity, with a cosignature of the last minutes.
    pub fn note(&self, keyring: &Keyring) -> Result<String, LogError> {
        let now = clock::unix_seconds();
        let mut signed = self.note.lock().unwrap_or_else(PoisonError::into_inner);
        if signed.identity != keyring.number() || now.abs_diff(signed.time) > FRESH {
            let text = keyring.sign(&self.checkpoint, now)?;
            *signed = Signed { text, time: now, identity: keyring.number() };
        }
        Ok(signed.text.clone())
    }
}
