//! Edits of a copy and what its author published, made one: three versions of each file.

mod copy;
mod text;

pub use copy::{Conflict, MergedCopy};
pub(crate) use copy::{Edits, MergeError};
pub use text::{Merged, Names, merge};
