//! The log's keys and identities, in files that their owner alone may read.
//!
//! `identities.json` is the list of envelopes, `key-N.pem` and `cosigner-N.pem` the keys that sign
//! under identity `N`. The key of the first identity also names the next ones, unless its operator
//! has given that to other keys.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use skillpkg_schema::log::{
    Checkpoint, IdentityChain, LogIdentity, Note, NoteSigner, RotationKeys, SignatureKind,
    sign_identity,
};
use skillpkg_schema::signature::{Envelope, SigningKey};

use super::{LogError, files};

/// The file of the identities.
pub(super) const IDENTITIES: &str = "identities.json";

/// The keys that sign now, and the identities that say so.
#[derive(Debug)]
pub struct Keyring {
    chain: IdentityChain,
    log: NoteSigner,
    cosigner: NoteSigner,
    changed: Option<SystemTime>,
}

impl Keyring {
    /// Those of `directory`; [`None`] where there is no log yet.
    pub fn open(directory: &Path) -> Result<Option<Self>, LogError> {
        let path = directory.join(IDENTITIES);
        let changed = changed(&path);
        let Some(bytes) = files::read(&path)? else { return Ok(None) };
        let chain = chain_of(&path, &bytes)?;
        let number = chain.latest().map_or(0, |latest| latest.number);
        let key = read_key(&key_path(directory, "key", number))?;
        let cosigner = read_key(&key_path(directory, "cosigner", number))?;
        let origin = chain.origin();
        let log = NoteSigner::new(origin, SignatureKind::Ed25519, key)?;
        let cosigner = NoteSigner::new(origin, SignatureKind::Cosignature, cosigner)?;
        for signer in [&log, &cosigner] {
            if !chain.keys().contains(signer.key()) {
                let reason = format!("identity {number} names other keys than those that are here");
                return Err(LogError::File { path, reason });
            }
        }
        Ok(Some(Self { chain, log, cosigner, changed }))
    }

    /// Makes the keys and the first identity of a log.
    ///
    /// Returned, they survive a crash; cut short, the next call goes on with the keys that are there.
    pub fn make(directory: &Path, origin: Option<&str>) -> Result<Self, LogError> {
        let key = make_key(&key_path(directory, "key", 1))?;
        let cosigner = make_key(&key_path(directory, "cosigner", 1))?;
        let origin = match origin {
            Some(origin) => origin.to_owned(),
            None => format!("skillpkg/{}", key.public().id().short()),
        };
        let rotation = RotationKeys { keys: vec![key.public().to_pem()], threshold: 1 };
        let identity = identity_of(&origin, 1, &key, &cosigner, rotation)?;
        write_identities(directory, &[sign_identity(&identity, &[key])])?;
        Self::open(directory)?.ok_or(LogError::NoKeys(0))
    }

    /// The identities.
    pub fn chain(&self) -> &IdentityChain {
        &self.chain
    }

    /// The number of the newest identity.
    pub fn number(&self) -> u64 {
        self.chain.latest().map_or(0, |latest| latest.number)
    }

    /// The key that signs checkpoints.
    pub fn log_key(&self) -> &SigningKey {
        self.log.signing()
    }

    /// Whether the file of the identities is another by now.
    pub(super) fn is_stale(&self, directory: &Path) -> bool {
        changed(&directory.join(IDENTITIES)) != self.changed
    }

    /// Signs a checkpoint at this time, in seconds since 1970.
    pub(super) fn sign(&self, checkpoint: &Checkpoint, time: u64) -> Result<String, LogError> {
        let note = Note::unsigned(checkpoint.text())?;
        Ok(note.signed(&self.log, time).signed(&self.cosigner, time).to_string())
    }
}

fn changed(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// Verifies the identities in the bytes of their file.
pub(super) fn chain_of(path: &Path, bytes: &[u8]) -> Result<IdentityChain, LogError> {
    let envelopes: Vec<Envelope> = serde_json::from_slice(bytes)
        .map_err(|error| LogError::File { path: path.to_owned(), reason: error.to_string() })?;
    Ok(IdentityChain::verify(envelopes)?)
}

/// Writes the identities, in the place of those that were there.
pub(super) fn write_identities(directory: &Path, envelopes: &[Envelope]) -> Result<(), LogError> {
    // Lists of texts: nothing in it that serialisation can refuse.
    let json = serde_json::to_vec(envelopes).unwrap_or_default();
    files::write(&directory.join(IDENTITIES), &json)
}

pub(super) fn identity_of(
    origin: &str,
    number: u64,
    key: &SigningKey,
    cosigner: &SigningKey,
    rotation: RotationKeys,
) -> Result<LogIdentity, LogError> {
    let signer = |kind, key: &SigningKey| NoteSigner::new(origin, kind, key.clone());
    let keys = vec![
        signer(SignatureKind::Ed25519, key)?.key().clone(),
        signer(SignatureKind::Cosignature, cosigner)?.key().clone(),
    ];
    Ok(LogIdentity::new(origin, number, keys, rotation)?)
}

pub(super) fn key_path(directory: &Path, what: &str, number: u64) -> PathBuf {
    directory.join(format!("{what}-{number}.pem"))
}

/// The key in a file, made where there is none; it is on the disk before it is ever used.
pub(super) fn make_key(path: &Path) -> Result<SigningKey, LogError> {
    if let Some(pem) = files::read_text(path)? {
        return parse_key(path, &pem);
    }
    let key = SigningKey::generate()?;
    files::write(path, key.to_pem()?.as_bytes())?;
    Ok(key)
}

pub(super) fn read_key(path: &Path) -> Result<SigningKey, LogError> {
    let Some(pem) = files::read_text(path)? else {
        let reason = "is missing: restore the directory `log` with its keys".to_owned();
        return Err(LogError::File { path: path.to_owned(), reason });
    };
    parse_key(path, &pem)
}

fn parse_key(path: &Path, pem: &str) -> Result<SigningKey, LogError> {
    SigningKey::from_pem(pem)
        .map_err(|error| LogError::File { path: path.to_owned(), reason: error.to_string() })
}
