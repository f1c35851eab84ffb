//! What the leaves say by themselves.

use std::collections::HashSet;

use skillpkg_schema::log::{Entries, Hash, IdentityChain, Record, Subject};

use super::Report;
use crate::upkeep::DamageKind;

/// The leaves that were read so far.
pub(super) struct Leaves<'a> {
    chain: &'a IdentityChain,
    /// Of each version that was published, the first 16 bytes of the digest of its name.
    published: HashSet<[u8; 16]>,
    /// The number of the identity whose leaf comes next.
    identity: u64,
    /// The root that the last leaf tells, where it tells one.
    heads: Option<Hash>,
}

impl<'a> Leaves<'a> {
    /// None yet.
    pub(super) fn new(chain: &'a IdentityChain) -> Self {
        Self { chain, published: HashSet::new(), identity: 1, heads: None }
    }

    /// Reads the leaves of one bundle; [`None`] in the place of one that is no record.
    pub(super) fn read(
        &mut self,
        first: u64,
        entries: &Entries,
        report: &mut Report,
    ) -> Vec<Option<Record>> {
        let mut records = Vec::with_capacity(entries.iter().len());
        for (index, entry) in (first..).zip(entries.iter()) {
            match Record::from_bytes(entry) {
                Ok(record) => {
                    self.look(index, &record.subject, report);
                    records.push(Some(record));
                }
                Err(error) => {
                    self.heads = None;
                    report.damage(DamageKind::Row, &leaf(index), error.to_string());
                    records.push(None);
                }
            }
        }
        records
    }

    fn look(&mut self, index: u64, subject: &Subject, report: &mut Report) {
        self.heads = None;
        match subject {
            Subject::Heads { root } => self.heads = Some(*root),
            Subject::Publish { name, version, .. } => {
                let digest = Hash::of(format!("{name}@{version}").as_bytes());
                let short = digest.as_bytes().first_chunk().copied().unwrap_or_default();
                if !self.published.insert(short) {
                    let detail = format!("publishes {name}@{version} a second time");
                    report.damage(DamageKind::Row, &leaf(index), detail);
                }
            }
            Subject::LogIdentity { number, identity } => {
                let known = self.chain.identities().iter().find(|one| one.number == *number);
                if *number != self.identity
                    || known.is_none_or(|known| known.fingerprint() != *identity)
                {
                    let detail = format!("names an identity {number} that the log does not have");
                    report.damage(DamageKind::Signature, &leaf(index), detail);
                }
                self.identity = number.saturating_add(1);
            }
            _ => {}
        }
    }

    /// After the last leaf: the root of the heads tree.
    pub(super) fn finish(self, size: u64, report: &mut Report) -> Option<Hash> {
        if self.heads.is_none() {
            let last = leaf(size.saturating_sub(1));
            report.damage(DamageKind::Row, &last, "is the last one and tells no heads");
        }
        self.heads
    }
}

pub(super) fn leaf(index: u64) -> String {
    format!("leaf {index}")
}
