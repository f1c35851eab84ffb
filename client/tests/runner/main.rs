//! Runners, with real processes and a real socket.

#![cfg(all(test, target_os = "linux"))]

mod process;
mod remote;
mod select;
mod support;
