//! Ed25519 keys.

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{
    DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _,
    KeypairBytes,
};
use ed25519_dalek::{Signer as _, VerifyingKey};

use super::passphrase::Passphrase;
use super::{locked, pem};
use crate::address::{AddressError, Sha256Digest, text_serde};

/// The labels of keys that no passphrase locks.
const PRIVATE_LABEL: &str = "PRIVATE KEY";
const PUBLIC_LABEL: &str = "PUBLIC KEY";

/// Bytes in an Ed25519 signature.
pub(crate) const SIGNATURE_BYTES: usize = 64;

/// Text or bytes that are no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not an Ed25519 private key in PKCS#8 PEM.
    #[error("not an Ed25519 private key: expected PKCS#8 PEM, `-----BEGIN PRIVATE KEY-----`")]
    Private,
    /// A private key that a passphrase locks: see [`SigningKey::from_encrypted_pem`].
    #[error("the private key is encrypted, and its passphrase opens it")]
    Encrypted,
    /// The passphrase opens another key.
    #[error("the passphrase does not open this key")]
    WrongPassphrase,
    /// Encrypted in a way that is not read.
    #[error(
        "the private key is encrypted in a way that is not read: expected PBES2 with AES, and with \
         scrypt or PBKDF2 of SHA-2"
    )]
    EncryptionUnknown,
    /// Encrypted so that opening it would cost more than it may.
    #[error(
        "the private key asks for more work than it may: at most 10,000,000 rounds of PBKDF2, or \
         scrypt with 128 MiB and N·r·p of 4,194,304"
    )]
    EncryptionCost,
    /// Not an Ed25519 public key in SPKI.
    #[error("not an Ed25519 public key: expected SPKI, `-----BEGIN PUBLIC KEY-----` as PEM")]
    Public,
    /// A public key of small order, under which anything verifies.
    #[error("the public key is weak: it has small order")]
    Weak,
    /// The system gave no random bytes.
    #[error("the system gave no random bytes: {0}")]
    NoRandomness(String),
}

/// A key's id: the SHA-256 of its SPKI DER, as 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(Sha256Digest);

impl KeyId {
    /// The first 16 digits: enough to show, not to compare.
    pub fn short(&self) -> String {
        let mut digits = self.to_string();
        digits.truncate(16);
        digits
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for KeyId {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        text.parse().map(Self)
    }
}

text_serde!(KeyId);

/// A private key.
///
/// Its memory is overwritten when it is dropped, and `Debug` shows its id alone.
#[derive(Clone)]
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// A new key of the system's randomness.
    pub fn generate() -> Result<Self, KeyError> {
        let mut seed = [0; ed25519_dalek::SECRET_KEY_LENGTH];
        getrandom::fill(&mut seed).map_err(|error| KeyError::NoRandomness(error.to_string()))?;
        Ok(Self(ed25519_dalek::SigningKey::from_bytes(&seed)))
    }

    /// Reads PKCS#8 PEM, of version 1 or 2; the first private key of several blocks.
    ///
    /// One that a passphrase locks is [`KeyError::Encrypted`].
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let Some(block) = pem::block(text, PRIVATE_LABEL) else {
            let is_locked = pem::block(text, locked::LABEL).is_some();
            return Err(if is_locked { KeyError::Encrypted } else { KeyError::Private });
        };
        ed25519_dalek::SigningKey::from_pkcs8_pem(block).map(Self).map_err(|_| KeyError::Private)
    }

    /// Reads encrypted PKCS#8 PEM, of PBES2 with AES and with scrypt or PBKDF2; the first such block
    /// of several.
    ///
    /// Takes some tenths of a second and 16 MiB for a key that was written here, and at most some
    /// seconds and 128 MiB for any other: what asks for more is refused before.
    pub fn from_encrypted_pem(text: &str, passphrase: &Passphrase) -> Result<Self, KeyError> {
        locked::open(text, passphrase).map(Self)
    }

    /// Writes PKCS#8 PEM that the passphrase opens, with scrypt and AES-256-CBC, as OpenSSL 3 reads
    /// it. Each time it is other text.
    pub fn to_encrypted_pem(&self, passphrase: &Passphrase) -> Result<String, KeyError> {
        locked::write(&self.pair(), passphrase)
    }

    fn pair(&self) -> KeypairBytes {
        KeypairBytes { secret_key: self.0.to_bytes(), public_key: None }
    }

    /// Writes PKCS#8 PEM of version 1, which every tool reads.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        let pem = self.pair().to_pkcs8_pem(LineEnding::LF).map_err(|_| KeyError::Private)?;
        Ok(pem.as_str().to_owned())
    }

    /// The public key.
    pub fn public(&self) -> PublicKey {
        PublicKey::new(self.0.verifying_key())
    }

    /// Signs `message`.
    pub fn sign(&self, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        self.0.sign(message).to_bytes()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public().id())
    }
}

