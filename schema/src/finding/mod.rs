//! What in the content of a skill is worth an eye before it is trusted: text that no reader sees,
//! secrets, what is fetched and run.
//!
//! Findings are derived from the files by whoever wants to know, and no part of a manifest: a rule
//! that gets better would make the manifests of before untrue.

mod kind;
mod one;
mod severity;

pub use kind::{FindingKind, UnknownKind};
pub use one::{Finding, FindingCount};
pub use severity::{Severity, UnknownSeverity};
