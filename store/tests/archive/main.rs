//! The archive profile: what is written, what is read, and what is refused.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod attacks;
mod bounds;
mod differential;
mod fuzz_corpus;
mod golden;
mod ingest;
mod memory;
mod properties;
mod round_trip;
#[path = "../skips/mod.rs"]
mod skips;
mod support;
