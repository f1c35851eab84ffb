//! The author's commands as a person and a script see them: the real binary, in directories of its
//! own.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod accounts;
mod answers;
mod checking;
mod diffing;
mod doctoring;
mod help;
mod inspecting;
#[cfg(unix)]
mod interrupted;
mod json;
mod keys;
mod packing;
#[cfg(unix)]
mod progress;
mod publishing;
mod starting;
mod support;
#[cfg(unix)]
mod terminal;
mod wrong;
