//! Keys behind a passphrase: `vectors/locked-keys.json`, made by OpenSSL 3, and OpenSSL itself.
//!
//! Where there is no `openssl` the test that runs it says that it was skipped; with
//! `SKILLPKG_REQUIRE_SERVICES=1` it fails.

mod skips;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde::Deserialize;
use skillpkg_schema::signature::{KeyError, Passphrase, PublicKey, SigningKey};
use skips::skipped;

#[derive(Deserialize)]
struct Vectors {
    private_key: String,
    passphrase: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    answer: String,
    pem: String,
}

#[expect(clippy::unwrap_used, reason = "a helper that cannot do its part ends the test")]
fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(text.to_owned()).unwrap()
}

#[test]
fn keys_that_openssl_locked_are_opened_or_refused_as_what_they_are() {
    let vectors: Vectors = serde_json::from_str(include_str!("vectors/locked-keys.json")).unwrap();
    let key = SigningKey::from_pem(&vectors.private_key).unwrap().public();
    let (right, wrong) = (passphrase(&vectors.passphrase), passphrase("another"));
    for Case { name, answer, pem } in vectors.cases {
        assert_eq!(SigningKey::from_pem(&pem).unwrap_err(), KeyError::Encrypted, "{name}");
        let opened = SigningKey::from_encrypted_pem(&pem, &right).map(|key| key.public());
        let (expected, otherwise) = match answer.as_str() {
            "opened" => (Ok(key), KeyError::WrongPassphrase),
            "encryption unknown" => (Err(KeyError::EncryptionUnknown), KeyError::EncryptionUnknown),
            "not ed25519" => (Err(KeyError::Private), KeyError::WrongPassphrase),
            other => panic!("{other}"),
        };
        assert_eq!(opened, expected, "{name}");
        let refused = SigningKey::from_encrypted_pem(&pem, &wrong).unwrap_err();
        assert_eq!(refused, otherwise, "{name}");
    }
}

fn openssl(directory: &Path, arguments: &[&str]) -> Option<Output> {
    Command::new("openssl").args(arguments).current_dir(directory).output().ok()
}

#[test]
fn openssl_opens_what_is_locked_here_and_the_public_key_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let (key, secret) = (SigningKey::generate().unwrap(), "ş✓ horse");
    let pem = key.to_encrypted_pem(&passphrase(secret)).unwrap();
    assert!(pem.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"), "{pem}");
    let file = format!("{pem}{}", key.public().to_pem());
    assert_eq!(PublicKey::beside_private(&file), Ok(Some(key.public())));
    let again = SigningKey::from_encrypted_pem(&file, &passphrase(secret)).unwrap();
    assert_eq!(again.public(), key.public());
    fs::write(directory.path().join("key.pem"), &file).unwrap();
    fs::write(directory.path().join("passphrase"), secret).unwrap();
    let from_file = |more: &[&str]| {
        let arguments = [&["pkey", "-in", "key.pem"], more].concat();
        openssl(directory.path(), &arguments)
    };
    let Some(opened) = from_file(&["-passin", "file:passphrase"]) else {
        let test = "openssl_opens_what_is_locked_here_and_the_public_key_beside_it";
        return skipped(test, "openssl", true);
    };
    let told = String::from_utf8_lossy(&opened.stderr);
    assert_eq!(String::from_utf8_lossy(&opened.stdout), key.to_pem().unwrap(), "{told}");
    let public = from_file(&["-pubin", "-pubout"]).unwrap().stdout;
    assert_eq!(String::from_utf8_lossy(&public), key.public().to_pem());
    assert!(!from_file(&["-passin", "pass:another"]).unwrap().status.success());

    // The other way round, as its own defaults are.
    fs::write(directory.path().join("open.pem"), key.to_pem().unwrap()).unwrap();
    for how in [&["-v2", "aes-256-cbc"][..], &["-scrypt"]] {
        let lock = ["pkcs8", "-topk8", "-in", "open.pem", "-passout", "file:passphrase"];
        let locked = openssl(directory.path(), &[&lock, how].concat()).unwrap();
        let locked = String::from_utf8(locked.stdout).unwrap();
        let opened = SigningKey::from_encrypted_pem(&locked, &passphrase(secret)).unwrap();
        assert_eq!(opened.public(), key.public(), "{how:?}");
    }
}
