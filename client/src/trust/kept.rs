//! Proofs that installed versions keep, so that they are verified without a network (C2SP
//! tlog-proof).

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use skillpkg_schema::ContentAddress;
use skillpkg_schema::log::{
    Checkpoint, CheckpointError, NoteKey, Sealed, TlogProof, VerifiedCheckpoint, verify_inclusion,
};
use skillpkg_schema::wire::Proven;
use tempfile::NamedTempFile;

use super::claim::Claim;
use super::store::{KnownLog, TrustStore};
use super::view::VerifiedView;
use crate::project::io_error;
use crate::{Error, regular_file};

/// A kept proof that was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptProof {
    /// The log's origin.
    pub origin: String,
    /// The record's leaf.
    pub index: u64,
    /// Leaves in the checkpoint that the proof leads to.
    pub size: u64,
    /// When that was signed, in seconds since 1970, where it tells.
    pub time: Option<u64>,
    /// When the version was published, as the record says.
    pub published: String,
    /// Whether the leaf is blinded: of a private scope.
    pub private: bool,
    /// Where it lies.
    pub path: PathBuf,
}

/// A log, and the checkpoints of it that were verified already: proofs that were made together share
/// one.
#[derive(Debug)]
pub(super) struct LogOfProofs {
    log: KnownLog,
    /// The keys of all its identities.
    keys: Vec<NoteKey>,
    /// By the whole signed note.
    verified: Mutex<HashMap<String, VerifiedCheckpoint>>,
}

impl LogOfProofs {
    pub(super) fn new(log: KnownLog) -> Self {
        Self { keys: log.chain.keys_of_all(), log, verified: Mutex::default() }
    }

    /// What a note says, where a key of the log has signed it: each note is verified once.
    fn verified(&self, note: &str) -> Result<VerifiedCheckpoint, CheckpointError> {
        let verified = || self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = verified().get(note) {
            return Ok(known.clone());
        }
        let found = Checkpoint::verify(note.as_bytes(), self.log.origin(), &self.keys, &[])?;
        verified().insert(note.to_owned(), found.clone());
        Ok(found)
    }
}

fn path_of(store: &TrustStore, origin: &str, address: &ContentAddress) -> PathBuf {
    store.proofs_of(origin).join(TrustStore::proof_name(address))
}

impl TrustStore {
    /// What the file of a proof is called.
    pub(super) fn proof_name(address: &ContentAddress) -> String {
        format!("{}.tlog-proof", address.hex())
    }

    /// The kept proof of a claim, verified against what is known of the log; [`None`] where there
    /// is none. What is wrong with it is a phrase.
    pub(super) fn kept_proof(
        &self,
        of: &LogOfProofs,
        claim: &Claim,
    ) -> Result<Option<KeptProof>, String> {
        let log = &of.log;
        let path = path_of(self, log.origin(), &claim.address);
        let file = match regular_file::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let bytes = regular_file::read(file, TlogProof::MAX_BYTES as u64)
            .map_err(|error| error.to_string())?
            .ok_or("it is longer than any proof")?;
        let proof = TlogProof::from_bytes(&bytes).map_err(|error| error.to_string())?;
        let extra = proof.extra.as_deref().ok_or("it holds no record")?;
        let sealed: Sealed = serde_json::from_slice(extra)
            .map_err(|_| "what it holds beside the proof is no record")?;
        let verified = of.verified(&proof.checkpoint).map_err(|error| error.to_string())?;
        let (found, known) = (&verified.checkpoint, log.checkpoint());
        if found.size > known.size || (found.size == known.size && found.root != known.root) {
            return Err("its checkpoint is none of the log that is known here".to_owned());
        }
        verify_inclusion(&sealed.leaf_hash(), proof.index, found.size, &found.root, &proof.hashes)
            .map_err(|error| error.to_string())?;
        claim.check(log.origin(), proof.index, &sealed).map_err(|error| error.to_string())?;
        Ok(Some(KeptProof {
            origin: log.origin().to_owned(),
            index: proof.index,
            size: found.size,
            time: verified.time,
            private: sealed.salt.is_some(),
            published: sealed.record.at,
            path,
        }))
    }

    /// Whether a proof of a snapshot is kept of one of these logs, whatever is in it.
    pub(super) fn has_proof(&self, origins: &[String], address: &ContentAddress) -> bool {
        origins.iter().any(|origin| path_of(self, origin, address).exists())
    }

    /// Keeps a proof that was verified against a view. A kill leaves none or all of it; a loss of
    /// power may leave one that does not verify, which is fetched again.
    pub(super) fn keep_proof(
        &self,
        view: &VerifiedView,
        address: &ContentAddress,
        proven: &Proven,
    ) -> Result<(), Error> {
        if self.is_looking() {
            return Ok(());
        }
        let extra = serde_json::to_vec(&proven.sealed).unwrap_or_default();
        let proof = TlogProof {
            extra: Some(extra),
            index: proven.index,
            hashes: proven.proof.0.clone(),
            checkpoint: view.note.clone(),
        };
        let path = path_of(self, view.origin(), address);
        write(&path, proof.to_string().as_bytes()).map_err(|error| io_error(&path, &error))
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let create = || NamedTempFile::with_prefix_in(".new-", directory);
    let mut file = match create() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(directory)?;
            create()?
        }
        answer => answer?,
    };
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
