//! Keys of witnesses, as C2SP signed notes write them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use skillpkg_schema::diagnostic::escape;

/// The kinds of Ed25519 keys whose signatures count on a checkpoint: a note's, and a cosignature's.
const KINDS: [u8; 2] = [0x01, 0x04];
/// Bytes of an Ed25519 public key, behind its kind.
const KEY_BYTES: usize = 32;

/// Why a text is no witness's key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no witness's key, `name+hash+key` as witnesses publish it: {reason}", escape(.text))]
pub(super) struct WitnessError {
    text: String,
    reason: &'static str,
}

/// Checks the shape of a key: a name, eight hexadecimal digits and the key in base64.
pub(super) fn check_witness(text: &str) -> Result<(), WitnessError> {
    let refused = |reason| Err(WitnessError { text: text.to_owned(), reason });
    let mut parts = text.splitn(3, '+');
    let (Some(name), Some(hash), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
        return refused("it has fewer than three parts");
    };
    if name.is_empty() || name.chars().any(char::is_whitespace) {
        return refused("its name is empty or has spaces");
    }
    if hash.len() != 8 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return refused("its hash is not eight hexadecimal digits");
    }
    let Ok(bytes) = STANDARD.decode(key) else { return refused("its key is not base64") };
    match bytes.split_first() {
        Some((kind, key)) if KINDS.contains(kind) && key.len() == KEY_BYTES => Ok(()),
        _ => refused("its key is not an Ed25519 key"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_witness_is_a_name_a_hash_and_an_ed25519_key() {
        let key = |kind: u8, length: usize| {
            let mut bytes = vec![kind];
            bytes.resize(length + 1, 7);
            STANDARD.encode(bytes)
        };
        for kind in KINDS {
            let text = format!("witness.example+0a1b2c3d+{}", key(kind, 32));
            assert_eq!(check_witness(&text), Ok(()));
        }
        for text in [
            String::new(),
            "witness.example+0a1b2c3d".to_owned(),
            format!("+0a1b2c3d+{}", key(4, 32)),
            format!("a b+0a1b2c3d+{}", key(4, 32)),
            format!("w+0a1b2c3+{}", key(4, 32)),
            format!("w+0a1b2c3g+{}", key(4, 32)),
            "w+0a1b2c3d+%%%".to_owned(),
            format!("w+0a1b2c3d+{}", key(9, 32)),
            format!("w+0a1b2c3d+{}", key(4, 31)),
        ] {
            assert!(check_witness(&text).is_err(), "{text}");
        }
    }
}
