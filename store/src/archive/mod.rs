//! The archive profile: one zstd frame around a canonical ustar stream.
//!
//! Given the manifest, every header is known. The reader generates each and compares; it never
//! parses tar, so that no two readers can see different files in one archive.
//! `docs/wire/archive.md` specifies the profile.

mod bounds;
mod error;
mod frame;
pub(crate) mod header;
mod layout;
mod plain;
mod read;
mod write;

pub use bounds::Bounds;
pub use error::{ArchiveError, FrameError};
pub use plain::PlainTar;
pub use read::{Reader, Sink};
pub use write::{COMPRESSION_LEVEL, write};

/// The path of the manifest in an archive.
pub const MANIFEST_PATH: &str = ".skillpkg/manifest.json";
/// The path of the signature envelope in an archive.
pub const ENVELOPE_PATH: &str = ".skillpkg/signatures.json";
