//! What in the content of a skill is worth an eye before it is trusted: text that no reader sees,
//! secrets, what is fetched and run.
//!
//! Findings are derived from the files by whoever wants to know, and no part of a manifest: a rule
//! that gets better would make the manifests of before untrue.

mod characters;
mod comment;
mod fetch;
mod find;
mod findings;
mod given;
mod host;
mod kind;
mod markup;
mod one;
pub mod secret;
mod severity;
mod style;
mod text;
mod words;

pub use find::{Finder, find};
pub use findings::Findings;
pub use host::commands as host_commands;
pub use kind::{FindingKind, UnknownKind};
pub use one::{Finding, FindingCount};
pub use severity::{Severity, UnknownSeverity};

pub(crate) use fetch::fetched_and_run;
pub(crate) use markup::hidden_in_markdown;