/// A public key, and its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey {
    key: VerifyingKey,
    id: KeyId,
}

impl PublicKey {
    /// Reads SPKI PEM.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_public_key_pem(pem).map_err(|_| KeyError::Public)?;
        Self::strong(key)
    }

    /// Reads the SPKI PEM that stands in the file of a private key; [`None`] where there is none.
    pub fn beside_private(text: &str) -> Result<Option<Self>, KeyError> {
        pem::block(text, PUBLIC_LABEL).map(Self::from_pem).transpose()
    }

    /// Reads SPKI DER.
    pub fn from_der(der: &[u8]) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_public_key_der(der).map_err(|_| KeyError::Public)?;
        Self::strong(key)
    }

    /// Reads the 32 bytes of RFC 8032.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| KeyError::Public)?;
        Self::strong(key)
    }

    /// Writes the 32 bytes of RFC 8032.
    pub fn to_bytes(&self) -> [u8; 32] {
        self.key.to_bytes()
    }

    fn strong(key: VerifyingKey) -> Result<Self, KeyError> {
        if key.is_weak() {
            return Err(KeyError::Weak);
        }
        // The point is decoded from other spellings too; one key must not have two ids.
        if key.to_edwards().compress().to_bytes() != key.to_bytes() {
            return Err(KeyError::Public);
        }
        Ok(Self::new(key))
    }

    fn new(key: VerifyingKey) -> Self {
        Self { key, id: KeyId(Sha256Digest::of(&der(&key))) }
    }

    /// Writes SPKI DER.
    pub fn to_der(&self) -> Vec<u8> {
        der(&self.key)
    }

    /// Writes SPKI PEM.
    pub fn to_pem(&self) -> String {
        self.key.to_public_key_pem(LineEnding::LF).unwrap_or_default()
    }

    /// The key's id.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Whether `signature` is this key's over `message`.
    ///
    /// Strict: refuses non-canonical encodings and points of small order, so that no two
    /// implementations disagree about one signature.
    pub fn verifies(&self, message: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        self.key.verify_strict(message, &signature).is_ok()
    }
}

fn der(key: &VerifyingKey) -> Vec<u8> {
    // The structure is fixed, and a key is always 32 bytes: nothing that encoding can refuse.
    key.to_public_key_der().map(|der| der.as_bytes().to_vec()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        let key = SigningKey::generate().unwrap();
        let again = SigningKey::from_pem(&key.to_pem().unwrap()).unwrap();
        assert_eq!(again.public(), key.public());
        let public = PublicKey::from_pem(&key.public().to_pem()).unwrap();
        assert_eq!(public.id(), key.public().id());
        assert_eq!(PublicKey::from_der(&public.to_der()), Ok(public));
    }

    #[test]
    fn a_signature_holds_for_its_message_alone() {
        let key = SigningKey::generate().unwrap();
        let signature = key.sign(b"message");
        assert!(key.public().verifies(b"message", &signature));
        assert!(!key.public().verifies(b"messagf", &signature));
        let other = SigningKey::generate().unwrap();
        assert!(!other.public().verifies(b"message", &signature));
    }

    #[test]
    fn a_weak_key_is_refused() {
        let mut der = SigningKey::generate().unwrap().public().to_der();
        let start = der.len() - 32;
        der[start..].fill(0);
        der[start] = 1;
        assert_eq!(PublicKey::from_der(&der), Err(KeyError::Weak));
    }
}
