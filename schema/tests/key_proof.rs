//! Proofs that a key is held: `vectors/key-proof.json`, made by another implementation, and what
//! passes for none.

#![expect(clippy::unwrap_used, reason = "a vector that cannot be read ends the test")]

use proptest::prelude::*;
use serde::Deserialize;
use skillpkg_schema::Sha256Digest;
use skillpkg_schema::signature::key_proof::{
    KEY_PROOF_PAYLOAD_TYPE, KeyProofError, prove_key, verify_key_proof,
};
use skillpkg_schema::signature::{
    Envelope, ReleaseError, SigningKey, sign_release, verify_release,
};

#[derive(Deserialize)]
struct Golden {
    private_key: String,
    key_id: String,
    account: String,
    registry: String,
    payload: String,
    pre_authentication_encoding: String,
    envelope: String,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("vectors/key-proof.json")).unwrap()
}

#[test]
fn the_golden_proof_is_written_and_verified_byte_for_byte() {
    let golden = golden();
    let key = SigningKey::from_pem(&golden.private_key).unwrap();
    assert_eq!(key.public().id().to_string(), golden.key_id);
    let proof = prove_key(&golden.account, &golden.registry, &key);
    assert_eq!(String::from_utf8(proof.payload()).unwrap(), golden.payload);
    assert_eq!(String::from_utf8(proof.to_bytes()).unwrap(), golden.envelope);
    let message = golden.pre_authentication_encoding.as_bytes();
    let read = Envelope::from_bytes(golden.envelope.as_bytes()).unwrap();
    assert!(golden.envelope.contains(KEY_PROOF_PAYLOAD_TYPE));
    assert!(key.public().verifies(message, &key.sign(message)));
    let verified = verify_key_proof(&read, &golden.account, &golden.registry, &key.public());
    assert_eq!(verified, Ok(()));
}

#[test]
fn a_release_is_no_key_proof_and_a_key_proof_no_release() {
    let key = SigningKey::generate().unwrap();
    let keys = [key.public()];
    let (name, version) = ("ana".parse().unwrap(), "1.0.0".parse().unwrap());
    let digest = Sha256Digest::of(b"manifest");
    let release = sign_release(&name, &version, digest, std::slice::from_ref(&key));
    let proof = prove_key("ana", "skillpkg/1", &key);
    let taken = verify_key_proof(&release, "ana", "skillpkg/1", &keys[0]);
    assert!(matches!(taken, Err(KeyProofError::PayloadType(_))), "{taken:?}");
    let taken = verify_release(&proof, &name, &version, &digest.address(), &keys);
    assert!(matches!(taken, Err(ReleaseError::PayloadType(_))), "{taken:?}");

    // Nor where somebody writes the other's type over the payload: the type is signed too.
    let relabelled = |envelope: &Envelope, kind: &str| {
        let text = String::from_utf8(envelope.to_bytes()).unwrap();
        let text = text.replace(envelope.payload_type(), kind);
        Envelope::from_bytes(text.as_bytes()).unwrap()
    };
    let release_as_proof = relabelled(&release, KEY_PROOF_PAYLOAD_TYPE);
    let taken = verify_key_proof(&release_as_proof, "ana", "skillpkg/1", &keys[0]);
    assert_eq!(taken, Err(KeyProofError::BadSignature));
    let proof_as_release = relabelled(&proof, release.payload_type());
    let taken = verify_release(&proof_as_release, &name, &version, &digest.address(), &keys);
    assert_eq!(taken, Err(ReleaseError::BadSignature));
    // A checkpoint is signed over a text that starts with an origin, never over this encoding.
    assert!(golden().pre_authentication_encoding.starts_with("DSSEv1 "));
}

proptest! {
    #[test]
    fn changed_bytes_of_a_proof_show_nothing(
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let golden = golden();
        let key = SigningKey::from_pem(&golden.private_key).unwrap().public();
        let mut bytes = golden.envelope.into_bytes();
        let position = at.index(bytes.len());
        let same = bytes[position] == byte;
        bytes[position] = byte;
        let verified = Envelope::from_bytes(&bytes).is_ok_and(|read| {
            verify_key_proof(&read, &golden.account, &golden.registry, &key).is_ok()
        });
        prop_assert_eq!(verified, same);
    }

    #[test]
    fn every_account_and_registry_is_proven_as_written(account in ".*", registry in ".*") {
        let key = SigningKey::from_pem(&golden().private_key).unwrap();
        let proof = prove_key(&account, &registry, &key);
        let read = Envelope::from_bytes(&proof.to_bytes()).unwrap();
        prop_assert_eq!(verify_key_proof(&read, &account, &registry, &key.public()), Ok(()));
    }
}
