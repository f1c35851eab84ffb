//! Who a log is: its keys, and how they give way to others.

use serde::{Deserialize, Serialize};

use super::merkle::Hash;
use super::note::NoteKey;
use crate::diagnostic::escape;
use crate::signature::{Envelope, KeyError, KeyId, PublicKey, SigningKey};

/// Most identities that a log has had.
pub const MAX_IDENTITIES: usize = 1_000;
/// The `schema` of an identity.
const SCHEMA: &str = "skillpkg.log-identity/1";
/// The payload type of its envelope.
const PAYLOAD_TYPE: &str = "application/vnd.skillpkg.log-identity+json";
/// Most keys of one kind.
const MAX_KEYS: usize = 16;

/// Why an identity is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// The envelope holds something else.
    #[error("the envelope holds a `{}`, not the identity of a log", escape(.0))]
    PayloadType(String),
    /// Not JSON of this shape in canonical form.
    #[error("the identity does not have the shape of one: {0}")]
    Shape(String),
    /// Its keys cannot do what they are for.
    #[error("identity {number} of the log {reason}")]
    Keys {
        /// Its number.
        number: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// No identity at all, or more than a log has had.
    #[error("a log has 1 to {MAX_IDENTITIES} identities; this one has {0}")]
    Count(usize),
    /// The numbers do not follow each other from 1.
    #[error("after identity {before} of the log comes {found}: one between is left out")]
    Skipped {
        /// The one before; 0 where there is none.
        before: u64,
        /// The one that comes.
        found: u64,
    },
    /// Another log's.
    #[error("identity {number} is one of the log `{}`, not of `{}`", escape(.found), escape(.expected))]
    OtherOrigin {
        /// Its number.
        number: u64,
        /// Whose it should be.
        expected: String,
        /// Whose it is.
        found: String,
    },
    /// Too few of the keys that must have signed have.
    #[error(
        "identity {number} of the log needs {needed} signatures of the rotation keys that identity {of} names, and has {found}"
    )]
    TooFew {
        /// Its number.
        number: u64,
        /// Whose keys must sign.
        of: u64,
        /// How many did.
        found: usize,
        /// How many must.
        needed: usize,
    },
    /// A signature of a key that must sign does not verify.
    #[error("a signature under identity {0} of the log does not verify")]
    BadSignature(u64),
    /// Not the log that is known under this origin.
    #[error("identity {number} of the log is another than the one that is known here")]
    Other {
        /// The first that differs.
        number: u64,
    },
}

/// One identity of a log: the keys that sign its checkpoints, and those that name the next identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogIdentity {
    schema: String,
    /// The log's origin, the same in all its identities.
    pub origin: String,
    /// 1 for the first, each further one more.
    pub number: u64,
    /// What checkpoints are verified with: at least one of kind Ed25519; those that cosign tell
    /// the time.
    pub keys: Vec<NoteKey>,
    /// Who may name the next identity.
    pub rotation: RotationKeys,
}

/// The keys that name the next identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RotationKeys {
    /// Public keys, SPKI PEM.
    pub keys: Vec<String>,
    /// How many of them must sign.
    pub threshold: u32,
}

impl LogIdentity {
    /// An identity, refused where its keys could not do what they are for.
    pub fn new(
        origin: &str,
        number: u64,
        keys: Vec<NoteKey>,
        rotation: RotationKeys,
    ) -> Result<Self, IdentityError> {
        let (schema, origin) = (SCHEMA.to_owned(), origin.to_owned());
        let identity = Self { schema, origin, number, keys, rotation };
        identity.check()?;
        Ok(identity)
    }

    fn check(&self) -> Result<Vec<PublicKey>, IdentityError> {
        use super::note::SignatureKind::Ed25519;
        let fault = |reason| IdentityError::Keys { number: self.number, reason };
        if self.schema != SCHEMA {
            return Err(IdentityError::Shape(format!("its schema is `{}`", escape(&self.schema))));
        }
        let of_log = |key: &NoteKey| key.kind() == Ed25519 && key.name() == self.origin;
        if !self.keys.iter().any(of_log) || self.keys.len() > MAX_KEYS {
            return Err(fault("has no key under its origin that signs checkpoints, or too many"));
        }
        let rotation: Result<Vec<PublicKey>, KeyError> =
            self.rotation.keys.iter().map(|pem| PublicKey::from_pem(pem)).collect();
        let rotation = rotation.map_err(|_| fault("has a rotation key that is none"))?;
        let mut ids: Vec<KeyId> = rotation.iter().map(PublicKey::id).collect();
        ids.sort_unstable();
        ids.dedup();
        let threshold = usize::try_from(self.rotation.threshold).unwrap_or(usize::MAX);
        if ids.len() != rotation.len() || ids.len() > MAX_KEYS {
            return Err(fault("has a rotation key twice, or too many"));
        }
        if !(1..=ids.len()).contains(&threshold) {
            return Err(fault("asks for none or for more rotation keys than it has"));
        }
        Ok(rotation)
    }

