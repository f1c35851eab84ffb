//! Accounts: who one is, keys, tokens, owners.

use serde::{Deserialize, Serialize};

use crate::name::Scope;
use crate::signature::KeyId;

/// Whose token was sent and what it allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WhoAmI {
    /// The account.
    pub account: String,
    /// What the token allows, such as `read` and `publish:acme/*`.
    pub grants: Vec<String>,
    /// When the token ends, RFC 3339 in UTC; absent where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// Scopes that the account is a member of.
    pub scopes: Vec<Scope>,
}

/// A signing key of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Key {
    /// The key's id.
    pub id: KeyId,
    /// The public key, SPKI PEM.
    pub pem: String,
    /// When it was registered, RFC 3339 in UTC.
    pub added: String,
    /// Whether the account has shown that it holds the private key.
    #[serde(default)]
    pub proven: bool,
    /// Whether the registry holds the private key and signs with it what the account publishes
    /// through another protocol; false where it is absent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// When it was revoked; absent where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
    /// Why it was revoked, where the account said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The signing keys of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Keys {
    /// In the order in which they were registered.
    pub keys: Vec<Key>,
}

/// Asks that a key be registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AddKey {
    /// The public key, SPKI PEM.
    pub pem: String,
    /// The base64 of the envelope that shows that the account holds the private key
    /// ([`crate::signature::key_proof`]): without it nothing is registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
}

/// Asks that a key be revoked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RevokeKey {
    /// Why, for whoever has something that it signed: 1 to 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Asks for a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MintToken {
    /// What its owner calls it.
    pub label: String,
    /// What it is to allow: none that the asking token lacks.
    pub grants: Vec<String>,
    /// For how many days; absent for no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
}

/// A token as it is listed: never the secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Token {
    /// What it is revoked by.
    pub id: String,
    /// What its owner calls it.
    pub label: String,
    /// What it allows.
    pub grants: Vec<String>,
    /// When it was made, RFC 3339 in UTC.
    pub created: String,
    /// When it ends; absent where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// When it was last used, to the hour; absent where never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used: Option<String>,
}

/// The tokens of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Tokens {
    /// Newest first.
    pub tokens: Vec<Token>,
}

/// A new token: the one time that its secret is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MintedToken {
    /// `skp_` and 256 random bits.
    pub secret: String,
    /// The rest.
    pub token: Token,
}

/// The accounts that may publish and yank a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Owners {
    /// In the order in which they were added.
    pub owners: Vec<String>,
    /// Who is invited to be one: told to owners alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invited: Vec<Invited>,
}

/// An account that is invited to own a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Invited {
    /// The account.
    pub account: String,
    /// The owner who invited it.
    pub by: String,
    /// Until when it may accept, RFC 3339 in UTC.
    pub expires: String,
    /// Whether that owner is none any more once it accepts.
    #[serde(default)]
    pub transfer: bool,
}

/// Asks that an account be invited to own a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InviteOwner {
    /// The account.
    pub account: String,
    /// Whether whoever asks is an owner no more once it accepts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub transfer: bool,
}

/// Asks that an owner be removed, or an invitation be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OwnerChange {
    /// The account.
    pub account: String,
}
