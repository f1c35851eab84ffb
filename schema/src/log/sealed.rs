//! A record with what hides it: a private scope's leaf says nothing to those who may not read it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::merkle::{Hash, leaf_hash};
use super::record::{Record, RecordError, Subject};
use crate::address::{AddressError, Sha256Digest, text_serde};

/// 256 random bits that no other record has: without them a commitment could be guessed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Salt(Sha256Digest);

impl Salt {
    /// Wraps the bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Sha256Digest::from_bytes(bytes))
    }
}

impl fmt::Display for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt(…)")
    }
}

impl FromStr for Salt {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        text.parse().map(Self)
    }
}

text_serde!(Salt);

/// A record and the salt of its leaf; no salt where the leaf is the record itself.
///
/// As JSON, `{"record":"…","salt":"…"}`: the record as the text of its canonical bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Shape", into = "Shape")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Sealed))]
pub struct Sealed {
    /// What the leaf stands for.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub record: Record,
    /// Present where the leaf is blinded.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub salt: Option<Salt>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    record: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    salt: Option<Salt>,
}

impl TryFrom<Shape> for Sealed {
    type Error = RecordError;

    fn try_from(shape: Shape) -> Result<Self, RecordError> {
        Ok(Self { record: Record::from_bytes(shape.record.as_bytes())?, salt: shape.salt })
    }
}

impl From<Sealed> for Shape {
    fn from(sealed: Sealed) -> Self {
        let record = String::from_utf8(sealed.record.to_bytes()).unwrap_or_default();
        Self { record, salt: sealed.salt }
    }
}

impl Sealed {
    /// The bytes of the leaf.
    pub fn entry(&self) -> Vec<u8> {
        let record = self.record.to_bytes();
        let Some(salt) = &self.salt else { return record };
        let commitment = Sha256::new().chain_update(salt.0.as_bytes()).chain_update(record);
        let commitment = Hash::from_bytes(commitment.finalize().into());
        let subject = Subject::Blinded { commitment };
        Record { at: self.record.at.clone(), subject }.to_bytes()
    }

    /// The hash of the leaf.
    pub fn leaf_hash(&self) -> Hash {
        leaf_hash(&self.entry())
    }
}
