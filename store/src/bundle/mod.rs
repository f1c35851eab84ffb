//! The container of a bundle: an index, then the files that it names, as a plain ustar stream with
//! nothing left to choose. `docs/wire/bundle.md` specifies it.
//!
//! As with archives the reader parses no tar: given the index every header is known. No path of a
//! bundle ever becomes one of a file system.

mod error;
mod read;
mod write;

pub use error::BundleError;
pub use read::{BundleReader, looks_like_bundle};
pub use write::BundleWriter;
