//! What a registry's log proves, against registries that lie.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails the test")]
#![expect(clippy::panic, reason = "an attack that succeeds fails the test")]

mod bundles;
mod checkpoints;
mod documents;
mod identities;
mod log;
mod machine;
mod mirrors;
mod proofs;
mod registry;
mod remembered;
mod standing;
