//! The statement that shows that an account holds a key: this account, at this registry, has it.
//!
//! A DSSE envelope of a payload type of its own, so that no signature over a release, a checkpoint or
//! anything else passes for it, and it for none of them.

use serde::{Deserialize, Serialize};

use super::envelope::Envelope;
use super::key::{KeyId, PublicKey, SigningKey};
use crate::diagnostic::escape;

/// The envelope's payload type.
pub const KEY_PROOF_PAYLOAD_TYPE: &str = "application/vnd.skillpkg.key-proof+json";
/// The statement's `schema`.
pub const KEY_PROOF_SCHEMA: &str = "skillpkg.key-proof/1";

/// Why an envelope does not show that an account holds a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyProofError {
    /// A signature made for something else.
    #[error("the signature is over a `{}`, not over a proof that a key is held", escape(.0))]
    PayloadType(String),
    /// Not exactly one signature, of the key itself.
    #[error("a proof is signed once, with the key {0} that it is about")]
    Signer(KeyId),
    /// The signature does not verify.
    #[error("the proof's signature does not verify: the proof or the signature was changed")]
    BadSignature,
    /// The payload is not such a statement in canonical form.
    #[error("the signed statement does not have the shape of a proof: {0}")]
    Shape(String),
    /// It is about another key.
    #[error("the proof is about the key {signed}, not about {key}")]
    OtherKey {
        /// The key that it is about.
        signed: KeyId,
        /// The key that was asked about.
        key: KeyId,
    },
    /// It was made for another account.
    #[error(
        "the proof was made for the account `{}`, not for `{}`",
        escape(signed),
        escape(account)
    )]
    OtherAccount {
        /// The account that it was made for.
        signed: String,
        /// The account that was asked about.
        account: String,
    },
    /// It was made for another registry.
    #[error(
        "the proof was made for the registry `{}`, not for `{}`",
        escape(signed),
        escape(registry)
    )]
    OtherRegistry {
        /// The registry that it was made for.
        signed: String,
        /// The registry that was asked about.
        registry: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    account: String,
    key: KeyId,
    registry: String,
    schema: String,
}

fn payload(statement: &Statement) -> Vec<u8> {
    // Texts alone: nothing in it that serialisation can refuse.
    serde_json_canonicalizer::to_vec(statement).unwrap_or_default()
}

/// Signs with `key` that `account` at the registry of the identity `registry` holds it.
pub fn prove_key(account: &str, registry: &str, key: &SigningKey) -> Envelope {
    let statement = Statement {
        account: account.to_owned(),
        key: key.public().id(),
        registry: registry.to_owned(),
        schema: KEY_PROOF_SCHEMA.to_owned(),
    };
    Envelope::sign(KEY_PROOF_PAYLOAD_TYPE, &payload(&statement), std::slice::from_ref(key))
}

/// Whether `envelope` shows that `account` at the registry of the identity `registry` holds `key`.
///
/// The key itself has signed, alone, a statement that names exactly this key, account and registry,
/// in canonical form: a proof for another account or another registry shows nothing here.
pub fn verify_key_proof(
    envelope: &Envelope,
    account: &str,
    registry: &str,
    key: &PublicKey,
) -> Result<(), KeyProofError> {
    if envelope.payload_type() != KEY_PROOF_PAYLOAD_TYPE {
        return Err(KeyProofError::PayloadType(envelope.payload_type().to_owned()));
    }
    if !envelope.key_ids().eq([key.id()]) {
        return Err(KeyProofError::Signer(key.id()));
    }
    if envelope.verified_by(std::slice::from_ref(key)) != Some(vec![key.id()]) {
        return Err(KeyProofError::BadSignature);
    }
    let bytes = envelope.payload();
    let statement: Statement = serde_json::from_slice(&bytes)
        .map_err(|error| KeyProofError::Shape(escape(&error.to_string())))?;
    if statement.schema != KEY_PROOF_SCHEMA {
        let reason = format!("it is a `{}`", escape(&statement.schema));
        return Err(KeyProofError::Shape(reason));
    }
    if payload(&statement) != bytes {
        return Err(KeyProofError::Shape("it is not in canonical form (RFC 8785)".to_owned()));
    }
    let Statement { account: signed, key: signed_key, registry: signed_registry, .. } = statement;
    if signed_key != key.id() {
        return Err(KeyProofError::OtherKey { signed: signed_key, key: key.id() });
    }
    if signed != account {
        return Err(KeyProofError::OtherAccount { signed, account: account.to_owned() });
    }
    if signed_registry != registry {
        let registry = registry.to_owned();
        return Err(KeyProofError::OtherRegistry { signed: signed_registry, registry });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_holds_for_its_key_account_and_registry_alone() {
        let (key, other) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
        let public = key.public();
        let proof = prove_key("ana", "skillpkg/1", &key);
        let verify = |account: &str, registry: &str, key: &PublicKey| {
            verify_key_proof(&proof, account, registry, key)
        };
        assert_eq!(verify("ana", "skillpkg/1", &public), Ok(()));
        let error = verify("ben", "skillpkg/1", &public);
        assert!(matches!(error, Err(KeyProofError::OtherAccount { .. })), "{error:?}");
        let error = verify("ana", "skillpkg/2", &public);
        assert!(matches!(error, Err(KeyProofError::OtherRegistry { .. })), "{error:?}");
        let error = verify("ana", "skillpkg/1", &other.public());
        assert_eq!(error, Err(KeyProofError::Signer(other.public().id())));
    }

    #[test]
    fn what_is_no_proof_in_its_one_form_is_refused() {
        let (key, other) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
        let public = key.public();
        let verify = |envelope: &Envelope| verify_key_proof(envelope, "ana", "r", &public);
        let honest = prove_key("ana", "r", &key);
        let statement = String::from_utf8(honest.payload()).unwrap();
        let sign = |text: &str, keys: &[SigningKey]| {
            Envelope::sign(KEY_PROOF_PAYLOAD_TYPE, text.as_bytes(), keys)
        };
        let alone = std::slice::from_ref(&key);
        for changed in [
            "{}".to_owned(),
            "[]".to_owned(),
            format!(" {statement}"),
            statement.replacen('{', "{\"more\":1,", 1),
            statement.replacen('{', "{\"account\":\"ana\",", 1),
            statement.replace("key-proof/1", "key-proof/2"),
            statement.replace("\"ana\"", "\"\\u0061na\""),
        ] {
            let error = verify(&sign(&changed, alone));
            assert!(matches!(error, Err(KeyProofError::Shape(_))), "{changed}: {error:?}");
        }
        // About another key than the one that signs.
        let about_other = prove_key("ana", "r", &other).payload();
        let about_other = String::from_utf8(about_other).unwrap();
        let error = verify(&sign(&about_other, alone));
        assert!(matches!(error, Err(KeyProofError::OtherKey { .. })), "{error:?}");
        // Signed by another beside it, or by another alone.
        let both = [key.clone(), other.clone()];
        for keys in [&both[..], std::slice::from_ref(&other)] {
            assert_eq!(verify(&sign(&statement, keys)), Err(KeyProofError::Signer(public.id())));
        }
        let text = String::from_utf8(honest.to_bytes()).unwrap();
        let signature = text.rsplit("\"sig\":\"").next().unwrap();
        let flipped = if signature.starts_with('A') { "B" } else { "A" };
        let bad = text.replace(signature, &format!("{flipped}{}", &signature[1..]));
        let bad = Envelope::from_bytes(bad.as_bytes()).unwrap();
        assert_eq!(verify(&bad), Err(KeyProofError::BadSignature));
    }
}
