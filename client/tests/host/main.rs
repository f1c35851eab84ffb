//! The library as an agent host uses it, over a real store and real processes.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod capabilities;
mod resources;
mod scripts;
mod support;
mod tools;
mod verify;
