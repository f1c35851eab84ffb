//! Keys that their account revoked: what a registry's document says of them, and what they may still
//! vouch for.

use skillpkg_schema::ContentAddress;
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::wire::{Document, SignerKey};

/// That a key was revoked, and what it signed before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Revocation {
    key: KeyId,
    account: String,
    /// When, as the registry writes it.
    when: String,
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

    /// Whether the key may still vouch for a snapshot: the registry took it in before the key was
    /// revoked. Anything else may be the work of whoever has the key now.
    pub(crate) fn allows(&self, address: &ContentAddress) -> bool {
        self.listed.contains(address)
    }

    /// Why the key does not vouch, a phrase; safe to print.
    pub(crate) fn reason(&self) -> String {
        let (key, account) = (self.key.short(), escape(&self.account));
        let when = escape(&self.when);
        format!("it is signed with key {key} of `{account}`, which was revoked on {when}")
    }
}
