//! Installs: archives in files, the real store, real directories; and of a registry of a test's own.

mod bench;
mod copies;
mod kills;
mod merging;
mod offering;
mod places;
mod refusals;
#[cfg(unix)]
mod skips;
mod taking;
mod young;
