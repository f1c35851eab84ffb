//! Signatures: Ed25519 keys as PEM, DSSE envelopes, the statement that binds a version's name to its
//! manifest, and the one that shows that an account holds a key.

mod envelope;
mod key;
pub mod key_proof;
mod locked;
mod passphrase;
mod pem;
mod release;

pub use envelope::{Envelope, EnvelopeError, EnvelopeSignature, MAX_SIGNATURES};
pub(crate) use key::SIGNATURE_BYTES;
pub use key::{KeyError, KeyId, PublicKey, SigningKey};
pub use passphrase::{MAX_PASSPHRASE_BYTES, Passphrase, PassphraseError};
pub use release::{RELEASE_PREDICATE, ReleaseError, STATEMENT_TYPE, sign_release, verify_release};
