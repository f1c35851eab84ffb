//! Private keys behind a passphrase: PKCS#8 `EncryptedPrivateKeyInfo` (RFC 5958) with PBES2
//! (RFC 8018), as OpenSSL writes and reads them.

use ed25519_dalek::pkcs8::KeypairBytes;
use pkcs8::der::pem::{LineEnding, PemLabel as _};
use pkcs8::der::{Decode as _, Encode as _, SecretDocument};
use pkcs8::pkcs5::EncryptionScheme;
use pkcs8::pkcs5::pbes2::{self, Kdf, Pbkdf2Prf, Salt, ScryptParams};
use pkcs8::{
    DecodePrivateKey as _, EncodePrivateKey as _, EncryptedPrivateKeyInfoRef, PrivateKeyInfoRef,
};

use super::key::KeyError;
use super::passphrase::Passphrase;
use super::pem;

/// The label of a locked key's PEM.
pub(super) const LABEL: &str = EncryptedPrivateKeyInfoRef::PEM_LABEL;

/// What a passphrase is stretched with when a key is written.
///
/// 16 MiB, five times over: the strongest that OpenSSL opens with its own bound of 32 MiB, and one
/// of the equivalent choices that OWASP names.
const WRITTEN: Cost = Cost { n: 1 << 14, r: 8, p: 5 };
/// Bytes of a salt that is written.
const SALT_BYTES: usize = 16;
/// Bytes of a block of AES.
const BLOCK_BYTES: usize = 16;

/// Most of `r`, and of `p`, of scrypt.
const MAX_FACTOR: u16 = 32;
/// Most of `N·r` of scrypt, each of 128 bytes of memory: 128 MiB, eight times what is written.
const MAX_MEMORY: u64 = 1 << 20;
/// Most of `N·r·p` of scrypt: some seconds of work.
const MAX_WORK: u64 = 1 << 22;
/// Most rounds of PBKDF2: what RFC 8018 names for especially critical keys, some seconds of work.
const MAX_ROUNDS: u32 = 10_000_000;

/// scrypt's parameters (RFC 7914).
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    n: u64,
    r: u16,
    p: u16,
}

/// Reads the key in the first PEM block of a locked one.
///
/// What the parameters ask for is bounded before it is done: the file may come from anybody.
pub(super) fn open(
    text: &str,
    passphrase: &Passphrase,
) -> Result<ed25519_dalek::SigningKey, KeyError> {
    let block = pem::block(text, LABEL).ok_or(KeyError::Private)?;
    let (_, document) = SecretDocument::from_pem(block).map_err(|_| KeyError::Private)?;
    let locked = EncryptedPrivateKeyInfoRef::from_der(document.as_bytes())
        .map_err(|_| KeyError::EncryptionUnknown)?;
    let EncryptionScheme::Pbes2(parameters) = &locked.encryption_algorithm else {
        return Err(KeyError::EncryptionUnknown);
    };
    bounded(&parameters.kdf)?;
    // What a wrong passphrase yields is no key, whether or not it happens to be padded right.
    let opened = locked.decrypt(passphrase.as_bytes()).map_err(|_| KeyError::WrongPassphrase)?;
    PrivateKeyInfoRef::from_der(opened.as_bytes()).map_err(|_| KeyError::WrongPassphrase)?;
    ed25519_dalek::SigningKey::from_pkcs8_der(opened.as_bytes()).map_err(|_| KeyError::Private)
}

/// Refuses parameters that cost more than a key is worth, or that mean nothing.
fn bounded(kdf: &Kdf) -> Result<(), KeyError> {
    let is_bounded = match kdf {
        Kdf::Pbkdf2(parameters) if parameters.prf == Pbkdf2Prf::HmacWithSha1 => {
            return Err(KeyError::EncryptionUnknown);
        }
        Kdf::Pbkdf2(parameters) => (1..=MAX_ROUNDS).contains(&parameters.iteration_count),
        Kdf::Scrypt(parameters) => {
            let (n, r, p) =
                (parameters.cost_parameter, parameters.block_size, parameters.parallelization);
            let factors = 1..=MAX_FACTOR;
            let memory = n.saturating_mul(r.into());
            n > 1
                && n.is_power_of_two()
                && factors.contains(&r)
                && factors.contains(&p)
                && memory <= MAX_MEMORY
                && memory.saturating_mul(p.into()) <= MAX_WORK
        }
        _ => return Err(KeyError::EncryptionUnknown),
    };
    if is_bounded { Ok(()) } else { Err(KeyError::EncryptionCost) }
}

/// Writes PEM of a key that the passphrase opens, with scrypt and AES-256-CBC.
pub(super) fn write(key: &KeypairBytes, passphrase: &Passphrase) -> Result<String, KeyError> {
    write_at(key, passphrase, WRITTEN)
}

