//! Runners, with real processes and a real socket.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod process;
mod remote;
mod select;
mod support;
