//! Jobs of build services that publish: who trusts them, and what they exchange their identity for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::name::QualifiedName;

/// Jobs of a build service that may publish one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TrustedPublisher {
    /// What it is removed by.
    pub id: String,
    /// The issuer of their identities, as the registry knows it.
    pub issuer: String,
    /// What an identity must say: claims by name, each exactly so.
    pub claims: BTreeMap<String, String>,
    /// The account that recorded it, in whose name they publish.
    pub account: String,
    /// When it was recorded, RFC 3339 in UTC.
    pub added: String,
}

/// An issuer of identities that the registry takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IdentityIssuer {
    /// Its URL, which every identity names.
    pub issuer: String,
    /// Which service it is of, `github`, `gitlab` or `other`: what must be recorded depends on it.
    pub provider: String,
}

/// Who may publish a skill from a job of a build service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TrustedPublishers {
    /// In the order in which they were recorded.
    pub publishers: Vec<TrustedPublisher>,
    /// The issuers whose identities this registry takes.
    pub issuers: Vec<IdentityIssuer>,
    /// What an identity must be made for: the registry's URL.
    pub audience: String,
}

/// Asks that jobs of a build service be trusted to publish a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TrustPublisher {
    /// The issuer of their identities.
    pub issuer: String,
    /// What an identity must say: claims by name, each exactly so.
    pub claims: BTreeMap<String, String>,
}

/// Asks that a trusted publisher be trusted no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DistrustPublisher {
    /// Its id.
    pub id: String,
}

/// Asks for a token in exchange for the identity of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExchangeIdentity {
    /// The identity: a signed JSON Web Token of an issuer.
    pub token: String,
    /// The skill that is to be published.
    pub name: QualifiedName,
}

/// A token for one skill: the one time that its secret is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExchangedToken {
    /// `skp_` and 256 random bits.
    pub secret: String,
    /// The account that it publishes as.
    pub account: String,
    /// The skill that it publishes.
    pub name: QualifiedName,
    /// When it ends, RFC 3339 in UTC.
    pub expires: String,
    /// The trusted publisher that the identity is.
    pub publisher: String,
}
