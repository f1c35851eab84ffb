//! Why what a registry's log shows is not believed.

use std::fmt;
use std::path::{Path, PathBuf};

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::log::{
    Checkpoint, CheckpointError, Hash, HeadsError, IdentityError, ProofError, StatementError,
    TilesError,
};
use skillpkg_schema::signature::KeyId;
use skillpkg_schema::{QualifiedName, Version};

use super::time;
use crate::registry::Place;
use crate::{Error, Kind};

/// The size, the root and the time of a checkpoint, as they are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    size: u64,
    root: Hash,
    time: Option<u64>,
}

impl Shown {
    pub(super) fn of(checkpoint: &Checkpoint, time: Option<u64>) -> Self {
        Self { size: checkpoint.size, root: checkpoint.root, time }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} leaves, root {}", self.size, self.root)?;
        match self.time {
            Some(seconds) => write!(f, ", of {}", time::shown(seconds)),
            None => Ok(()),
        }
    }
}

/// Why what a registry's log shows is not believed.
///
/// `place` is the URL that answered; `origin` the log's. Texts from outside are escaped when shown.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// A validly signed checkpoint of an earlier day.
    #[error(
        "{place} shows the log `{}` with {to}; this machine has seen it with {from}: it is \
         behind, or was set back",
        escape(origin)
    )]
    Rewind { place: Place, origin: String, from: Shown, to: Shown },
    /// Two trees of one size.
    #[error(
        "{place} shows the log `{}` with {to}; this machine has seen it with {from}: the log \
         shows different people different histories",
        escape(origin)
    )]
    Fork { place: Place, origin: String, from: Shown, to: Shown },
    /// A larger tree that does not contain the one that is known.
    #[error(
        "{place} shows the log `{}` with {to}, and does not prove that this continues the log of \
         {from} that this machine has seen: {reason}",
        escape(origin)
    )]
    Inconsistent { place: Place, origin: String, from: Shown, to: Shown, reason: ProofError },
    /// More leaves than any log has.
    #[error(
        "{place} shows the log `{}` with {size} leaves, more than any log has; at most \
         {} are believed",
        escape(origin),
        super::view::MAX_LEAVES
    )]
    TooLarge { place: Place, origin: String, size: u64 },
    /// Nobody vouches for the checkpoint.
    #[error(
        "the checkpoint of the log `{}` that {place} shows is refused: {reason}",
        escape(origin)
    )]
    Unsigned { place: Place, origin: String, reason: CheckpointError },
    /// The keys that signed the checkpoint are keys of the log, but have been replaced since.
    #[error(
        "{place} shows the log `{}` with {to}, signed with keys that the log has replaced: this \
         machine knows its identity {identity}, and has seen it with {from}. It is behind, or was \
         restored from a backup of before its keys were rotated",
        escape(origin)
    )]
    Superseded { place: Place, origin: String, identity: u64, from: Shown, to: Shown },
    /// Nobody says when the checkpoint was signed.
    #[error(
        "the checkpoint of the log `{}` that {place} shows does not tell its time, which the \
         log's own cosignature tells",
        escape(origin)
    )]
    Timeless { place: Place, origin: String },
    /// A key that the configuration asks for has not signed.
    #[error(
        "the checkpoint of the log `{}` that {place} shows is not signed by the key that the \
         configuration names (`log-key`)",
        escape(origin)
    )]
    OtherKey { place: Place, origin: String },
    /// Too long ago.
    #[error(
        "the checkpoint of the log `{}` that {place} shows is of {}, {} before now as this \
         machine's clock has it ({}); the most is {}{}: the registry is held back in time, or the \
         clock is ahead",
        escape(origin),
        time::shown(*signed),
        time::span(now.saturating_sub(*signed)),
        time::shown(*now),
        time::span(*most),
        told_rule(rule.as_deref())
    )]
    Stale { place: Place, origin: String, signed: u64, now: u64, most: u64, rule: Option<String> },
    /// In the time to come.
    #[error(
        "the checkpoint of the log `{}` that {place} shows is of {}, which is {} from now: this \
         machine's clock says {}. Its signature is good; either the clock is behind or the log's \
         is ahead, so how fresh the checkpoint is cannot be told",
        escape(origin),
        time::shown(*signed),
        time::span(signed.saturating_sub(*now)),
        time::shown(*now)
    )]
    Future { place: Place, origin: String, signed: u64, now: u64 },
    /// Another log than the one that is pinned.
    #[error(
        "{place} shows another log than the one that is pinned here: {reason}",
        reason = escape(reason)
    )]
    KeyChanged { place: Place, reason: String },
    /// None of the logs that are shown is the one that was named.
    #[error(
        "{place} shows a log with the fingerprint {found}, which is not the one that was named"
    )]
    NotNamed { place: Place, found: String },
    /// Identities that do not follow from each other.
    #[error("the identities of the log that {place} shows are refused: {reason}")]
    Identity { place: Place, reason: IdentityError },
    /// A log that was there and is gone, or one that must be there.
    #[error("{place} answers without {}: {why}", what_of(origin.as_deref()))]
    Missing { place: Place, origin: Option<String>, why: String },
    /// A log that nobody has confirmed.
    #[error(
        "the log `{}` of {place} is not known here, and nothing says that it is the right one; \
         its fingerprint is {fingerprint}",
        escape(origin)
    )]
    Unknown { place: Place, origin: String, fingerprint: Hash, carried: bool },
    /// A bundle of an earlier day than this machine has seen, of which nothing here proves that it
    /// is of the same log.
    #[error(
        "{place} holds the log `{}` with {to}; this machine has seen it with {from}, and keeps \
         nothing that proves that the one is an earlier day of the other",
        escape(origin)
    )]
    Earlier { place: Place, origin: String, from: Shown, to: Shown },
    /// A bundle of a later day, without the tiles that would prove that it continues what is known.
    #[error(
        "{place} holds the log `{}` with {to}; this machine has seen it with {from}, and the \
         bundle does not hold the tiles that would prove that the one continues the other",
        escape(origin)
    )]
    Apart { place: Place, origin: String, from: Shown, to: Shown },
    /// A bundle whose tiles are not those of its checkpoint.
    #[error("the tiles of the log `{}` in {place} are refused: {reason}", escape(origin))]
    Tiles { place: Place, origin: String, reason: TilesError },
    /// The last leaf does not tell the documents.
    #[error("{place} does not prove which documents the log `{}` lists: {reason}", escape(origin))]
    Heads { place: Place, origin: String, reason: HeadsFault },
    /// A document that the log does not know.
    #[error("{place} gives a document of `{name}` that the log `{}` does not list", escape(origin))]
    NotListed { place: Place, origin: String, name: QualifiedName },
    /// Other bytes than the log says.
    #[error(
        "{place} gives a document of `{name}` with the SHA-256 {found}; the log `{}` lists \
         {listed}: it was changed on its way, or is of another day",
        escape(origin)
    )]
    Changed { place: Place, origin: String, name: QualifiedName, listed: Hash, found: Hash },
    /// Said not to be there, though the log lists it.
    #[error("{place} says that there is no `{name}`; the log `{}` lists it", escape(origin))]
    Hidden { place: Place, origin: String, name: QualifiedName },
    /// A statement about a private document that does not hold.
    #[error(
        "what the log `{}` states about the private document of `{name}` is refused: {reason}",
        escape(origin)
    )]
    Statement { origin: String, name: QualifiedName, reason: StatementError },
    /// A scope that another log speaks for.
    #[error(
        "{place} proves `{name}` by the log `{}`; names of its scope were proven by `{}` before",
        escape(found),
        escape(known)
    )]
    OtherLog { place: Place, name: QualifiedName, known: String, found: String },
    /// No proof of a version.
    #[error(
        "{place} does not prove that `{name}@{version}` is in the log `{}`: {why}",
        escape(origin)
    )]
    NotIncluded { place: Place, origin: String, name: QualifiedName, version: Version, why: String },
    /// A proof that leads elsewhere.
    #[error(
        "the proof that {place} gives for `{name}@{version}` in the log `{}` is refused: {reason}",
        escape(origin)
    )]
    Inclusion {
        place: Place,
        origin: String,
        name: QualifiedName,
        version: Version,
        reason: ProofError,
    },
    /// The record says something else than the document.
    #[error(
        "leaf {index} of the log `{}` says another {what} of `{name}@{version}`: {} there, {} \
         here",
        escape(origin),
        escape(there),
        escape(here)
    )]
    Record {
        origin: String,
        index: u64,
        name: QualifiedName,
        version: Version,
        what: &'static str,
        there: String,
        here: String,
    },
    /// Signed with a key after that was revoked.
    #[error(
        "`{name}@{version}` was published (leaf {index}) after key {} of `{}` that signed it was \
         revoked (leaf {revoked})",
        key.short(),
        escape(account)
    )]
    KeyRevoked {
        name: QualifiedName,
        version: Version,
        index: u64,
        key: KeyId,
        account: String,
        revoked: u64,
    },
    /// Too few witnesses.
    #[error(
        "{found} of the {of} witnesses that {rule} names have signed the checkpoint of the log \
         `{}` that {place} shows; {needed} must",
        escape(origin)
    )]
    Witnesses { place: Place, origin: String, found: usize, of: usize, needed: usize, rule: String },
    /// State of ours that cannot be read, or is gone.
    #[error("what is remembered of a log in `{}` is damaged: {reason}", shown(path))]
    State { path: PathBuf, reason: String },
    /// State of ours that this user may not read, or the system does not.
    #[error("what is remembered of a log cannot be read: `{}`: {reason}", shown(path))]
    Unreadable { path: PathBuf, reason: String, hint: Option<String> },
    /// More logs than are remembered.
    #[error("{most} logs are known in `{}`, which is the most", shown(path))]
    Full { path: PathBuf, most: usize },
    /// State that a later version wrote.
    #[error("`{}` is of version {found}; this skillpkg reads version 1", shown(path))]
    TooNew { path: PathBuf, found: u64 },
    /// Written to by others again and again.
    #[error("other processes on this machine keep changing what is known of the log of {place}")]
    Busy { place: Place },
}

