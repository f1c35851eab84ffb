//! From a skill's directory to its signed archive.

mod choose;
mod chosen_tree;
mod droppings;
mod identity;
mod plan;
mod secrets;

pub use choose::chosen_files;
pub use identity::version_missing;
pub use plan::{PackOptions, Packing};
