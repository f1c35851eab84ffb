//! The library that an agent host embeds: finds, installs, verifies, activates and calls skills.
//!
//! Nothing here prints, prompts, reads the environment or exits: the `skillpkg` command does. A
//! host says in [`settings::Settings`] where things are.

pub mod activation;
pub mod adopt;
pub mod agents;
pub mod audit;
pub mod bundle;
pub mod credentials;
pub mod difference;
pub mod doctor;
pub mod eligibility;
pub mod error;
pub mod host;
pub mod install;
pub mod keys;
pub mod mcp;
pub mod merge;
pub mod meter;
mod parallel;
pub mod policy;
mod private_file;
pub mod project;
mod real_path;
pub mod registry;
mod regular_file;
pub mod resource;
mod revocation;
pub mod runner;
pub mod settings;
pub mod state;
mod text_faults;
pub mod trust;
pub mod unfinished;
pub mod verification;

pub use error::{Error, Kind};
pub use settings::Settings;
