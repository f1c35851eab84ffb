//! Envelopes and signatures as cases: `vectors/dsse.json`, made by another implementation, and
//! `vectors/ed25519.json`, where those at the edges of the group are from "Taming the many `EdDSAs`"
//! (Chalkias, Garillot, Nikolaenko; 2020).

use proptest::prelude::*;
use serde::Deserialize;
use skillpkg_schema::Sha256Digest;
use skillpkg_schema::signature::{
    Envelope, EnvelopeError, KeyError, PublicKey, ReleaseError, SigningKey, sign_release,
    verify_release,
};

#[derive(Deserialize)]
struct Golden {
    private_key: String,
    public_key: String,
    key_id: String,
    name: String,
    version: String,
    manifest_sha256: String,
    payload: String,
    pre_authentication_encoding: String,
    envelope: String,
}

#[test]
fn the_golden_envelope_is_written_and_verified_byte_for_byte() {
    let golden: Golden = serde_json::from_str(include_str!("vectors/dsse.json")).unwrap();
    let key = SigningKey::from_pem(&golden.private_key).unwrap();
    assert_eq!(key.to_pem().unwrap(), golden.private_key);
    assert_eq!(key.public().to_pem(), golden.public_key);
    assert_eq!(key.public().id().to_string(), golden.key_id);
    let public = PublicKey::from_pem(&golden.public_key).unwrap();
    assert_eq!(public, key.public());

    let (name, version) = (golden.name.parse().unwrap(), golden.version.parse().unwrap());
    let manifest: Sha256Digest = golden.manifest_sha256.parse().unwrap();
    let envelope = sign_release(&name, &version, manifest, std::slice::from_ref(&key));
    assert_eq!(String::from_utf8(envelope.payload()).unwrap(), golden.payload);
    assert_eq!(String::from_utf8(envelope.to_bytes()).unwrap(), golden.envelope);
    let message = golden.pre_authentication_encoding.as_bytes();
    assert!(public.verifies(message, &key.sign(message)));

    let read = Envelope::from_bytes(golden.envelope.as_bytes()).unwrap();
    let verified = verify_release(&read, &name, &version, &manifest.address(), &[public]);
    assert_eq!(verified, Ok(vec![public.id()]));
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    message: String,
    public_key: String,
    signature: String,
    verifies: bool,
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |byte: u8| u8::try_from(char::from(byte).to_digit(16).unwrap_or_default());
    let pair = |pair: &[u8]| digit(pair[0]).unwrap_or(0) << 4 | digit(pair[1]).unwrap_or(0);
    hex.as_bytes().chunks_exact(2).map(pair).collect()
}

/// The SPKI DER of an Ed25519 public key (RFC 8410) up to the key itself.
const SPKI: &str = "302a300506032b6570032100";

#[test]
fn a_signature_verifies_strictly_or_not_at_all() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("vectors/ed25519.json")).unwrap();
    assert!(cases.iter().any(|case| case.verifies) && cases.iter().any(|case| !case.verifies));
    for Case { name, message, public_key, signature, verifies } in cases {
        let signature = bytes(&signature).try_into().unwrap();
        let key = PublicKey::from_der(&bytes(&format!("{SPKI}{public_key}")));
        let verified = key.is_ok_and(|key| key.verifies(&bytes(&message), &signature));
        assert_eq!(verified, verifies, "{name}");
    }
}

#[test]
fn a_key_in_a_second_spelling_of_its_point_is_no_key() {
    let key = |raw: &str| PublicKey::from_der(&bytes(&format!("{SPKI}{raw}")));
    // y = p + 3, a point of large order, and y = 3, the same point as it must be spelled.
    let second = format!("f0{}7f", "ff".repeat(30));
    let first = format!("03{}", "00".repeat(31));
    assert_eq!(key(&second), Err(KeyError::Public));
    assert!(key(&first).is_ok());
    // y = p + 1 and y = 1: the identity.
    assert!(key(&format!("ee{}7f", "ff".repeat(30))).is_err());
    assert_eq!(key(&format!("01{}", "00".repeat(31))), Err(KeyError::Weak));
}

#[test]
fn der_is_read_in_its_one_form() {
    let key = SigningKey::generate().unwrap().public();
    let der = key.to_der();
    assert_eq!(PublicKey::from_der(&der), Ok(key));
    let mut longer = der.clone();
    longer.push(0);
    assert!(PublicKey::from_der(&longer).is_err());
    assert!(PublicKey::from_der(&der[..der.len() - 1]).is_err());
    for (position, name) in
        [(0, "sequence"), (8, "algorithm"), (9, "bit string"), (11, "unused bits")]
    {
        let mut changed = der.clone();
        changed[position] ^= 1;
        assert!(PublicKey::from_der(&changed).is_err(), "{name}");
    }
}

