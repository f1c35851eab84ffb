//! The archive profile: what is written, what is read, and what is refused.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod attacks;
mod memory;
mod properties;
mod round_trip;
mod support;
