//! Why an identity is not taken.

use skillpkg_schema::diagnostic::escape;

use super::jws::MAX_TOKEN_BYTES;
use crate::problem::{Code, Refusal};
use crate::upstream::UpstreamError;

/// Why an identity is not taken.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// Longer than any is.
    #[error("the token is longer than {MAX_TOKEN_BYTES} bytes")]
    TooLong,
    /// Not three parts with dots between.
    #[error(
        "the token is no signed JSON Web Token: it needs a header, claims and a signature, each in \
         base64url, with dots between"
    )]
    Parts,
    /// A part that is not base64url, or spelled otherwise than the one way.
    #[error("the token's {0} is not base64url without padding, spelled in the one way there is")]
    Encoding(&'static str),
    /// A part that is no JSON object within bounds.
    #[error("the token's {part} is no JSON object that is read here: {reason}")]
    Json {
        /// Which.
        part: &'static str,
        /// Why.
        reason: String,
    },
    /// Something in the header that is not understood, or not there.
    #[error("the token's header {0}")]
    Header(String),
    /// An algorithm that is none here; `none` is among them.
    #[error("the token says that it is signed by `{}`; only `RS256`, `ES256` and `EdDSA` count", escape(.0))]
    Algorithm(String),
    /// Another algorithm than the key's.
    #[error(
        "the token says that it is signed by `{}`, and its key `{}` signs by `{key}` alone",
        escape(said),
        escape(kid)
    )]
    OtherAlgorithm {
        /// What the header says.
        said: String,
        /// The key.
        kid: String,
        /// What that key is for.
        key: &'static str,
    },
    /// A key that the issuer does not have.
    #[error(
        "the token is signed with the key `{}`, which is none of the issuer `{issuer}`'s; new keys \
         are looked for once a minute",
        escape(kid)
    )]
    UnknownKey {
        /// The issuer.
        issuer: String,
        /// The key.
        kid: String,
    },
    /// Not signed by the key.
    #[error("the token's signature is not of its issuer's key `{}`", escape(.0))]
    Signature(String),
    /// A claim that must be there.
    #[error("the token has no claim `{0}`")]
    Missing(&'static str),
    /// A claim of another kind than it must be.
    #[error("the token's claim `{claim}` is not {wanted}")]
    Kind {
        /// The claim.
        claim: &'static str,
        /// What it must be.
        wanted: &'static str,
    },
    /// Nobody whose identities are taken.
    #[error("the token's `iss` is `{}`; this registry takes identities of {known}", escape(seen))]
    Issuer {
        /// What it says.
        seen: String,
        /// Whose are taken.
        known: String,
    },
    /// Made for somebody else.
    #[error("the token's `aud` is `{}`; expected `{expected}` and nothing else", escape(seen))]
    Audience {
        /// For whom.
        seen: String,
        /// For whom it must be.
        expected: String,
    },
    /// Over.
    #[error("the token's `exp` is {end}, and it is {now}: it is over; ask for a new one")]
    Over {
        /// Its end.
        end: String,
        /// Now.
        now: String,
    },
    /// Not yet valid, or made in the future.
    #[error("the token's `{claim}` is {start}, and it is {now}: it is not valid yet")]
    Early {
        /// `nbf` or `iat`.
        claim: &'static str,
        /// From when.
        start: String,
        /// Now.
        now: String,
    },
    /// Valid for longer than it could be remembered.
    #[error("the token's `exp` is {0}: one that is valid for longer than a day is not taken")]
    TooLasting(String),
    /// An event that others than those who may write to the repository can make.
    #[error("the token's `{claim}` is `{}`: {reason}", escape(seen))]
    Foreign {
        /// The claim.
        claim: &'static str,
        /// What it says.
        seen: String,
        /// Why that is not taken.
        reason: &'static str,
    },
    /// Exchanged before.
    #[error("the token was exchanged before; each is taken once: ask for a new one")]
    Used,
    /// The issuer's keys cannot be had.
    #[error("the issuer `{issuer}` cannot be asked for its keys now")]
    Unavailable {
        /// The issuer.
        issuer: String,
        /// After how many seconds it is asked again.
        wait: u32,
        /// Why, where it was asked just now.
        cause: Option<UpstreamError>,
    },
    /// A fault of the registry's own.
    #[error("{0}")]
    Internal(String),
}

impl From<IdentityError> for Refusal {
    fn from(error: IdentityError) -> Self {
        let told = error.to_string();
        match error {
            IdentityError::Unavailable { wait, cause, .. } => {
                let refusal = Self::unavailable(told, wait);
                match cause {
                    Some(cause) => refusal.caused_by(&cause),
                    None => refusal,
                }
            }
            IdentityError::Internal(reason) => Self::internal(&reason),
            _ => Self::new(Code::IdentityRefused, told),
        }
    }
}
