//! Installing: resolve, fetch, verify, activate, place; all of it or nothing.

mod add;
mod agents;
mod approval;
mod attend;
mod base;
mod change;
mod commit;
mod directories;
mod exchange;
mod folder;
mod folders;
mod goal;
mod index;
mod kept;
mod ledger;
mod link;
mod list;
mod make;
mod options;
mod outdated;
mod pick;
mod placement;
mod prepare;
mod proven;
mod recover;
mod remove;
mod session;
mod source;
mod standing;
mod sync;
mod take_over;
mod trust;
mod unknown_agent;
mod update;

pub use add::{ARCHIVE_ENDING, Request, install};
pub use agents::{overview, reset_agents, use_agents};
pub use attend::{Approval, Attendant, Moved, Progress};
pub use goal::{Kept, Outcome, Report};
pub use list::{Drift, Listed, Revoked, drift, found_in, list, settle};
pub use options::Options;
pub use outdated::{Outdated, outdated, preview};
pub(crate) use pick::pick_passing;
pub use pick::{PickError, pick};
pub use remove::{activate, deactivate, remove};
pub(crate) use session::{locked_skills, root_of};
pub(crate) use source::locked_entry;
pub use sync::{Frozen, sync};
pub(crate) use take_over::{Present, TakenOver, take_over};
pub(crate) use trust::{Candidate, check_file_signer, vouched};
pub use update::update;

#[cfg(test)]
mod tests;
