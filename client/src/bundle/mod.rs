//! Bundles: what registries answer, in one file, for machines that no registry reaches.
//!
//! A bundle stands in for the registries that it was made from: it is asked as they are and
//! believed as they are, by what their logs prove, and by nothing else. `docs/wire/bundle.md`.

mod answers;
mod carried;
mod contents;
mod error;
mod gather;
mod make;
mod since;
mod target;
mod verify;
mod wanted;
mod write;

pub(crate) use carried::Shelf;
pub use carried::{Carried, is_bundle};
pub use contents::{Contents, HeldLog, HeldRegistry, HeldSkill, HeldVersion};
pub use make::{Made, Request, make};
pub use verify::{Fault, Verified, verify};