/// Why the last leaf does not tell the documents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum HeadsFault {
    #[error("its log is empty")]
    Empty,
    #[error("leaf {index} is shown as the last of {size}")]
    NotLast { index: u64, size: u64 },
    #[error("the last leaf is a `{0}`")]
    NotHeads(&'static str),
    #[error("the last leaf is not in it: {0}")]
    NotIncluded(ProofError),
    #[error("bucket {number}: {reason}")]
    Bucket { number: u16, reason: HeadsError },
    #[error("bucket {number} is not one of the list: {reason}")]
    NotProven { number: u16, reason: ProofError },
    #[error("bucket {0} is left out")]
    NoBucket(u16),
    #[error("more than was asked for comes")]
    TooMany,
}

fn shown(path: &Path) -> String {
    escape(&path.to_string_lossy())
}

fn told_rule(rule: Option<&str>) -> String {
    rule.map_or_else(String::new, |rule| format!(" ({rule})"))
}

fn what_of(origin: Option<&str>) -> String {
    match origin {
        Some(origin) => format!("its log `{}`", escape(origin)),
        None => "a log".to_owned(),
    }
}

/// The codes of refusals that say that somebody falsifies what a log shows.
const FALSIFIED: [&str; 17] = [
    "checkpoint_rewind",
    "checkpoint_fork",
    "checkpoint_inconsistent",
    "checkpoint_too_large",
    "checkpoint_unsigned",
    "checkpoint_stale",
    "log_key_changed",
    "log_identity_refused",
    "log_missing",
    "heads_refused",
    "document_not_listed",
    "document_changed",
    "document_hidden",
    "statement_refused",
    "inclusion_refused",
    "record_mismatch",
    "witness_quorum",
];

