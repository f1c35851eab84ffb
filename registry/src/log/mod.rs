//! The registry's transparency log: every change to what it serves, in one tree that it signs.

mod append;
mod touch;

pub use append::{Leaf, append};
pub use touch::touch;
