//! Skills at rest: which files of a directory are packed, the archive that they travel in, and the
//! store of blobs and snapshots on a machine.
//!
//! Nothing here reads an archive as tar, follows a link, or writes at a final path.

pub mod archive;
#[cfg(feature = "attacks")]
pub mod attacks;
pub mod bundle;
pub mod content;
pub mod pack;
