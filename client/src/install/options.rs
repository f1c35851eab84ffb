//! What an install may do without asking, and where it places things.

use std::time::Duration;

use crate::agents::Reach;
use crate::state::PATIENCE;

/// What an install may do without asking, and where it places things.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Options {
    /// One project, or every project of the user.
    pub reach: Reach,
    /// The agents to place for, by id; where there are none, those that the project or the
    /// configuration names, that a skill is placed for already, or that are found in use.
    pub agents: Vec<String>,
    /// Place copies, where a skill is not placed already.
    pub copy: bool,
    /// Approve what the skills run.
    pub approve: bool,
    /// Approve what an update adds to what was approved before.
    pub accept_permissions: bool,
    /// Take skills that another account signed than the one seen first.
    pub accept_signer: bool,
    /// Replace or remove copies that their user edited.
    pub discard_edits: bool,
    /// Merge the edits of copies into what an update places; what `discard_edits` discards is gone
    /// all the same.
    pub merge_edits: bool,
    /// How long to wait for another process that works on the same project.
    pub patience: Duration,
}

impl Options {
    /// Nothing without asking, in the places found.
    pub fn new(reach: Reach) -> Self {
        Self {
            reach,
            agents: Vec::new(),
            copy: false,
            approve: false,
            accept_permissions: false,
            accept_signer: false,
            discard_edits: false,
            merge_edits: false,
            patience: PATIENCE,
        }
    }
}
