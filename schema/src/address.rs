//! Digests, and the address of a snapshot or a blob.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::Digest as _;

/// Bytes in a digest of either algorithm.
pub const DIGEST_BYTES: usize = 32;

/// A digest or an address that is not spelled as one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// No `sha256:` or `blake3:` stands before the digits.
    #[error("`{}` is not an address: expected `sha256:` or `blake3:` and 64 lowercase hex digits", crate::diagnostic::escape(.0))]
    Algorithm(String),
    /// Not exactly 64 lowercase hexadecimal digits.
    #[error("`{}` is not a digest: expected 64 lowercase hex digits", crate::diagnostic::escape(.0))]
    Digits(String),
}

/// The hash function of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// SHA-256, FIPS 180-4.
    Sha256,
    /// BLAKE3 with its default 32-byte output.
    Blake3,
}

impl Algorithm {
    /// The word before the colon of an address.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Blake3 => "blake3",
        }
    }
}

macro_rules! digest {
    ($name:ident, $algorithm:expr, $doc:literal) => {
        #[doc = $doc]
        ///
        /// Written as 64 lowercase hexadecimal digits and parsed from nothing else.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; DIGEST_BYTES]);

        impl $name {
            /// Wraps the digest's bytes.
            pub const fn from_bytes(bytes: [u8; DIGEST_BYTES]) -> Self {
                Self(bytes)
            }

            /// The digest's bytes.
            pub const fn as_bytes(&self) -> &[u8; DIGEST_BYTES] {
                &self.0
            }

            /// The address with this digest.
            pub const fn address(self) -> ContentAddress {
                ContentAddress::new($algorithm, self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_hex(f, &self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}:{self}", $algorithm.name())
            }
        }

        impl FromStr for $name {
            type Err = AddressError;

            fn from_str(text: &str) -> Result<Self, AddressError> {
                parse_hex(text).map(Self)
            }
        }

        text_serde!($name);
    };
}

/// Serde as text, through `Display` and `FromStr`; a string in an OpenAPI document.
macro_rules! text_serde {
    ($name:ty) => {
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                let text = ::std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(::serde::de::Error::custom)
            }
        }

        #[cfg(feature = "openapi")]
        impl ::utoipa::PartialSchema for $name {
            fn schema() -> ::utoipa::openapi::RefOr<::utoipa::openapi::schema::Schema> {
                <String as ::utoipa::PartialSchema>::schema()
            }
        }

        #[cfg(feature = "openapi")]
        impl ::utoipa::ToSchema for $name {}
    };
}
pub(crate) use text_serde;

digest!(Sha256Digest, Algorithm::Sha256, "A SHA-256 digest.");
digest!(Blake3Digest, Algorithm::Blake3, "A BLAKE3 digest.");

impl Sha256Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }
}

impl Blake3Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

/// The exact address of content: an algorithm and a digest.
///
/// A snapshot's address is the digest of its manifest's canonical bytes; a blob's is the digest of
/// the file's bytes. Written `sha256:` or `blake3:` and 64 lowercase hexadecimal digits; nothing
/// else parses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentAddress {
    algorithm: Algorithm,
    digest: [u8; DIGEST_BYTES],
}

impl ContentAddress {
    /// An address from its parts.
    pub const fn new(algorithm: Algorithm, digest: [u8; DIGEST_BYTES]) -> Self {
        Self { algorithm, digest }
    }

    /// The hash function.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The digest's bytes.
    pub const fn digest(&self) -> &[u8; DIGEST_BYTES] {
        &self.digest
    }

    /// The digest as 64 lowercase hexadecimal digits.
    pub fn hex(&self) -> String {
        Sha256Digest(self.digest).to_string()
    }

    /// Whether `bytes` are the content this address names.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        match self.algorithm {
            Algorithm::Sha256 => Sha256Digest::of(bytes).0 == self.digest,
            Algorithm::Blake3 => Blake3Digest::of(bytes).0 == self.digest,
        }
    }
}

impl fmt::Display for ContentAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.algorithm.name())?;
        write_hex(f, &self.digest)
    }
}

impl fmt::Debug for ContentAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ContentAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (algorithm, digits) = if let Some(digits) = text.strip_prefix("sha256:") {
            (Algorithm::Sha256, digits)
        } else if let Some(digits) = text.strip_prefix("blake3:") {
            (Algorithm::Blake3, digits)
        } else {
            return Err(AddressError::Algorithm(text.to_owned()));
        };
        Ok(Self::new(algorithm, parse_hex(digits)?))
    }
}

text_serde!(ContentAddress);

