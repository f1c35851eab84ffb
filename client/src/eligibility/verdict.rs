//! The verdict on one skill that a host can gate on.

use serde::Serialize;

use super::{LeftToHost, Missing};
use crate::Error;
use crate::install::Listed;

/// The verdict on one skill.
///
/// It is eligible where agents may see it, every file is the one that was signed, and nothing that it
/// needs is missing. [`Verdict::left_to_host`] is for the host to judge besides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is an answer of its own")]
pub struct Verdict {
    /// Whether everything below holds.
    pub eligible: bool,
    /// Whether the snapshot that the lockfile names is the one that agents may see, and neither a
    /// policy nor an advisory forbids it.
    pub active: bool,
    /// Whether every file was re-hashed just now and is the one that was signed.
    pub verified: bool,
    /// Why it is not active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// The files that are not as they were signed, escaped; `.` where there is no tree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// What it needs and is not here.
    pub missing: Vec<Missing>,
    /// What is not here and keeps it from nothing, since it says `always`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<Missing>,
    /// What its host alone can judge.
    pub left_to_host: Vec<LeftToHost>,
    /// Whether its host is to offer it whatever programs, variables and settings are missing.
    pub always: bool,
    /// The variable for which a host may hold a secret in its own configuration.
    pub primary_env: Option<String>,
}

/// Why a skill is not active, as whoever asks for it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Stable, in `snake_case`.
    pub code: String,
    /// One sentence that can be printed.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self { code: error.code, message: error.message, hint: error.hint }
    }
}

impl Verdict {
    /// Draws the conclusion from everything else.
    pub(crate) fn concluded(mut self) -> Self {
        self.verified &= self.changed.is_empty();
        self.eligible = self.active && self.verified && self.missing.is_empty();
        self
    }

    /// The verdict for a host that reads agents' directories, where copies may have been edited and
    /// links led elsewhere.
    #[must_use]
    pub fn where_placed(mut self, listed: &Listed) -> Self {
        for path in listed.modified.iter().chain(&listed.damaged).chain(&listed.missing) {
            if !self.changed.contains(path) {
                self.changed.push(path.clone());
            }
        }
        self.concluded()
    }
}
