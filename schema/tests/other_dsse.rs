//! Another implementation of DSSE verifies our envelopes and refuses changed ones, and we verify
//! its: securesystemslib, of The Update Framework and in-toto.
//!
//! `SKILLPKG_TEST_PYTHON` names the interpreter, `python3` if it is not set. Where it has no
//! securesystemslib the test says that it was skipped; with `SKILLPKG_REQUIRE_SERVICES=1` it fails.

mod skips;

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use skillpkg_schema::Sha256Digest;
use skillpkg_schema::signature::{Envelope, SigningKey, sign_release};
use skips::skipped;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/other_dsse.py");
/// The script's exit code where it cannot import what it needs.
const NOT_THERE: i32 = 3;

/// What the script answers; [`None`] where there is no interpreter.
fn run(input: &str) -> Option<Output> {
    let python = std::env::var("SKILLPKG_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut child = Command::new(python)
        .args(["-I", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    // Where the script has ended early, its exit code says so.
    let _ = child.stdin.take()?.write_all(input.as_bytes());
    child.wait_with_output().ok()
}

#[test]
fn another_implementation_verifies_our_envelope_and_we_verify_its() {
    let key = SigningKey::generate().unwrap();
    let digest = Sha256Digest::of(b"manifest");
    let (name, version) = ("acme/waitlist".parse().unwrap(), "1.2.0".parse().unwrap());
    let envelope = sign_release(&name, &version, digest, std::slice::from_ref(&key));
    let input = serde_json::json!({
        "envelope": String::from_utf8(envelope.to_bytes()).unwrap(),
        "public_key": key.public().to_pem(),
        "private_key": key.to_pem().unwrap(),
        "key_id": key.public().id().to_string(),
    });
    let output = run(&input.to_string());
    let Some(output) = output.filter(|output| output.status.code() != Some(NOT_THERE)) else {
        let test = "another_implementation_verifies_our_envelope_and_we_verify_its";
        return skipped(test, "python3 with securesystemslib", true);
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let theirs = Envelope::from_bytes(&output.stdout).unwrap();
    assert_eq!(theirs.payload(), br#"{"theirs":true}"#);
    assert_eq!(theirs.verified_by(&[key.public()]), Some(vec![key.public().id()]));
}