    /// The canonical bytes, RFC 8785.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json_canonicalizer::to_vec(self).unwrap_or_default()
    }

    /// SHA-256 of the canonical bytes: what people compare.
    pub fn fingerprint(&self) -> Hash {
        Hash::of(&self.to_bytes())
    }

    /// Reads the identity in an envelope, whoever has signed it.
    pub fn from_envelope(envelope: &Envelope) -> Result<Self, IdentityError> {
        if envelope.payload_type() != PAYLOAD_TYPE {
            return Err(IdentityError::PayloadType(envelope.payload_type().to_owned()));
        }
        let payload = envelope.payload();
        let identity: Self = serde_json::from_slice(&payload)
            .map_err(|error| IdentityError::Shape(escape(&error.to_string())))?;
        if identity.to_bytes() != payload {
            return Err(IdentityError::Shape("it is not in canonical form (RFC 8785)".to_owned()));
        }
        identity.check()?;
        Ok(identity)
    }

    /// Checks that enough of these keys have signed.
    fn signed_by(&self, envelope: &Envelope, signer: &Self) -> Result<(), IdentityError> {
        let verified = envelope
            .verified_by(&signer.check()?)
            .ok_or(IdentityError::BadSignature(self.number))?;
        let needed = usize::try_from(signer.rotation.threshold).unwrap_or(usize::MAX);
        if verified.len() >= needed {
            return Ok(());
        }
        let (number, of, found) = (self.number, signer.number, verified.len());
        Err(IdentityError::TooFew { number, of, found, needed })
    }
}

/// Signs an identity; the first with its own rotation keys, a further one with those of the one
/// before as well.
pub fn sign_identity(identity: &LogIdentity, keys: &[SigningKey]) -> Envelope {
    Envelope::sign(PAYLOAD_TYPE, &identity.to_bytes(), keys)
}

/// The identities that a log has had, each named by the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityChain {
    identities: Vec<LogIdentity>,
    envelopes: Vec<Envelope>,
}

impl IdentityChain {
    /// Verifies identities from the first on: the first signed by its own rotation keys, each
    /// further one by those of the one before and by its own.
    ///
    /// Whether the first is the one that is meant is for the caller to say: compare its
    /// [`LogIdentity::fingerprint`], or use [`IdentityChain::continued`].
    pub fn verify(envelopes: Vec<Envelope>) -> Result<Self, IdentityError> {
        if !(1..=MAX_IDENTITIES).contains(&envelopes.len()) {
            return Err(IdentityError::Count(envelopes.len()));
        }
        let mut identities: Vec<LogIdentity> = Vec::new();
        for envelope in &envelopes {
            let identity = LogIdentity::from_envelope(envelope)?;
            let before = identities.last();
            let number = before.map_or(0, |before| before.number);
            if number.checked_add(1) != Some(identity.number) {
                return Err(IdentityError::Skipped { before: number, found: identity.number });
            }
            if let Some(before) = before {
                if before.origin != identity.origin {
                    return Err(IdentityError::OtherOrigin {
                        number: identity.number,
                        expected: before.origin.clone(),
                        found: identity.origin,
                    });
                }
                identity.signed_by(envelope, before)?;
            }
            identity.signed_by(envelope, &identity)?;
            identities.push(identity);
        }
        Ok(Self { identities, envelopes })
    }

    /// The chain that `envelopes` make, which must begin with all of this one; fewer are this one.
    pub fn continued(&self, envelopes: Vec<Envelope>) -> Result<Self, IdentityError> {
        let other = Self::verify(envelopes)?;
        for (known, found) in self.identities.iter().zip(&other.identities) {
            if known != found {
                return Err(IdentityError::Other { number: known.number });
            }
        }
        Ok(if other.identities.len() > self.identities.len() { other } else { self.clone() })
    }

    /// The envelopes that it was verified from.
    pub fn envelopes(&self) -> &[Envelope] {
        &self.envelopes
    }

    /// The identities, from the first on.
    pub fn identities(&self) -> &[LogIdentity] {
        &self.identities
    }

    /// The log's origin.
    pub fn origin(&self) -> &str {
        self.identities.first().map_or("", |first| &first.origin)
    }

    /// What people compare on first contact: the fingerprint of the first identity.
    pub fn fingerprint(&self) -> Hash {
        self.identities.first().map_or_else(super::merkle::empty_root, LogIdentity::fingerprint)
    }

    /// The identity that signs now.
    pub fn latest(&self) -> Option<&LogIdentity> {
        self.identities.last()
    }

    /// The keys that sign checkpoints now.
    pub fn keys(&self) -> &[NoteKey] {
        self.latest().map_or(&[], |latest| &latest.keys)
    }

    /// The keys of all identities: what a checkpoint that was kept is verified with.
    pub fn keys_of_all(&self) -> Vec<NoteKey> {
        let mut keys: Vec<NoteKey> = Vec::new();
        for key in self.identities.iter().flat_map(|identity| &identity.keys) {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        }
        keys
    }
}
