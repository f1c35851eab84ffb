//! What is to be known of a version before anything else.

use skillpkg_schema::wire::{Effect, VersionEntry};

use super::provenance::{Leaf, signers};
use crate::web::content::Found;
use crate::web::link;
use crate::web::skill::day;
use crate::web::text::Text;

/// Advisories that are told in full, those that forbid before those that warn.
const MOST_ADVISORIES: usize = 8;

/// One thing that is to be known.
#[derive(Debug, Clone)]
pub(in crate::web) struct Notice {
    /// `stop` or `warn`.
    pub(in crate::web) tone: &'static str,
    /// What it is.
    pub(in crate::web) heading: String,
    /// What was said, in the words of whoever said it.
    pub(in crate::web) said: Text,
    /// What that means.
    pub(in crate::web) means: &'static str,
    /// Where the log has it.
    pub(in crate::web) leaf: Option<Leaf>,
    /// Where to go instead, and what that is called.
    pub(in crate::web) instead: Option<(String, String)>,
}

/// What is to be known of a version, the gravest first.
pub(super) fn of(found: &Found, entry: &VersionEntry) -> Vec<Notice> {
    let name = &found.document().name;
    let newest = found.newest().filter(|newest| newest.version != entry.version);
    let instead =
        || newest.map(|newest| (link::version(name, &newest.version), newest.version.to_string()));
    let mut notices = Vec::new();
    let mut advisories: Vec<_> = found.advisories(&entry.version).collect();
    advisories.sort_by_key(|advisory| std::cmp::Reverse(advisory.effect));
    for advisory in advisories.into_iter().take(MOST_ADVISORIES) {
        let (tone, means) = match advisory.effect {
            Effect::Forbid => ("stop", "Clients refuse to install, restore or call this version."),
            Effect::Warn => ("warn", "Clients tell this wherever the version is used."),
        };
        notices.push(Notice {
            tone,
            heading: format!(
                "Advisory {} of {}",
                Text::from(advisory.id.as_str()),
                day(&advisory.published)
            ),
            said: advisory.summary.as_str().into(),
            means,
            leaf: advisory.log_index.map(|index| Leaf::of(found, index)),
            instead: instead(),
        });
    }
    if let Some(yank) = &entry.yanked {
        notices.push(Notice {
            tone: "warn",
            heading: "This version was yanked".to_owned(),
            said: yank.reason.as_str().into(),
            means: "It is picked no more. Where it is locked it is still restored.",
            leaf: None,
            instead: instead(),
        });
    }
    for signer in signers(found, entry).into_iter().filter(|signer| signer.revoked.is_some()) {
        notices.push(Notice {
            tone: "warn",
            heading: format!("The key of {} was revoked", signer.account),
            said: signer.revoked.unwrap_or_default().into(),
            means: "What was logged before the revocation stands; nothing after it does.",
            leaf: None,
            instead: None,
        });
    }
    if let (true, Some(newest)) = (notices.is_empty(), newest) {
        notices.push(Notice {
            tone: "note",
            heading: "There is another version that an install takes".to_owned(),
            said: "".into(),
            means: "",
            leaf: None,
            instead: Some((link::skill(name), newest.version.to_string())),
        });
    }
    notices
}
