//! The routes over a real server, a real database and real files.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper of a test fails the test")]

#[path = "../skips/mod.rs"]
mod skips;
mod support;

mod access;
mod archives;
mod blobs;
mod bucket;
mod closing;
mod codes;
mod commands;
mod commands_names;
mod costly;
mod crowd;
mod deletion;
mod disk;
mod document;
mod faces;
mod health;
mod index;
mod keys;
mod limits;
mod log;
mod log_copies;
mod log_large;
mod log_process;
mod manifests;
mod members;
mod metrics;
mod mirror;
mod names;
mod oidc;
mod on_postgres;
mod openapi;
mod overtaken;
mod owners;
mod pages;
mod paths;
mod places;
mod private;
mod publish;
mod publish_attacks;
mod publish_crash;
mod rates;
mod search;
mod secrets;
mod stop;
mod tokens;
mod unheard;
mod watcher;
mod yank;