pub(super) fn write_at(
    key: &KeypairBytes,
    passphrase: &Passphrase,
    cost: Cost,
) -> Result<String, KeyError> {
    let (mut salt, mut iv) = ([0; SALT_BYTES], [0; BLOCK_BYTES]);
    for bytes in [&mut salt, &mut iv] {
        getrandom::fill(bytes).map_err(|error| KeyError::NoRandomness(error.to_string()))?;
    }
    let unwritten = |_| KeyError::Private;
    let scrypt = ScryptParams {
        salt: Salt::new(salt).map_err(unwritten)?,
        cost_parameter: cost.n,
        block_size: cost.r,
        parallelization: cost.p,
        key_length: None,
    };
    let parameters = pbes2::Parameters {
        kdf: Kdf::Scrypt(scrypt),
        encryption: pbes2::EncryptionScheme::Aes256Cbc { iv },
    };
    let open = key.to_pkcs8_der().map_err(|_| KeyError::Private)?;
    let encrypted = parameters
        .encrypt(passphrase.as_bytes(), open.as_bytes())
        .map_err(|_| KeyError::Private)?;
    let locked = pkcs8::EncryptedPrivateKeyInfo {
        encryption_algorithm: EncryptionScheme::Pbes2(parameters),
        encrypted_data: pkcs8::der::asn1::OctetString::new(encrypted).map_err(unwritten)?,
    };
    let der = locked.to_der().map_err(unwritten)?;
    pkcs8::der::pem::encode_string(LABEL, LineEnding::LF, &der).map_err(|_| KeyError::Private)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pkcs8::pkcs5::pbes2::Pbkdf2Params;
    use proptest::prelude::*;

    /// As little work as scrypt can be.
    const LEAST: Cost = Cost { n: 2, r: 1, p: 1 };

    fn pair() -> KeypairBytes {
        KeypairBytes { secret_key: [7; 32], public_key: None }
    }

    fn passphrase(text: &str) -> Passphrase {
        Passphrase::new(text.to_owned()).unwrap()
    }

    /// A key whose parameters say this, and which nothing opens.
    fn asking_for(kdf: Kdf) -> String {
        let encryption = pbes2::EncryptionScheme::Aes256Cbc { iv: [0; BLOCK_BYTES] };
        let locked = pkcs8::EncryptedPrivateKeyInfo {
            encryption_algorithm: EncryptionScheme::Pbes2(pbes2::Parameters { kdf, encryption }),
            encrypted_data: pkcs8::der::asn1::OctetString::new([0; 48]).unwrap(),
        };
        let der = locked.to_der().unwrap();
        pkcs8::der::pem::encode_string(LABEL, LineEnding::LF, &der).unwrap()
    }

    #[test]
    fn work_without_bound_is_refused_before_it_is_done() {
        let salt = Salt::new([1; SALT_BYTES]).unwrap();
        let scrypt = |cost_parameter, block_size, parallelization| {
            Kdf::Scrypt(ScryptParams {
                salt,
                cost_parameter,
                block_size,
                parallelization,
                key_length: None,
            })
        };
        let rounds = |iteration_count| {
            let key_length = None;
            let prf = Pbkdf2Prf::HmacWithSha256;
            Kdf::Pbkdf2(Pbkdf2Params { salt, iteration_count, key_length, prf })
        };
        for (kdf, expected) in [
            (scrypt(2, 1, 1), KeyError::WrongPassphrase),
            (scrypt(1 << 14, 8, 5), KeyError::WrongPassphrase),
            (scrypt(0, 8, 1), KeyError::EncryptionCost),
            (scrypt(1, 8, 1), KeyError::EncryptionCost),
            (scrypt(3, 8, 1), KeyError::EncryptionCost),
            (scrypt(16, 0, 1), KeyError::EncryptionCost),
            (scrypt(16, 8, 0), KeyError::EncryptionCost),
            (scrypt(1 << 18, 8, 1), KeyError::EncryptionCost),
            (scrypt(1 << 17, 8, 5), KeyError::EncryptionCost),
            (scrypt(1 << 63, 1, 1), KeyError::EncryptionCost),
            (scrypt(1 << 63, 65_535, 65_535), KeyError::EncryptionCost),
            (scrypt(2, 65_535, 1), KeyError::EncryptionCost),
            (scrypt(2, 1, 65_535), KeyError::EncryptionCost),
            (rounds(1), KeyError::WrongPassphrase),
            (rounds(0), KeyError::EncryptionCost),
            (rounds(10_000_001), KeyError::EncryptionCost),
            (rounds(u32::MAX), KeyError::EncryptionCost),
        ] {
            let told = format!("{kdf:?}");
            let error = open(&asking_for(kdf), &passphrase("p")).unwrap_err();
            assert_eq!(error, expected, "{told}");
        }
    }

    #[test]
    fn each_writing_has_a_salt_and_an_iv_of_its_own() {
        let once = write_at(&pair(), &passphrase("p"), LEAST).unwrap();
        assert_ne!(once, write_at(&pair(), &passphrase("p"), LEAST).unwrap());
    }

    proptest! {
        #[test]
        fn a_locked_key_is_opened_by_its_passphrase_and_by_no_other(
            right in "[^\n\r\0]{1,40}",
            wrong in "[^\n\r\0]{1,40}",
        ) {
            let pem = write_at(&pair(), &passphrase(&right), LEAST).unwrap();
            let opened = open(&pem, &passphrase(&right)).unwrap();
            prop_assert_eq!(opened.to_bytes(), pair().secret_key);
            if wrong != right {
                let refused = open(&pem, &passphrase(&wrong)).unwrap_err();
                prop_assert_eq!(refused, KeyError::WrongPassphrase);
            }
        }

        // Nothing authenticates what is encrypted: a changed file may open as another key. Whoever
        // knows the public half compares.
        #[test]
        fn no_change_makes_reading_panic(
            at in any::<prop::sample::Index>(),
            with in "[A-Za-z0-9+/=\n-]",
        ) {
            let mut pem = write_at(&pair(), &passphrase("p"), LEAST).unwrap();
            let position = at.index(pem.len());
            pem.replace_range(position..=position, &with);
            let _ = open(&pem, &passphrase("p"));
        }
    }
}
