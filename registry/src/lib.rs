//! The skill registry: accounts, names, versions and blobs behind one HTTP server.
//!
//! [`data::Data`] is the directory that it keeps, [`state::Registry`] what requests share,
//! [`routes::router`] what they ask, and [`server::serve`] how they come. Nothing here prints: the
//! binary talks.

pub mod access;
pub mod accounts;
pub mod advisories;
pub mod attendance;
pub mod auth;
pub mod blobs;
pub mod clock;
pub mod contents;
pub mod data;
pub mod database;
pub mod documents;
pub mod downloads;
pub mod events;
pub mod faces;
pub mod grant;
pub mod log;
pub mod metrics;
pub mod mirror;
pub mod names;
pub mod oidc;
pub mod problem;
pub mod random;
pub mod rates;
pub mod room;
pub mod routes;
pub mod search;
pub mod server;
pub mod skills;
pub mod state;
pub mod upkeep;
pub mod upstream;
pub mod web;
pub mod words;