#[test]
fn each_fault_of_an_envelope_is_told_apart() {
    let key = SigningKey::generate().unwrap();
    let text =
        String::from_utf8(Envelope::sign("t", b"payload", std::slice::from_ref(&key)).to_bytes())
            .unwrap();
    let read = |text: &str| Envelope::from_bytes(text.as_bytes()).unwrap_err();
    let encoded = "\"cGF5bG9hZA==\"";
    assert!(text.contains(encoded));
    for changed in [
        String::new(),
        "[]".to_owned(),
        format!("{text}{text}"),
        format!("\u{feff}{text}"),
        text.replacen('{', "{\"a\":1,", 1),
        text.replacen('{', "{\"payloadType\":\"t\",", 1),
        // Bits behind the last byte, no padding, the other alphabet, a line end: four more
        // spellings of base64, of which none may pass for the one.
        text.replace(encoded, "\"cGF5bG9hZB==\""),
        text.replace(encoded, "\"cGF5bG9hZA\""),
        text.replace(encoded, "\"-_-_\""),
        text.replace(encoded, "\"cGF5\\nbG9hZA==\""),
        text.replace(&key.public().id().to_string(), "00"),
    ] {
        assert!(matches!(read(&changed), EnvelopeError::Shape(_)), "{changed}");
    }
    assert_eq!(read(&format!("{text} ")), EnvelopeError::NotCanonical);
    assert_eq!(read(&text.replace("\"t\"", "\"\\u0074\"")), EnvelopeError::NotCanonical);
    let none = Envelope::sign("t", b"payload", &[]).to_bytes();
    assert_eq!(Envelope::from_bytes(&none), Err(EnvelopeError::Signatures));
    let keys: Vec<SigningKey> = (0..17).map(|_| SigningKey::generate().unwrap()).collect();
    assert!(Envelope::from_bytes(&Envelope::sign("t", b"", &keys[..16]).to_bytes()).is_ok());
    let many = Envelope::sign("t", b"", &keys).to_bytes();
    assert_eq!(Envelope::from_bytes(&many), Err(EnvelopeError::Signatures));
    let long = " ".repeat(64 * 1024 + 1);
    assert_eq!(read(&long), EnvelopeError::TooLong(64 * 1024 + 1));
}

#[test]
fn a_signature_for_anything_else_vouches_for_no_release() {
    let key = SigningKey::generate().unwrap();
    let keys = [key.public()];
    let (name, version) = ("acme/w".parse().unwrap(), "1.2.0".parse().unwrap());
    let digest = Sha256Digest::of(b"manifest");
    let verify = |envelope: &Envelope, keys: &[PublicKey]| {
        verify_release(envelope, &name, &version, &digest.address(), keys).unwrap_err()
    };
    let sign =
        |kind: &str, payload: &[u8]| Envelope::sign(kind, payload, std::slice::from_ref(&key));
    let honest = sign_release(&name, &version, digest, std::slice::from_ref(&key));
    let statement = String::from_utf8(honest.payload()).unwrap();
    let in_toto = "application/vnd.in-toto+json";

    let checkpoint = sign("text/plain", b"log.example\n1\nAAAA\n");
    assert_eq!(verify(&checkpoint, &keys), ReleaseError::PayloadType("text/plain".to_owned()));
    let (first, rest) = statement.split_once("sha256").unwrap();
    for payload in [
        "{}".to_owned(),
        statement.replace("Statement/v1", "Statement/v0.1"),
        statement.replace("release/v0.1", "publish/v0.1"),
        statement.replacen('{', "{\"more\":1,", 1),
        format!("{first}sha512{rest}"),
        statement.replace(
            "\"subject\":[{",
            "\"subject\":[{\"name\":\"a\",\"digest\":{\"sha256\":\"0\"}},{",
        ),
        statement.replace("\"subject\":[", "\"subject\":[],\"other\":["),
    ] {
        let error = verify(&sign(in_toto, payload.as_bytes()), &keys);
        assert!(matches!(error, ReleaseError::Shape(_)), "{payload}: {error}");
    }
    let other = SigningKey::generate().unwrap();
    let error = verify(&honest, &[other.public()]);
    assert_eq!(error, ReleaseError::UnknownKey(vec![key.public().id()]));
    let blake3 = skillpkg_schema::Blake3Digest::of(b"manifest").address();
    assert!(verify_release(&honest, &name, &version, &blake3, &keys).is_err());

    // Two signatures, one of them bad: refused, though the other would do.
    let two = Envelope::sign(in_toto, statement.as_bytes(), &[key.clone(), other.clone()]);
    let both = [key.public(), other.public()];
    assert!(verify_release(&two, &name, &version, &digest.address(), &both).is_ok());
    let text = String::from_utf8(two.to_bytes()).unwrap();
    let signature = text.rsplit("\"sig\":\"").next().unwrap();
    let flipped = if signature.starts_with('A') { "B" } else { "A" };
    let bad = text.replace(signature, &format!("{flipped}{}", &signature[1..]));
    let bad = Envelope::from_bytes(bad.as_bytes()).unwrap();
    assert_eq!(verify(&bad, &both), ReleaseError::BadSignature);
    // The bad one is of a key that nobody asked about: it counts for nothing.
    assert!(verify_release(&bad, &name, &version, &digest.address(), &keys).is_ok());
}

proptest! {
    #[test]
    fn changed_bytes_of_an_envelope_vouch_for_nothing(
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let golden: Golden = serde_json::from_str(include_str!("vectors/dsse.json")).unwrap();
        let mut bytes = golden.envelope.into_bytes();
        let position = at.index(bytes.len());
        let same = bytes[position] == byte;
        bytes[position] = byte;
        let key = PublicKey::from_pem(&golden.public_key).unwrap();
        let address = golden.manifest_sha256.parse::<Sha256Digest>().unwrap().address();
        let (name, version) = (golden.name.parse().unwrap(), golden.version.parse().unwrap());
        let verified = Envelope::from_bytes(&bytes)
            .is_ok_and(|read| verify_release(&read, &name, &version, &address, &[key]).is_ok());
        prop_assert_eq!(verified, same);
    }

    #[test]
    fn no_bytes_make_reading_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in any::<String>()) {
        let _ = Envelope::from_bytes(&bytes);
        let _ = PublicKey::from_der(&bytes);
        let _ = PublicKey::from_pem(&text);
        let _ = SigningKey::from_pem(&text);
        let _ = PublicKey::beside_private(&text);
        let _ = text.parse::<skillpkg_schema::signature::KeyId>();
    }
}
