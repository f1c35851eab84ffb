//! What is asked of a log beyond that it is itself.

use std::collections::BTreeSet;

use skillpkg_schema::log::{Hash, NoteKey, SignatureKind, Witnessed};

use super::error::Refusal;
use crate::policy::{Policy, Witnesses};
use crate::registry::Place;

/// The oldest checkpoint that is believed where nobody says otherwise: 14 days.
///
/// A log that answers signs anew within minutes. What is older comes from a mirror that is cut off,
/// or from somebody who holds the registry back in time.
pub const MAXIMUM_AGE: u64 = 14 * 24 * 60 * 60;
/// How far the clock of a log may be ahead of this machine's, in seconds.
const CLOCKS_DIFFER: u64 = 15 * 60;

/// Witnesses of which some must have signed a checkpoint.
#[derive(Debug, Clone)]
pub(crate) struct Quorum {
    /// Their keys.
    pub(crate) keys: Vec<NoteKey>,
    /// How many of them must have signed.
    pub(crate) needed: usize,
    /// Where that is said, a phrase.
    pub(crate) rule: String,
}

/// What is asked of a log beyond that it is itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    /// The greatest age of a checkpoint, in seconds, and where that is said; else [`MAXIMUM_AGE`].
    pub(crate) maximum_age: Option<(u64, String)>,
    /// Each has to be satisfied by itself.
    pub(crate) quorums: Vec<Quorum>,
    /// Where it is said that there must be a log.
    pub(crate) require_log: Option<String>,
}

/// What a user's configuration says of a registry's log: `log-key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogKey {
    /// The fingerprint of the log's first identity: its later ones are believed too.
    Fingerprint(Hash),
    /// A key that must have signed each checkpoint: once the log has another, this is changed.
    Key(Box<NoteKey>),
}

impl LogKey {
    /// Reads `NAME+ID+KEY`, or a fingerprint of 64 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Ok(fingerprint) = text.parse() {
            return Ok(Self::Fingerprint(fingerprint));
        }
        let key: NoteKey = text.parse().map_err(|_| {
            "it is neither the fingerprint of a log, 64 hexadecimal digits, nor a verifier key, \
             NAME+ID+KEY"
                .to_owned()
        })?;
        if key.kind() != SignatureKind::Ed25519 {
            return Err("it is a key that cosigns; a log's own key is asked for".to_owned());
        }
        Ok(Self::Key(Box::new(key)))
    }
}

impl Rules {
    /// Every key of a witness.
    pub(super) fn witnesses(&self) -> Vec<NoteKey> {
        self.quorums.iter().flat_map(|quorum| quorum.keys.iter().cloned()).collect()
    }

    /// Refuses a checkpoint that too few witnesses have signed.
    pub(super) fn check_witnesses(
        &self,
        place: &Place,
        origin: &str,
        signed: &[Witnessed],
    ) -> Result<(), Refusal> {
        for quorum in &self.quorums {
            // One key under two names is one witness.
            let found: BTreeSet<[u8; 32]> = signed
                .iter()
                .filter(|one| quorum.keys.contains(&one.key))
                .map(|one| one.key.key().to_bytes())
                .collect();
            if found.len() < quorum.needed {
                return Err(Refusal::Witnesses {
                    place: place.clone(),
                    origin: origin.to_owned(),
                    found: found.len(),
                    of: quorum.keys.len(),
                    needed: quorum.needed,
                    rule: quorum.rule.clone(),
                });
            }
        }
        Ok(())
    }

    /// Refuses a checkpoint that is too old, or of a time to come.
    pub(super) fn check_time(
        &self,
        place: &Place,
        origin: &str,
        signed: u64,
        now: u64,
    ) -> Result<(), Refusal> {
        let (place, origin) = (place.clone(), origin.to_owned());
        if signed > now.saturating_add(CLOCKS_DIFFER) {
            return Err(Refusal::Future { place, origin, signed, now });
        }
        let (most, rule) = match &self.maximum_age {
            Some((most, rule)) => (*most, Some(rule.clone())),
            None => (MAXIMUM_AGE, None),
        };
        if now.saturating_sub(signed) > most {
            return Err(Refusal::Stale { place, origin, signed, now, most, rule });
        }
        Ok(())
    }
}

impl Rules {
    /// What policies ask of logs.
    pub(crate) fn of(policy: &Policy) -> Self {
        let quorum = |witnesses: &Witnesses| Quorum {
            keys: witnesses.keys.clone(),
            needed: witnesses.quorum,
            rule: format!("the policy at {}", witnesses.place),
        };
        Self {
            maximum_age: policy
                .maximum_checkpoint_age()
                .map(|(age, place)| (age.seconds(), format!("`maximum-checkpoint-age`, {place}"))),
            quorums: policy.witnesses().map(quorum).collect(),
            require_log: policy.require_log().map(|place| format!("`require-log`, {place}")),
        }
    }
}
