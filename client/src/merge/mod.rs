//! Edits of a copy and what its author published, made one: three versions of each file.

mod copy;
mod text;

pub(crate) use copy::Edits;
pub use copy::{Conflict, MergedCopy};
pub use text::{Merged, Names, merge};