/// Whether a failure says that somebody falsifies what a log shows, and not merely that nobody
/// answered.
pub fn is_falsified(error: &Error) -> bool {
    FALSIFIED.contains(&error.code.as_str())
}

impl Refusal {
    /// Stable, in `snake_case`.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Rewind { .. } => "checkpoint_rewind",
            Self::Fork { .. } => "checkpoint_fork",
            Self::Inconsistent { .. } => "checkpoint_inconsistent",
            Self::TooLarge { .. } => "checkpoint_too_large",
            Self::Unsigned { .. } | Self::Superseded { .. } | Self::Timeless { .. } => {
                "checkpoint_unsigned"
            }
            Self::Stale { .. } => "checkpoint_stale",
            Self::Future { .. } => "checkpoint_future",
            Self::OtherKey { .. }
            | Self::KeyChanged { .. }
            | Self::NotNamed { .. }
            | Self::OtherLog { .. } => "log_key_changed",
            Self::Identity { .. } => "log_identity_refused",
            Self::Missing { .. } => "log_missing",
            Self::Unknown { .. } => "log_unknown",
            Self::Earlier { .. } => "bundle_earlier",
            Self::Apart { .. } => "bundle_apart",
            Self::Tiles { .. } => "bundle_tiles",
            Self::Heads { .. } => "heads_refused",
            Self::NotListed { .. } => "document_not_listed",
            Self::Changed { .. } => "document_changed",
            Self::Hidden { .. } => "document_hidden",
            Self::Statement { .. } => "statement_refused",
            Self::NotIncluded { .. } => "inclusion_missing",
            Self::Inclusion { .. } => "inclusion_refused",
            Self::Record { .. } => "record_mismatch",
            Self::KeyRevoked { .. } => "key_revoked_before",
            Self::Witnesses { .. } => "witness_quorum",
            Self::State { .. } => "trust_state_damaged",
            Self::Unreadable { .. } => "trust_state_unreadable",
            Self::Full { .. } => "trust_state_full",
            Self::TooNew { .. } => "format_too_new",
            Self::Busy { .. } => "trust_state_busy",
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::State { .. }
            | Self::Unreadable { .. }
            | Self::Full { .. }
            | Self::TooNew { .. }
            | Self::Busy { .. } => Kind::Failed,
            Self::Stale { .. }
            | Self::Future { .. }
            | Self::OtherKey { .. }
            | Self::KeyChanged { .. }
            | Self::NotNamed { .. }
            | Self::OtherLog { .. }
            | Self::Missing { .. }
            | Self::Unknown { .. }
            | Self::Earlier { .. }
            | Self::Apart { .. }
            | Self::KeyRevoked { .. }
            | Self::Witnesses { .. } => Kind::Refused,
            _ => Kind::Verification,
        }
    }

    /// What commands are told to mean the registry that it is about; empty where it is about none.
    fn registry(&self) -> &str {
        match self {
            Self::Unsigned { place, .. }
            | Self::Superseded { place, .. }
            | Self::Timeless { place, .. }
            | Self::OtherKey { place, .. }
            | Self::KeyChanged { place, .. }
            | Self::NotNamed { place, .. }
            | Self::OtherLog { place, .. }
            | Self::Stale { place, .. }
            | Self::Identity { place, .. }
            | Self::Missing { place, .. }
            | Self::Unknown { place, .. } => place.name(),
            _ => "",
        }
    }

    fn hint(&self) -> String {
        let registry = self.registry();
        match self {
            Self::Rewind { origin, .. } | Self::TooLarge { origin, .. } => format!(
                "a registry that was restored from a backup tells so: ask its operator. Only then: \
                 `skillpkg log forget {}`, which takes the log as it is shown next",
                escape(origin)
            ),
            Self::Fork { origin, .. } => format!(
                "install nothing from there. Show what was kept to the registry's operator and to \
                 others who use it; `skillpkg log compare` tells whom else it shows which. Once \
                 that is settled: `skillpkg log forget {}`",
                escape(origin)
            ),
            Self::Inconsistent { origin, .. } => format!(
                "try again; where it stays so, ask the registry's operator. \
                 `skillpkg log forget {}` takes the log as it is shown next",
                escape(origin)
            ),
            Self::Superseded { origin, .. } => hint_of_superseded(registry, origin),
            Self::Unsigned { .. } | Self::Timeless { .. } => format!(
                "something between, or a mirror, may have changed it: ask the operator of `{registry}`"
            ),
            Self::OtherKey { .. } | Self::KeyChanged { .. } => format!(
                "ask the operator of `{registry}`, over another way, for the fingerprint of its log; \
                 `skillpkg log forget` and `skillpkg log pin {registry} FINGERPRINT` take another one"
            ),
            Self::NotNamed { .. } => format!(
                "compare both with the fingerprint that the operator of `{registry}` publishes: \
                 `log-key` in the configuration, or `skillpkg log pin {registry} FINGERPRINT`, \
                 names it"
            ),
            Self::OtherLog { .. } => format!(
                "ask the operator of `{registry}` whether the scope moved; `skillpkg log forget {registry}` \
                 takes what it shows next"
            ),
            Self::Stale { .. } => format!(
                "compare the clock (`date`); where it is right, ask the operator of `{registry}`, or \
                 the registry itself in place of a mirror"
            ),
            Self::Future { .. } => {
                "set this machine's clock (`date` shows it), then run this again".to_owned()
            }
            Self::Identity { .. } => format!(
                "nothing is believed that is signed with these: ask the operator of `{registry}`"
            ),
            Self::Missing { .. } => format!(
                "ask the operator of `{registry}`; where the registry has no log any more, \
                 `skillpkg log forget {registry}`"
            ),
            Self::Unknown { fingerprint, carried: true, .. } => format!(
                "compare the fingerprint with the one that the registry's operator publishes, \
                 then write `log-key = \"{fingerprint}\"` under the registry in the configuration; \
                 `skillpkg install --bundle FILE --trust-on-first-use` takes the log as the bundle \
                 shows it"
            ),
            Self::Earlier { .. } => {
                "make a bundle of today with `skillpkg bundle` where the registry is reached"
                    .to_owned()
            }
            Self::Apart { .. } => {
                "make it anew with `skillpkg bundle --since FILE`, FILE being the bundle that this \
                 machine installed last, or its `log.json` beneath `trust/`"
                    .to_owned()
            }
            Self::Tiles { .. } => {
                "copy it again; where it stays so make it anew with `skillpkg bundle`".to_owned()
            }
            Self::Unknown { fingerprint, .. } => format!(
                "compare the fingerprint with the one that the registry's operator publishes, \
                 then `skillpkg log pin {registry} {fingerprint}`, or `log-key = \"{fingerprint}\"` \
                 under the registry in the configuration"
            ),
            Self::KeyRevoked { name, .. } => format!(
                "whoever published it may have a stolen key: take a version from before, or ask \
                 the author of `{name}`"
            ),
            Self::Witnesses { .. } => {
                "try again in some minutes: witnesses sign a while after the log does".to_owned()
            }
            Self::State { .. }
            | Self::Unreadable { .. }
            | Self::Full { .. }
            | Self::TooNew { .. }
            | Self::Busy { .. } => self.hint_of_state(),
            Self::Record { name, .. } => format!(
                "nothing of it was installed. Compare the lockfile with its history; ask the \
                 registry's operator about `{name}`"
            ),
            Self::Heads { .. }
            | Self::NotListed { .. }
            | Self::Changed { .. }
            | Self::Hidden { .. }
            | Self::Statement { .. }
            | Self::NotIncluded { .. }
            | Self::Inclusion { .. } => {
                "try again; where it stays so, what answers is falsified: ask the registry itself \
                 in place of a mirror, or its operator"
                    .to_owned()
            }
        }
    }

    /// The way out where it is about what this machine remembers.
    fn hint_of_state(&self) -> String {
        match self {
            Self::State { path, .. } if path.ends_with("trust") => format!(
                "move `{}` away; each log is then pinned anew when its registry is next asked, so \
                 compare its fingerprint with what the operator publishes",
                shown(path)
            ),
            Self::State { path, .. } => format!(
                "`skillpkg log forget {}` moves it aside, and the log is pinned anew",
                escape(&path.file_name().unwrap_or_default().to_string_lossy())
            ),
            Self::Unreadable { hint, .. } => hint.clone().unwrap_or_else(|| {
                "see that the file can be read; nothing of it has to be forgotten".to_owned()
            }),
            Self::Full { .. } => "`skillpkg log` tells them, and `skillpkg log forget URL` forgets those of a registry that \
                 you use no more"
                .to_owned(),
            Self::TooNew { found, .. } => format!(
                "use a skillpkg that reads state of version {found}, or another SKILLPKG_HOME"
            ),
            Self::Busy { .. } => "run this again".to_owned(),
            _ => String::new(),
        }
    }

    /// The failure, with where what was seen is kept.
    pub(super) fn told(&self, evidence: Option<&Path>) -> Error {
        let mut message = self.to_string();
        if let Some(path) = evidence {
            message = format!("{message}. What was seen is kept in `{}`", shown(path));
        }
        Error::new(self.kind(), self.code(), message).with_hint(self.hint())
    }
}

