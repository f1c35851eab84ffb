//! Hostile archives with the answer each must get, for the tests of every crate that reads one.
//!
//! Only built with the feature `attacks`.

mod sample;

pub use sample::{Collected, SIGNING_KEY, Sample};
