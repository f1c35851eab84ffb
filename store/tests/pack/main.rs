//! From a directory to an archive: what is packed, what is refused, and that nothing else counts.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[cfg(unix)]
mod attacks;
mod identity;
mod published;
mod same_bytes;
#[path = "../skips/mod.rs"]
mod skips;
mod support;
mod whole;
