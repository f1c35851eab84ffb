//! Whether a skill can do what it says on this machine: what it needs, what of that is not here, and
//! the verdict that a host can gate on.
//!
//! One reading serves all: an activation is refused for what is missing here, and a verdict names it.

mod interpreters;
mod missing;
mod needs;
mod verdict;

#[cfg(test)]
mod tests;

pub(crate) use missing::listed;
pub use missing::{HostCondition, LeftToHost, Missing, MissingKind};
pub use needs::{Here, Needs, needs};
pub use verdict::{Refusal, Verdict};
