//! Checkpoints (C2SP tlog-checkpoint): how large a log is and what its root is, signed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::merkle::Hash;
use super::note::{Note, NoteError, NoteKey, SignatureKind, Witnessed};
use crate::diagnostic::escape;

/// Most bytes of a checkpoint with its signatures.
pub const MAX_CHECKPOINT_BYTES: usize = 16 * 1024;

/// Why a checkpoint is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// Longer than any is.
    #[error("the checkpoint is longer than {MAX_CHECKPOINT_BYTES} bytes")]
    TooLong,
    /// Not a signed note, or one with a signature that does not verify.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// The text is not that of a checkpoint.
    #[error("line {line} of the checkpoint is not {expected}")]
    Shape {
        /// From 1.
        line: usize,
        /// What should stand there.
        expected: &'static str,
    },
    /// Another log's.
    #[error("the checkpoint is one of the log `{}`, not of `{}`", escape(.found), escape(.expected))]
    OtherOrigin {
        /// Whose it should be.
        expected: String,
        /// Whose it is.
        found: String,
    },
    /// No key of the log has signed it.
    #[error("no key of the log `{}` has signed the checkpoint", escape(.0))]
    NotSigned(String),
}

/// The size and the root of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which log: one line without spaces.
    pub origin: String,
    /// Leaves in its tree.
    pub size: u64,
    /// The root of that tree.
    pub root: Hash,
}

/// A checkpoint that its log has signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedCheckpoint {
    /// What was signed.
    pub checkpoint: Checkpoint,
    /// The newest time that a cosignature of the log's own tells, in seconds since 1970.
    pub time: Option<u64>,
    /// The others that signed it, of those who were asked about.
    pub witnesses: Vec<Witnessed>,
}

impl Checkpoint {
    /// The text that is signed.
    pub fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, STANDARD.encode(self.root.as_bytes()))
    }

    /// Reads the text of a note. Further lines are allowed, and say nothing.
    pub fn from_text(text: &str) -> Result<Self, CheckpointError> {
        let fault = |line, expected| CheckpointError::Shape { line, expected };
        let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
        let line = |at: usize| lines.get(at).copied().unwrap_or_default();
        let origin = line(0);
        if origin.is_empty() {
            return Err(fault(1, "the origin of a log"));
        }
        let size: u64 = line(1).parse().map_err(|_| fault(2, "a number of leaves"))?;
        if size.to_string() != line(1) || size >= 1 << 63 {
            return Err(fault(2, "a number of leaves"));
        }
        let root = STANDARD.decode(line(2)).ok().and_then(|root| root.try_into().ok());
        let root = root.ok_or(fault(3, "the base64 of a root hash"))?;
        if let Some(empty) = lines.iter().skip(3).position(|line| line.is_empty()) {
            return Err(fault(empty + 4, "a line with something in it"));
        }
        Ok(Self { origin: origin.to_owned(), size, root: Hash::from_bytes(root) })
    }

    /// Reads a signed checkpoint of the log `origin` and verifies it.
    ///
    /// At least one of `log` must have signed the text itself. A key of `log` that cosigns tells
    /// the time; which of `witnesses` signed is told, and required by nobody here.
    pub fn verify(
        bytes: &[u8],
        origin: &str,
        log: &[NoteKey],
        witnesses: &[NoteKey],
    ) -> Result<VerifiedCheckpoint, CheckpointError> {
        if bytes.len() > MAX_CHECKPOINT_BYTES {
            return Err(CheckpointError::TooLong);
        }
        let note = Note::from_bytes(bytes)?;
        let own = note.verified_by(log)?;
        if !own.iter().any(|one| one.key.kind() == SignatureKind::Ed25519) {
            let found = note.text().split('\n').next().unwrap_or_default();
            if found != origin {
                let (expected, found) = (origin.to_owned(), found.to_owned());
                return Err(CheckpointError::OtherOrigin { expected, found });
            }
            return Err(CheckpointError::NotSigned(origin.to_owned()));
        }
        let checkpoint = Self::from_text(note.text())?;
        if checkpoint.origin != origin {
            let (expected, found) = (origin.to_owned(), checkpoint.origin);
            return Err(CheckpointError::OtherOrigin { expected, found });
        }
        let time = own.iter().filter_map(|one| one.time).max();
        let witnesses = note.verified_by(witnesses)?;
        Ok(VerifiedCheckpoint { checkpoint, time, witnesses })
    }
}
