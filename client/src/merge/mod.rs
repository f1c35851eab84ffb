//! Edits of a copy and what its author published, made one: three versions of each file.

mod copy;
mod picture;
mod text;

pub use copy::{Conflict, MergedCopy};
pub(crate) use copy::{Edits, Made, MergeError};
pub(crate) use picture::Picture;
pub use text::{Merged, Names, merge};
