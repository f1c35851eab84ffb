//! The statement that a publisher signs: this name and version is the snapshot at this address.
//!
//! An in-toto Statement v1 with the release predicate of in-toto's attestation framework.

use serde::{Deserialize, Serialize};

use super::envelope::Envelope;
use super::key::{KeyId, PublicKey, SigningKey};
use crate::address::{Algorithm, ContentAddress, Sha256Digest};
use crate::diagnostic::escape;
use crate::name::QualifiedName;
use crate::version::Version;

/// The statement's `_type`.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// The statement's `predicateType`.
pub const RELEASE_PREDICATE: &str = "https://in-toto.io/attestation/release/v0.1";
/// The envelope's payload type.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// Why an envelope does not vouch for a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    /// The payload is not an in-toto statement: a signature made for something else.
    #[error("the signature is over a `{}`, not over a release statement", escape(.0))]
    PayloadType(String),
    /// The payload is no release statement of one subject.
    #[error("the signed statement does not have the shape of a release: {0}")]
    Shape(String),
    /// It vouches for another name, version or snapshot.
    #[error("the signature vouches for `{}` at {signed_digest}, not for `{subject}` at {digest}", escape(.signed_subject))]
    OtherSubject {
        /// What it vouches for.
        signed_subject: String,
        /// The snapshot it vouches for.
        signed_digest: Sha256Digest,
        /// What was asked for.
        subject: String,
        /// The snapshot that was asked for.
        digest: Sha256Digest,
    },
    /// A signature of a known key does not verify.
    #[error("a signature does not verify: the statement or the signature was changed")]
    BadSignature,
    /// No signature is of a known key.
    #[error("no signature is of a known key; it is signed with {}", list(.0))]
    UnknownKey(Vec<KeyId>),
}

fn list(keys: &[KeyId]) -> String {
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<Subject>,
    predicate_type: String,
    predicate: Release,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    name: String,
    digest: SubjectDigest,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectDigest {
    sha256: Sha256Digest,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Release {
    purl: String,
}

fn subject_of(name: &QualifiedName, version: &Version) -> String {
    format!("{name}@{version}")
}

/// Signs that `name` at `version` is the snapshot whose manifest has the digest `manifest`.
pub fn sign_release(
    name: &QualifiedName,
    version: &Version,
    manifest: Sha256Digest,
    keys: &[SigningKey],
) -> Envelope {
    let subject = subject_of(name, version);
    let statement = Statement {
        kind: STATEMENT_TYPE.to_owned(),
        predicate: Release { purl: format!("pkg:generic/{subject}") },
        subject: vec![Subject { name: subject, digest: SubjectDigest { sha256: manifest } }],
        predicate_type: RELEASE_PREDICATE.to_owned(),
    };
    // Texts alone: nothing in it that serialisation can refuse.
    let payload = serde_json_canonicalizer::to_vec(&statement).unwrap_or_default();
    Envelope::sign(PAYLOAD_TYPE, &payload, keys)
}

/// Which of `keys` vouch that `name` at `version` is the snapshot at `address`.
///
/// `address` is a SHA-256 address. At least one of `keys` has signed; a signature of one of them
/// that does not verify refuses the whole, and the statement is compared with what was asked for,
/// so that a signature for one version cannot stand in for another.
pub fn verify_release(
    envelope: &Envelope,
    name: &QualifiedName,
    version: &Version,
    address: &ContentAddress,
    keys: &[PublicKey],
) -> Result<Vec<KeyId>, ReleaseError> {
    if envelope.payload_type() != PAYLOAD_TYPE {
        return Err(ReleaseError::PayloadType(envelope.payload_type().to_owned()));
    }
    let shape = |reason: String| ReleaseError::Shape(escape(&reason));
    let verified = envelope.verified_by(keys).ok_or(ReleaseError::BadSignature)?;
    if verified.is_empty() {
        return Err(ReleaseError::UnknownKey(envelope.key_ids().collect()));
    }
    let statement: Statement =
        serde_json::from_slice(&envelope.payload()).map_err(|error| shape(error.to_string()))?;
    if statement.kind != STATEMENT_TYPE || statement.predicate_type != RELEASE_PREDICATE {
        return Err(shape(format!("it is a `{}`", statement.predicate_type)));
    }
    let [signed] = statement.subject.as_slice() else {
        return Err(shape(format!("{} subjects", statement.subject.len())));
    };
    if address.algorithm() != Algorithm::Sha256 {
        return Err(shape(format!("a statement names SHA-256 addresses, not {address}")));
    }
    let digest = Sha256Digest::from_bytes(*address.digest());
    let subject = subject_of(name, version);
    if signed.name != subject || signed.digest.sha256 != digest {
        return Err(ReleaseError::OtherSubject {
            signed_subject: signed.name.clone(),
            signed_digest: signed.digest.sha256,
            subject,
            digest,
        });
    }
    Ok(verified)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_vouches_for_one_version_of_one_name() {
        let key = SigningKey::generate().unwrap();
        let keys = [key.public()];
        let (name, version) = ("acme/w".parse().unwrap(), "1.2.0".parse().unwrap());
        let digest = Sha256Digest::of(b"manifest");
        let envelope = sign_release(&name, &version, digest, &[key]);
        let address = digest.address();
        assert!(verify_release(&envelope, &name, &version, &address, &keys).is_ok());
        let other = SigningKey::generate().unwrap().public();
        for (name, version, address, keys, what) in [
            (&"w".parse().unwrap(), &version, &address, &keys, "another name"),
            (&name, &"1.2.1".parse().unwrap(), &address, &keys, "another version"),
            (&name, &version, &Sha256Digest::of(b"x").address(), &keys, "another snapshot"),
            (&name, &version, &address, &[other], "another key"),
        ] {
            let answer = verify_release(&envelope, name, version, address, keys);
            assert!(answer.is_err(), "{what} was vouched for");
        }
    }
}
