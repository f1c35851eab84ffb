//! Keys that their account revoked: what a registry's document says of them, and what they may still
//! vouch for.

use serde::{Deserialize, Serialize};
use skillpkg_schema::ContentAddress;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::wire::{Document, SignerKey};

/// That a key was revoked, and what it signed before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Revocation {
    pub(crate) key: KeyId,
    pub(crate) account: String,
    /// When, as the registry writes it.
    pub(crate) when: String,
    /// The snapshots that the document lists as signed with the key.
    listed: Vec<ContentAddress>,
}

impl Revocation {
    /// What a document says of a key of it; [`None`] where the key is not revoked.
    pub(crate) fn of(document: &Document, signer: &SignerKey) -> Option<Self> {
        let listed = document.versions.iter().filter(|entry| entry.key_ids.contains(&signer.id));
        signer.revoked.as_ref().map(|when| Self {
            key: signer.id,
            account: signer.account.clone(),
            when: when.clone(),
            listed: listed.map(|entry| entry.address).collect(),
        })
    }

    /// What a document says of each key of it that is revoked.
    pub(crate) fn all_of(document: &Document) -> Vec<Self> {
        document.keys.iter().filter_map(|signer| Self::of(document, signer)).collect()
    }

    /// Whether the key may still vouch for a snapshot: the registry took it in before the key was
    /// revoked. Anything else may be the work of whoever has the key now.
    pub(crate) fn allows(&self, address: &ContentAddress) -> bool {
        self.listed.contains(address)
    }

    /// Why the key does not vouch for a snapshot that was not taken in before, a phrase; safe to
    /// print.
    pub(crate) fn refusal(&self) -> String {
        let reason = self.reason();
        format!("{reason}, and the registry does not list it among what the key signed before")
    }

    /// That the key was revoked, a phrase; safe to print.
    pub(crate) fn reason(&self) -> String {
        let (key, account) = (self.key.short(), escape(&self.account));
        let when = escape(&self.when);
        format!("it is signed with key {key} of `{account}`, which was revoked on {when}")
    }
}
