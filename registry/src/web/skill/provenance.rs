//! Who signed a version, what it is, and where the log has it.

use skillpkg_schema::wire::VersionEntry;

use crate::web::content::Found;
use crate::web::digest::Digest;
use crate::web::link;
use crate::web::skill::{day, leaf_number};
use crate::web::text::{Text, size};

/// A key that signed, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::web) struct Signer {
    /// The account.
    pub(in crate::web) account: Text,
    /// Its page, where it is an account of this registry.
    pub(in crate::web) link: Option<String>,
    /// The key.
    pub(in crate::web) key: Digest,
    /// Whether the registry holds the key, and signs with it for the account.
    pub(in crate::web) is_held: bool,
    /// When its account revoked it, where it did.
    pub(in crate::web) revoked: Option<String>,
}

/// A leaf of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::web) struct Leaf {
    /// Its number.
    pub(in crate::web) number: String,
    /// Its page, where the log is this registry's own.
    pub(in crate::web) link: Option<String>,
}

impl Leaf {
    pub(in crate::web) fn of(found: &Found, index: u64) -> Self {
        Self { number: leaf_number(index), link: found.is_own.then(|| link::leaf(index)) }
    }
}

/// Who signed a version, what it is, and where the log has it.
#[derive(Debug, Clone)]
pub(in crate::web) struct Provenance {
    pub(in crate::web) signers: Vec<Signer>,
    pub(in crate::web) address: Digest,
    pub(in crate::web) blake3: Digest,
    pub(in crate::web) archive: Digest,
    pub(in crate::web) archive_size: String,
    pub(in crate::web) leaf: Option<Leaf>,
    pub(in crate::web) published: String,
    pub(in crate::web) time: String,
    /// Whether it came from another registry, which this one mirrors.
    pub(in crate::web) is_mirrored: bool,
}

impl Provenance {
    pub(in crate::web) fn of(found: &Found, entry: &VersionEntry) -> Self {
        Self {
            signers: signers(found, entry),
            address: (&entry.address).into(),
            blake3: (&entry.blake3).into(),
            archive: (&entry.archive).into(),
            archive_size: size(entry.size),
            leaf: entry.log_index.map(|index| Leaf::of(found, index)),
            published: day(&entry.published),
            time: entry.published.clone(),
            is_mirrored: !found.is_own,
        }
    }
}

/// The keys that signed a version.
pub(in crate::web) fn signers(found: &Found, entry: &VersionEntry) -> Vec<Signer> {
    let of = |id: &skillpkg_schema::signature::KeyId| {
        let key = found.document().keys.iter().find(|key| key.id == *id);
        let account = key.map_or("", |key| key.account.as_str());
        Signer {
            account: account.into(),
            // Whoever signed for another registry has no page here.
            link: found.is_own.then(|| format!("/people/{}", link::segment(account))),
            key: id.into(),
            is_held: key.is_some_and(|key| key.held),
            revoked: key.and_then(|key| key.revoked.as_deref()).map(day),
        }
    };
    entry.key_ids.iter().map(of).collect()
}
