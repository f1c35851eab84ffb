//! DSSE envelopes (secure-systems-lab/dsse, protocol and envelope 1.0.2).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::key::{KeyId, PublicKey, SIGNATURE_BYTES, SigningKey};
use crate::diagnostic::escape;
use crate::limits::MAX_ENVELOPE_BYTES;

/// Most signatures of one envelope.
pub const MAX_SIGNATURES: usize = 16;

/// Bytes that are no envelope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// Longer than [`MAX_ENVELOPE_BYTES`].
    #[error("the signature envelope is {0} bytes long; the most is {MAX_ENVELOPE_BYTES}")]
    TooLong(usize),
    /// Not JSON of an envelope's shape.
    #[error("the signature envelope does not have the shape of one: {0}")]
    Shape(String),
    /// Not in canonical form, so not as it was signed.
    #[error("the signature envelope is not in canonical form (RFC 8785)")]
    NotCanonical,
    /// No signature, more than 16, or two of one key.
    #[error(
        "the signature envelope must hold 1 to {MAX_SIGNATURES} signatures, each of another key"
    )]
    Signatures,
}

/// One signature of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvelopeSignature {
    /// The id of the key.
    pub keyid: KeyId,
    /// The signature, in base64.
    pub sig: String,
}

/// A payload with its type and the signatures over both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Envelope {
    payload_type: String,
    payload: String,
    signatures: Vec<EnvelopeSignature>,
}

impl Envelope {
    /// Signs `payload` with each of `keys`.
    pub fn sign(payload_type: &str, payload: &[u8], keys: &[SigningKey]) -> Self {
        let message = pre_authentication_encoding(payload_type, payload);
        let signatures = keys
            .iter()
            .map(|key| EnvelopeSignature {
                keyid: key.public().id(),
                sig: STANDARD.encode(key.sign(&message)),
            })
            .collect();
        let payload = STANDARD.encode(payload);
        Self { payload_type: payload_type.to_owned(), payload, signatures }
    }

    /// With a signature of one more key; an earlier one of the same key goes.
    #[must_use]
    pub fn also_signed(mut self, key: &SigningKey) -> Self {
        let signed = Self::sign(&self.payload_type, &self.payload(), std::slice::from_ref(key));
        self.signatures.retain(|one| one.keyid != key.public().id());
        self.signatures.extend(signed.signatures);
        self
    }

    /// Reads canonical bytes, and nothing else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        if bytes.len() > MAX_ENVELOPE_BYTES {
            return Err(EnvelopeError::TooLong(bytes.len()));
        }
        let shape = |error: String| EnvelopeError::Shape(escape(&error));
        let envelope: Self =
            serde_json::from_slice(bytes).map_err(|error| shape(error.to_string()))?;
        STANDARD.decode(&envelope.payload).map_err(|error| shape(error.to_string()))?;
        let mut keys: Vec<KeyId> = envelope.signatures.iter().map(|one| one.keyid).collect();
        keys.sort_unstable();
        keys.dedup();
        if keys.len() != envelope.signatures.len() || !(1..=MAX_SIGNATURES).contains(&keys.len()) {
            return Err(EnvelopeError::Signatures);
        }
        if envelope.to_bytes() != bytes {
            return Err(EnvelopeError::NotCanonical);
        }
        Ok(envelope)
    }

    /// The canonical bytes, RFC 8785.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Three texts and a list of texts: nothing in it that serialisation can refuse.
        serde_json_canonicalizer::to_vec(self).unwrap_or_default()
    }

    /// What the payload is.
    pub fn payload_type(&self) -> &str {
        &self.payload_type
    }

    /// The payload, unverified: see [`Envelope::verified_by`].
    pub fn payload(&self) -> Vec<u8> {
        STANDARD.decode(&self.payload).unwrap_or_default()
    }

    /// The ids of the keys that are said to have signed.
    pub fn key_ids(&self) -> impl Iterator<Item = KeyId> {
        self.signatures.iter().map(|one| one.keyid)
    }

    /// Those of `keys` whose signature in this envelope verifies.
    ///
    /// A signature of a key that is not among `keys` counts for nothing; one of a key that is and
    /// that does not verify refuses the whole: [`None`].
    pub fn verified_by(&self, keys: &[PublicKey]) -> Option<Vec<KeyId>> {
        let message = pre_authentication_encoding(&self.payload_type, &self.payload());
        let mut verified = Vec::new();
        for one in &self.signatures {
            let Some(key) = keys.iter().find(|key| key.id() == one.keyid) else { continue };
            let signature = STANDARD.decode(&one.sig).ok()?;
            let signature: [u8; SIGNATURE_BYTES] = signature.try_into().ok()?;
            if !key.verifies(&message, &signature) {
                return None;
            }
            verified.push(one.keyid);
        }
        Some(verified)
    }
}

/// What is signed: `DSSEv1`, the type and the payload, each behind its length.
fn pre_authentication_encoding(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut message =
        format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    message.extend_from_slice(payload);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_that_of_the_protocol() {
        let encoded = pre_authentication_encoding("http://example.com/HelloWorld", b"hello world");
        assert_eq!(encoded, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }

    #[test]
    fn an_envelope_is_read_as_it_is_written_and_no_other_way() {
        let key = SigningKey::generate().unwrap();
        let envelope = Envelope::sign("t", b"payload", std::slice::from_ref(&key));
        let bytes = envelope.to_bytes();
        assert_eq!(Envelope::from_bytes(&bytes), Ok(envelope.clone()));
        let spaced = [b" ".as_slice(), &bytes].concat();
        assert_eq!(Envelope::from_bytes(&spaced), Err(EnvelopeError::NotCanonical));
        let twice = Envelope {
            signatures: [envelope.signatures.clone(), envelope.signatures.clone()].concat(),
            ..envelope
        };
        assert_eq!(Envelope::from_bytes(&twice.to_bytes()), Err(EnvelopeError::Signatures));
    }

    #[test]
    fn a_changed_payload_or_type_verifies_under_no_key() {
        let key = SigningKey::generate().unwrap();
        let keys = [key.public()];
        let envelope = Envelope::sign("t", b"payload", &[key]);
        assert_eq!(envelope.verified_by(&keys), Some(vec![keys[0].id()]));
        let changed = Envelope { payload_type: "u".to_owned(), ..envelope.clone() };
        assert_eq!(changed.verified_by(&keys), None);
        let changed = Envelope { payload: STANDARD.encode("paxload"), ..envelope };
        assert_eq!(changed.verified_by(&keys), None);
    }
}
