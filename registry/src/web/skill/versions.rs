//! The versions of a skill in a list.

use skillpkg_schema::Version;
use skillpkg_schema::wire::Effect;

use super::provenance::{Leaf, Signer, signers};
use crate::web::content::Found;
use crate::web::digest::Digest;
use crate::web::link;
use crate::web::skill::day;
use crate::web::text::Text;

/// Advisories that are named beside a version.
const MOST_ADVISORIES: usize = 4;

/// A version in a list.
#[derive(Debug, Clone)]
pub(in crate::web) struct VersionRow {
    pub(in crate::web) version: String,
    pub(in crate::web) link: String,
    pub(in crate::web) published: String,
    pub(in crate::web) address: Digest,
    pub(in crate::web) signers: Vec<Signer>,
    pub(in crate::web) leaf: Option<Leaf>,
    pub(in crate::web) yanked: Option<Text>,
    /// The advisories about it, each with its tone.
    pub(in crate::web) advisories: Vec<(&'static str, Text)>,
    pub(in crate::web) findings: u32,
    /// The difference to the version before it.
    pub(in crate::web) difference: Option<String>,
    pub(in crate::web) is_shown: bool,
}

impl VersionRow {
    /// The versions of a skill, newest first; `shown` is the one whose page this is.
    pub(in crate::web) fn of(found: &Found, shown: Option<&Version>) -> Vec<Self> {
        let name = &found.document().name;
        let versions = found.by_age();
        let row = |(at, entry): (usize, &&skillpkg_schema::wire::VersionEntry)| {
            let before = versions.get(at + 1);
            let advisories =
                found.advisories(&entry.version).take(MOST_ADVISORIES).map(|advisory| {
                    let tone = if advisory.effect == Effect::Forbid { "stop" } else { "warn" };
                    (tone, advisory.id.as_str().into())
                });
            let counts = entry.findings.iter().flatten();
            Self {
                version: entry.version.to_string(),
                link: link::version(name, &entry.version),
                published: day(&entry.published),
                address: (&entry.address).into(),
                signers: signers(found, entry),
                leaf: entry.log_index.map(|index| Leaf::of(found, index)),
                yanked: entry.yanked.as_ref().map(|yank| yank.reason.as_str().into()),
                advisories: advisories.collect(),
                findings: counts.fold(0, |all, count| all.saturating_add(count.count)),
                difference: before
                    .map(|before| link::difference(name, &before.version, &entry.version)),
                is_shown: shown == Some(&entry.version),
            }
        };
        versions.iter().enumerate().map(row).collect()
    }
}