/// The way out where a registry shows its log as it was before its keys were rotated.
fn hint_of_superseded(registry: &str, origin: &str) -> String {
    format!(
        "ask the operator of `{registry}`: a registry that has its `log` directory of after the \
         rotation back is believed again as it is. Only where that is lost, or the rotation was not \
         theirs: `skillpkg log forget {}`, which takes the log as it is shown next; compare its \
         fingerprint with what the operator publishes",
        escape(origin)
    )
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        refusal.told(None)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Refusals of other parts that the table explains as well.
    const OTHERS: [&str; 5] = [
        "advisory_forbids",
        "digest_mismatch",
        "signature_refused",
        "signer_changed",
        "signer_revoked",
    ];

    /// The texts in backticks.
    fn quoted(text: &str) -> impl Iterator<Item = &str> {
        text.split('`').skip(1).step_by(2)
    }

    #[test]
    fn every_code_of_a_refusal_is_in_the_table_that_says_what_to_do_and_no_other_is() {
        let source = include_str!("error.rs");
        let start = source.find("fn code(&self)").unwrap();
        let body = &source[start..];
        let body = &body[..body.find("fn kind(&self)").unwrap()];
        let mut codes: BTreeSet<&str> = body.split('"').skip(1).step_by(2).collect();
        assert!(codes.len() > 25, "{codes:?}");
        codes.extend(OTHERS);
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/security.md");
        let page = std::fs::read_to_string(page).unwrap();
        let table = page.split("### What is refused").nth(1).unwrap();
        let table = table.split("###").next().unwrap();
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
        let rows: Vec<String> = rows.map(|row| format!("`{row}")).collect();
        let told: BTreeSet<&str> =
            rows.iter().flat_map(|row| quoted(row.split('|').next().unwrap())).collect();
        let told: BTreeSet<&str> = told.into_iter().filter(|code| !code.ends_with('…')).collect();
        assert_eq!(codes, told);
    }
}
