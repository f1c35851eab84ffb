//! The content store: what comes in is found again exactly, and nothing damaged is ever served.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod collect;
mod damage;
mod keep;
mod misplaced;
mod model;
mod processes;
mod repair;
#[cfg(target_os = "linux")]
#[path = "../skips/mod.rs"]
mod skips;
mod storage;
mod support;
mod verify;
