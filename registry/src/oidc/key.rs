//! An issuer's public keys: a set of JSON Web Keys (RFC 7517), of the kinds that identities are signed
//! with.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;

use super::jws::MAX_KID_BYTES;

/// Most keys of a set.
const MAX_KEYS: usize = 64;

/// A public key, and with it the one algorithm that it verifies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    /// `RS256`: modulus and exponent.
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    /// `ES256`: the point, not compressed.
    P256(Vec<u8>),
    /// `EdDSA`, over Ed25519.
    Ed25519(Vec<u8>),
}

impl Key {
    /// The algorithm as headers name it.
    pub(super) fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa { .. } => "RS256",
            Self::P256(_) => "ES256",
            Self::Ed25519(_) => "EdDSA",
        }
    }

    /// Whether it made this signature over these bytes.
    pub(super) fn verifies(&self, signed: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Rsa { modulus, exponent } => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature)
            }
            Self::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature)
            }
            Self::Ed25519(point) => {
                UnparsedPublicKey::new(&ED25519, point).verify(signed, signature)
            }
        }
        .is_ok()
    }
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<serde_json::Value>,
}

/// A key as it is written; what is not named here is not looked at.
#[derive(Deserialize)]
struct Written {
    kty: String,
    kid: String,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// The keys of a set by their ids. Those of other kinds and for other purposes are passed over; an id
/// that two have is none's: nothing would say which of the two is meant.
pub(super) fn read_set(bytes: &[u8]) -> Result<BTreeMap<String, Key>, String> {
    let set: Set = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if set.keys.len() > MAX_KEYS {
        return Err(format!("it holds {} keys; {MAX_KEYS} are read", set.keys.len()));
    }
    let mut keys: BTreeMap<String, Option<Key>> = BTreeMap::new();
    for written in set.keys {
        let Ok(written) = serde_json::from_value::<Written>(written) else { continue };
        if (1..=MAX_KID_BYTES).contains(&written.kid.len()) {
            let kid = written.kid.clone();
            let key = key(&written);
            keys.entry(kid).and_modify(|known| *known = None).or_insert(key);
        }
    }
    Ok(keys.into_iter().filter_map(|(kid, key)| Some((kid, key?))).collect())
}

fn key(written: &Written) -> Option<Key> {
    if written.purpose.as_ref().is_some_and(|purpose| purpose != "sig") {
        return None;
    }
    if written.key_ops.as_ref().is_some_and(|all| all.iter().all(|one| one != "verify")) {
        return None;
    }
    let bytes = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_ref()?).ok();
    let coordinate = |text| bytes(text).filter(|bytes| bytes.len() == 32);
    let key = match (written.kty.as_str(), written.crv.as_deref()) {
        ("RSA", None) => {
            let (modulus, exponent) = (bytes(&written.n)?, bytes(&written.e)?);
            // RFC 8017 bounds neither; what is longer is nobody's, and slow.
            if modulus.len() > 1_024 || exponent.len() > 8 {
                return None;
            }
            Key::Rsa { modulus, exponent }
        }
        ("EC", Some("P-256")) => {
            let (x, y) = (coordinate(&written.x)?, coordinate(&written.y)?);
            Key::P256([vec![4], x, y].concat())
        }
        ("OKP", Some("Ed25519")) => Key::Ed25519(coordinate(&written.x)?),
        _ => return None,
    };
    let fits = written.alg.as_ref().is_none_or(|said| said == key.algorithm());
    fits.then_some(key)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The keys and signatures of RFC 7515, appendices A.2 and A.3, and RFC 8037, appendix A.
    fn vectors() -> Vec<(Value, &'static str)> {
        let all: Vec<Value> = serde_json::from_str(include_str!("vectors.json")).unwrap();
        let token = |one: &Value| one["token"].as_str().unwrap().to_owned().leak() as &'static str;
        all.iter().map(|one| (one["key"].clone(), token(one))).collect()
    }

    fn read(key: &Value) -> BTreeMap<String, Key> {
        read_set(json!({"keys": [key]}).to_string().as_bytes()).unwrap()
    }

    #[test]
    fn the_signatures_of_the_standards_verify_and_with_one_other_bit_do_not() {
        for (key, token) in vectors() {
            let keys = read(&key);
            let key = &keys["k"];
            let (signed, signature) = token.rsplit_once('.').unwrap();
            let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
            assert!(key.verifies(signed.as_bytes(), &signature), "{}", key.algorithm());
            for at in [0, signature.len() / 2, signature.len() - 1] {
                let mut other = signature.clone();
                other[at] ^= 1;
                assert!(!key.verifies(signed.as_bytes(), &other), "{} {at}", key.algorithm());
            }
            assert!(!key.verifies(&signed.as_bytes()[1..], &signature));
            assert!(!key.verifies(signed.as_bytes(), &[]));
            assert!(!key.verifies(signed.as_bytes(), &signature[1..]));
        }
    }

    #[test]
    fn a_key_of_another_kind_or_purpose_is_passed_over() {
        let all = vectors();
        for (key, _) in &all {
            assert_eq!(read(key).len(), 1, "{key}");
            for (member, value) in [
                ("use", json!("enc")),
                ("key_ops", json!(["sign"])),
                ("alg", json!("HS256")),
                ("alg", json!("PS256")),
                ("alg", json!("none")),
                ("kty", json!("oct")),
                ("crv", json!("P-384")),
                ("kid", json!("")),
                ("kid", json!(1)),
                ("kid", json!("k".repeat(300))),
                ("x", json!("AA")),
                ("n", json!("A".repeat(3_000))),
            ] {
                let mut other = key.clone();
                if key["kty"] == "RSA" && ["x", "crv"].contains(&member) {
                    continue;
                }
                if key["kty"] != "RSA" && member == "n" {
                    continue;
                }
                other[member] = value;
                assert_eq!(read(&other).len(), 0, "{member} of {key}");
            }
        }
    }

    #[test]
    fn an_id_that_two_keys_have_is_none_s_and_a_set_is_bounded() {
        let all: Vec<Value> = vectors().into_iter().map(|(key, _)| key).collect();
        let set = |keys: &[Value]| read_set(json!({ "keys": keys }).to_string().as_bytes());
        assert_eq!(set(&all).unwrap().len(), 0, "all have the id `k`");
        let named = |kid: String| {
            let mut key = all[0].clone();
            key["kid"] = kid.into();
            key
        };
        let many: Vec<Value> = (0..=MAX_KEYS).map(|number| named(number.to_string())).collect();
        assert_eq!(set(&many[1..]).unwrap().len(), MAX_KEYS);
        assert!(set(&many).is_err());
        for bad in ["", "[]", "{}", "{\"keys\":{}}", "{\"keys\":[]"] {
            assert!(read_set(bad.as_bytes()).is_err(), "{bad}");
        }
        assert_eq!(
            set(&[json!(1), json!("x"), json!({}), named("a".to_owned())]).unwrap().len(),
            1
        );
    }
}
