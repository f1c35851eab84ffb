//! The content store: what comes in is found again exactly, and nothing damaged is ever served.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod keep;
mod support;
mod verify;
