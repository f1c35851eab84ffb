//! Installs without a registry: archives in files, the real store, real directories.

mod bench;
mod copies;
mod kills;
mod places;
mod refusals;
#[cfg(unix)]
mod skips;
