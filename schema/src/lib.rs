//! What a skill is: its file, its tools, resources, scripts and contracts, the manifest that lists
//! them, the signature over that manifest, and the documents a registry and its clients exchange.
//!
//! This crate opens no socket and no database and never touches a terminal. It reads a file system
//! only beneath a skill's own directory, through [`tree::Tree`].

pub mod address;
pub mod bundle;
pub mod capability;
pub mod contract;
pub mod diagnostic;
mod difference;
pub mod finding;
pub mod json;
pub mod limits;
pub mod log;
pub mod manifest;
pub mod name;
pub mod path;
pub mod reference;
pub mod signature;
pub mod skill;
pub mod tree;
pub mod version;
pub mod wire;

pub use address::{Algorithm, Blake3Digest, ContentAddress, Sha256Digest};
pub use diagnostic::{Diagnostic, Faults, Severity};
pub use manifest::Manifest;
pub use name::{QualifiedName, Scope, SkillName};
pub use path::SkillPath;
pub use reference::{Reference, Requirement};
pub use version::Version;
