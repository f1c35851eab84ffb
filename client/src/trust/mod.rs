//! What is believed of a registry: what its transparency log proves.
//!
//! Each registry that keeps a log speaks by it. Its newest checkpoint is remembered; each answer has
//! to continue it, every document has to be the one that the log lists, and every version that is
//! installed has to be in it. What does not hold is refused, and what was seen is kept: see
//! `docs/wire/trust.md`.
//!
//! Whose signature a skill carries is looked at elsewhere ([`crate::install`]): a log proves that
//! everybody is shown the same, not that it is good.

mod ask;
mod carry;
mod check;
mod claim;
mod collect;
mod compare;
mod error;
mod evidence;
mod first;
mod kept;
mod kept_tree;
mod overview;
mod places;
mod proofs;
mod prove;
mod rotation;
mod rules;
mod speaker;
mod standing;
mod store;
mod time;
mod unwritten;
mod view;

pub use ask::Notice;
pub(crate) use ask::{Found, Trust};
pub(crate) use carry::{Carriage, Taken, not_there};
pub use check::check_log;
pub(crate) use claim::{Claim, check_keys};
pub use collect::collect_proofs;
pub use compare::{Comparison, LogSource, Side, Verdict, compare};
pub use error::is_falsified;
pub use kept::KeptProof;
pub use overview::{LogStatus, SpeaksFor, document, forget, is_known, logs, pin, proof};
pub(crate) use overview::{origins, proven_time};
pub(crate) use places::Places;
pub use places::RegistryTrust;
pub(crate) use proofs::KeptProofs;
pub(crate) use prove::Unproven;
pub(crate) use rules::Rules;
pub use rules::{LogKey, MAXIMUM_AGE};
pub(crate) use standing::{Said, forbidden, forbidding, standings_file};
pub use standing::{Standing, Standings};
pub use store::Pinned;
pub(crate) use time::now;
pub use time::{shown as shown_time, span as shown_span};
