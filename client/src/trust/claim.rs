//! What is said of one version, held against its record in the log.

use skillpkg_schema::log::{Sealed, Subject};
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::wire::{Document, VersionEntry};
use skillpkg_schema::{ContentAddress, QualifiedName, Version};

use super::error::Refusal;
use crate::project::Locked;

/// The keys that are said to have signed a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Keys {
    /// All of them.
    Exactly(Vec<KeyId>),
    /// One of them.
    Among(KeyId),
}

/// What is said of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) name: QualifiedName,
    pub(crate) version: Version,
    pub(crate) address: ContentAddress,
    /// [`None`] where that is not known.
    pub(crate) archive: Option<ContentAddress>,
    pub(crate) keys: Option<Keys>,
    /// Its leaf; [`None`] where nobody says.
    pub(crate) index: Option<u64>,
}

impl Claim {
    /// What a document says of a version of it.
    pub(crate) fn of(document: &Document, entry: &VersionEntry) -> Self {
        Self {
            name: document.name.clone(),
            version: entry.version.clone(),
            address: entry.address,
            archive: Some(entry.archive),
            keys: Some(Keys::Exactly(entry.key_ids.clone())),
            index: entry.log_index,
        }
    }

    /// What a lockfile says of a skill.
    pub(crate) fn locked(locked: &Locked) -> Self {
        Self {
            name: locked.name.clone(),
            version: locked.version.clone(),
            address: locked.address,
            archive: Some(locked.archive),
            keys: Some(Keys::Among(locked.key)),
            index: locked.log_index,
        }
    }

    /// Holds the claim against a record, which is at `index` of the log `origin`.
    pub(super) fn check(&self, origin: &str, index: u64, sealed: &Sealed) -> Result<(), Refusal> {
        let differs = |what, there: String, here: String| {
            Err(Refusal::Record {
                origin: origin.to_owned(),
                index,
                name: self.name.clone(),
                version: self.version.clone(),
                what,
                there,
                here,
            })
        };
        if let Some(here) = self.index.filter(|here| *here != index) {
            return differs("leaf", index.to_string(), here.to_string());
        }
        let subject = &sealed.record.subject;
        let Subject::Publish { name, version, address, archive, keys, .. } = subject else {
            return differs("kind of record", subject.kind().to_owned(), "publish".to_owned());
        };
        if *name != self.name {
            return differs("name", name.to_string(), self.name.to_string());
        }
        if *version != self.version {
            return differs("version", version.to_string(), self.version.to_string());
        }
        if *address != self.address {
            return differs("address", address.to_string(), self.address.to_string());
        }
        if let Some(here) = self.archive.filter(|here| here != archive) {
            return differs("archive", archive.to_string(), here.to_string());
        }
        let there = || keys.iter().map(KeyId::to_string).collect::<Vec<_>>().join(", ");
        match &self.keys {
            Some(Keys::Exactly(here)) if !is_same(keys, here) => {
                let here: Vec<String> = here.iter().map(KeyId::to_string).collect();
                differs("set of keys", there(), here.join(", "))
            }
            Some(Keys::Among(here)) if !keys.contains(here) => {
                differs("set of keys", there(), here.to_string())
            }
            _ => Ok(()),
        }
    }
}

fn is_same(one: &[KeyId], other: &[KeyId]) -> bool {
    let sorted = |keys: &[KeyId]| {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    sorted(one) == sorted(other)
}

/// Refuses a version of which every key was revoked before it was published.
///
/// Both are leaves of one log, which has an order that no clock can change: a version below the leaf
/// of the revocation stands, a later one is the work of whoever has the key now.
pub(crate) fn check_keys(document: &Document, entry: &VersionEntry) -> Result<(), crate::Error> {
    let Some(index) = entry.log_index else { return Ok(()) };
    let mut refused = None;
    for id in &entry.key_ids {
        let signer = document.keys.iter().find(|signer| signer.id == *id);
        let revoked = signer.and_then(|signer| Some((signer, signer.revoked_index?)));
        match revoked.filter(|(_, revoked)| *revoked <= index) {
            Some(found) => refused = Some(found),
            None => return Ok(()),
        }
    }
    let Some((signer, revoked)) = refused else { return Ok(()) };
    Err(Refusal::KeyRevoked {
        name: document.name.clone(),
        version: entry.version.clone(),
        index,
        key: signer.id,
        account: signer.account.clone(),
        revoked,
    }
    .into())
}