/// Both digests of one content, and its length, made in one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digests {
    /// Length in bytes.
    pub size: u64,
    /// SHA-256 of the bytes.
    pub sha256: Sha256Digest,
    /// BLAKE3 of the bytes.
    pub blake3: Blake3Digest,
}

impl Digests {
    /// The digests of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::new();
        hasher.update(bytes);
        hasher.finish()
    }

    /// Reads `content` to its end in pieces of at most 64 KiB.
    pub fn of_reader(mut content: impl Read) -> io::Result<Self> {
        let mut hasher = Hasher::new();
        let mut piece = vec![0; 64 * 1024];
        loop {
            match content.read(&mut piece) {
                Ok(0) => return Ok(hasher.finish()),
                Ok(read) => hasher.update(&piece[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Hashes with both algorithms while content streams by.
#[derive(Debug, Clone, Default)]
pub struct Hasher {
    size: u64,
    sha256: sha2::Sha256,
    blake3: blake3::Hasher,
}

impl Hasher {
    /// A hasher that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.size += bytes.len() as u64;
        self.sha256.update(bytes);
        self.blake3.update(bytes);
    }

    /// The digests of all bytes taken.
    pub fn finish(self) -> Digests {
        Digests {
            size: self.size,
            sha256: Sha256Digest(self.sha256.finalize().into()),
            blake3: Blake3Digest(*self.blake3.finalize().as_bytes()),
        }
    }
}

/// Writes all digits at once: a manifest holds two digests a file, and one `write!` a byte was a
/// fifth of the time that an install with nothing to do takes.
fn write_hex(f: &mut fmt::Formatter<'_>, digest: &[u8; DIGEST_BYTES]) -> fmt::Result {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut hex = [0; DIGEST_BYTES * 2];
    for (pair, byte) in hex.chunks_exact_mut(2).zip(digest) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 0xf)];
    }
    f.write_str(std::str::from_utf8(&hex).map_err(|_| fmt::Error)?)
}

fn parse_hex(text: &str) -> Result<[u8; DIGEST_BYTES], AddressError> {
    let refused = || AddressError::Digits(text.to_owned());
    let digits = text.as_bytes();
    if digits.len() != DIGEST_BYTES * 2 {
        return Err(refused());
    }
    let mut digest = [0; DIGEST_BYTES];
    for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
        let high = hex_value(pair[0]).ok_or_else(refused)?;
        let low = hex_value(pair[1]).ok_or_else(refused)?;
        *byte = high << 4 | low;
    }
    Ok(digest)
}

fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_address_is_read_as_it_is_written_and_nothing_panics(
            text in "(sha256|blake3|SHA256|)(:|)[0-9a-fA-F]{63,65}|\\PC{0,80}",
            bytes in any::<[u8; DIGEST_BYTES]>(),
        ) {
            if let Ok(address) = text.parse::<ContentAddress>() {
                prop_assert_eq!(address.to_string(), text);
            }
            for algorithm in [Algorithm::Sha256, Algorithm::Blake3] {
                let address = ContentAddress::new(algorithm, bytes);
                prop_assert_eq!(address.to_string().parse(), Ok(address));
                prop_assert_eq!(serde_json::from_str(&serde_json::to_string(&address).unwrap()).ok(), Some(address));
            }
        }

        #[test]
        fn content_in_pieces_has_the_digests_of_the_whole(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 0..6),
        ) {
            let mut hasher = Hasher::new();
            for piece in &pieces {
                hasher.update(piece);
            }
            let whole = pieces.concat();
            prop_assert_eq!(hasher.finish(), Digests::of(&whole));
            prop_assert_eq!(Digests::of_reader(whole.as_slice()).unwrap(), Digests::of(&whole));
            prop_assert!(Digests::of(&whole).blake3.address().matches(&whole));
        }
    }

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let address = Sha256Digest::of(b"abc").address();
        let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(address.to_string(), text);
        assert_eq!(text.parse(), Ok(address));
        assert!(address.matches(b"abc") && !address.matches(b"abd"));
    }

    #[test]
    fn nothing_else_parses() {
        let digits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        for text in [
            digits.to_owned(),
            format!("md5:{digits}"),
            format!("sha256:{}", digits.to_uppercase()),
            format!("SHA256:{digits}"),
            format!("sha256:{}", &digits[1..]),
            format!("sha256:{digits} "),
            format!("blake3:{digits}0"),
            String::new(),
        ] {
            assert!(text.parse::<ContentAddress>().is_err(), "{text} parsed");
        }
    }
}
