//! Envelopes that are none, and good ones over something else.

use std::io;

use skillpkg_schema::signature::{Envelope, SigningKey, sign_release};
use skillpkg_schema::{Manifest, Sha256Digest};

use super::paths::replaced;
use super::sample::{SIGNING_KEY, sign_bytes};
use super::tar::Entries;
use super::{Corpus, Sample};

/// Another private key that everybody knows: the second of RFC 8032, section 7.1.
const OTHER_KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNauqYkmpytXwCxCm
-----END PRIVATE KEY-----
";

pub(super) fn add(corpus: &mut Corpus) -> io::Result<()> {
    let Sample { manifest, envelope, .. } = corpus.sample.clone();
    let honest = envelope.to_bytes();
    let with = |wanted: &str, with: &str| replaced(&honest, wanted.as_bytes(), with.as_bytes());
    let many: Vec<SigningKey> = (0..17_u8).map(seeded).collect::<io::Result<_>>()?;
    let unsigned = Envelope::sign(envelope.payload_type(), &envelope.payload(), &[]);
    let crowd = Envelope::sign(envelope.payload_type(), &envelope.payload(), &many);
    let key = key(SIGNING_KEY)?;
    let twice =
        Envelope::sign(envelope.payload_type(), &envelope.payload(), &[key.clone(), key.clone()]);
    for (name, bytes) in [
        ("envelope/empty", Vec::new()),
        ("envelope/object", b"{}".to_vec()),
        ("envelope/spaces", with("\":\"", "\": \"")),
        ("envelope/byte-order-mark", [b"\xef\xbb\xbf", honest.as_slice()].concat()),
        ("envelope/duplicate-key", with("{\"payload\"", "{\"payload\":\"\",\"payload\"")),
        ("envelope/unknown-field", with("{\"payload\"", "{\"a\":1,\"payload\"")),
        ("envelope/payload", with("\"payload\":\"", "\"payload\":\"*")),
        ("envelope/none", unsigned.to_bytes()),
        ("envelope/seventeen", crowd.to_bytes()),
        ("envelope/one-key-twice", twice.to_bytes()),
        ("envelope/long", vec![b' '; 64 * 1024 + 1]),
    ] {
        let entries = Entries::with(&corpus.sample, &manifest.to_bytes(), &bytes)?;
        corpus.stream_of(name, &entries)?;
    }

    let over = |manifest: &Manifest, key: &SigningKey| {
        let digest = Sha256Digest::of(&manifest.to_bytes());
        sign_release(&manifest.name, &manifest.version, digest, std::slice::from_ref(key))
    };
    let name = "acme/other".parse().map_err(io::Error::other)?;
    let version = "1.0.1".parse().map_err(io::Error::other)?;
    let digest = Sha256Digest::of(&manifest.to_bytes());
    for (name, envelope) in [
        ("signature/other-key", over(&manifest, &self::key(OTHER_KEY)?)),
        (
            "signature/other-snapshot",
            sign_bytes(&manifest, b"another manifest").map_err(io::Error::other)?,
        ),
        (
            "signature/other-name",
            sign_release(&name, &manifest.version, digest, std::slice::from_ref(&key)),
        ),
        (
            "signature/other-version",
            sign_release(&manifest.name, &version, digest, std::slice::from_ref(&key)),
        ),
        (
            "signature/other-type",
            Envelope::sign("application/octet-stream", &envelope.payload(), &[key]),
        ),
        ("signature/changed", {
            // Over a type that is then changed back: what DSSE signs beside the payload.
            let bytes = replaced(&honest, b"\"sig\":\"", b"\"sig\":\"AAAA");
            let cut = bytes.len() - 4 - "==\"}]}".len();
            let bytes = [&bytes[..cut], b"==\"}]}"].concat();
            Envelope::from_bytes(&bytes).map_err(io::Error::other)?
        }),
    ] {
        let entries = Entries::with(&corpus.sample, &manifest.to_bytes(), &envelope.to_bytes())?;
        corpus.stream_of(name, &entries)?;
    }
    Ok(())
}

fn key(pem: &str) -> io::Result<SigningKey> {
    SigningKey::from_pem(pem).map_err(io::Error::other)
}

/// A key made of one byte.
fn seeded(seed: u8) -> io::Result<SigningKey> {
    // The last 43 characters of the base64 are the 32 bytes of the key, so a change in their midst
    // is another key.
    let letter = char::from(b'A' + seed);
    key(&SIGNING_KEY.replacen("IJ1hsZ3v", &format!("IJ1hsZ3{letter}"), 1))
}
