//! The library as an agent host uses it, over a real store and real processes.
#![cfg(all(test, target_os = "linux"))]

mod capabilities;
mod resources;
mod scripts;
mod support;
mod tools;
mod verify;
