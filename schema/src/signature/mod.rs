//! Signatures: Ed25519 keys as PEM, DSSE envelopes, and the statement that binds a version's name
//! to its manifest.

mod envelope;
mod key;
mod release;

pub use envelope::{Envelope, EnvelopeError, EnvelopeSignature};
pub(crate) use key::SIGNATURE_BYTES;
pub use key::{KeyError, KeyId, PublicKey, SigningKey};
pub use release::{RELEASE_PREDICATE, ReleaseError, STATEMENT_TYPE, sign_release, verify_release};
