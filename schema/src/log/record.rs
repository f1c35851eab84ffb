//! What a leaf of the log says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::merkle::Hash;
use crate::address::ContentAddress;
use crate::diagnostic::escape;
use crate::name::{QualifiedName, Scope};
use crate::signature::KeyId;
use crate::version::Version;
use crate::wire::Effect;

/// The `schema` of every record.
pub const LOG_SCHEMA: &str = "skillpkg.log/1";
/// Most bytes of a record: what the length of an entry in a bundle can say.
pub const MAX_RECORD_BYTES: usize = 65_535;

/// Why bytes are no record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Longer than any is.
    #[error("the record is {0} bytes long; a log takes {MAX_RECORD_BYTES}")]
    TooLong(usize),
    /// Not JSON of this shape.
    #[error("the record does not have the shape of one: {0}")]
    Shape(String),
    /// Another schema: written for a later version of this program.
    #[error("the record has the schema `{}`; this program reads `{LOG_SCHEMA}`", escape(.0))]
    Schema(String),
    /// JSON, but not in the one canonical form of RFC 8785.
    #[error("the record is not in canonical form (RFC 8785)")]
    NotCanonical,
}

/// One change, as the log keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// What was changed.
    pub subject: Subject,
}

/// What a record is about. `by` is the account that did it, absent for an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Subject {
    /// A version was published.
    Publish {
        /// The whole name.
        name: QualifiedName,
        /// The version.
        version: Version,
        /// SHA-256 address of the snapshot.
        address: ContentAddress,
        /// SHA-256 address of the archive.
        archive: ContentAddress,
        /// Who published it.
        account: String,
        /// The keys whose signatures were verified, sorted.
        keys: Vec<KeyId>,
    },
    /// A version was yanked, or its reason changed.
    Yank {
        /// The whole name.
        name: QualifiedName,
        /// The version.
        version: Version,
        /// Why.
        reason: String,
        /// Who did it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A yank was taken back.
    Unyank {
        /// The whole name.
        name: QualifiedName,
        /// The version.
        version: Version,
        /// Who did it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A version was deleted; its number is never used again.
    VersionDeleted {
        /// The whole name.
        name: QualifiedName,
        /// The version.
        version: Version,
        /// Why.
        reason: String,
    },
    /// A name was deleted with all its versions.
    NameDeleted {
        /// The whole name.
        name: QualifiedName,
        /// Why.
        reason: String,
    },
    /// An account became an owner of a skill.
    OwnerAdded {
        /// The whole name.
        name: QualifiedName,
        /// The account.
        account: String,
        /// Who did it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// An account is an owner no more.
    OwnerRemoved {
        /// The whole name.
        name: QualifiedName,
        /// The account.
        account: String,
        /// Who did it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A scope was made.
    ScopeAdded {
        /// The scope.
        scope: Scope,
    },
    /// An account joined a scope, or has another role there.
    MemberAdded {
        /// The scope.
        scope: Scope,
        /// The account.
        account: String,
        /// `owner`, `publisher` or `reader`.
        role: String,
        /// Who did it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// An account left a scope.
    MemberRemoved {
        /// The scope.
        scope: Scope,
        /// The account.
        account: String,
        /// Who did it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A signing key was registered.
    KeyAdded {
        /// Whose.
        account: String,
        /// The key's id.
        key: KeyId,
    },
    /// A signing key was revoked.
    KeyRevoked {
        /// Whose.
        account: String,
        /// The key's id.
        key: KeyId,
        /// Why, where it was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// An advisory was published about versions of a skill.
    Advisory {
        /// What it is referred to by.
        id: String,
        /// The whole name.
        name: QualifiedName,
        /// The versions that it is about: a semver requirement.
        versions: String,
        /// What it asks of clients.
        effect: Effect,
        /// What is wrong.
        summary: String,
        /// Who did it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// An advisory was taken back.
    AdvisoryWithdrawn {
        /// What it is referred to by.
        id: String,
        /// The whole name.
        name: QualifiedName,
        /// Who did it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Jobs of a build service may publish a skill, in the name of the account that says so.
    TrustedPublisherAdded {
        /// What it is removed by.
        id: String,
        /// The whole name.
        name: QualifiedName,
        /// The issuer of their identities.
        issuer: String,
        /// What an identity must say, claim by claim.
        claims: BTreeMap<String, String>,
        /// Who did it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// They may no more.
    TrustedPublisherRemoved {
        /// What it was referred to by.
        id: String,
        /// The whole name.
        name: QualifiedName,
        /// Who did it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The log has a new identity: other keys sign it from here on.
    LogIdentity {
        /// Its number.
        number: u64,
        /// SHA-256 of its canonical bytes.
        identity: Hash,
    },
    /// The root of the heads tree: the digest of every public document as of this leaf.
    Heads {
        /// The root.
        root: Hash,
    },
    /// Something about a private scope; see [`super::Sealed`].
    Blinded {
        /// SHA-256 of the salt and the record's canonical bytes.
        commitment: Hash,
    },
}

impl Record {
    /// The canonical bytes, RFC 8785: the leaf of a record that is not blinded.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Texts, lists of texts and one small number: nothing that serialisation can refuse.
        let Ok(serde_json::Value::Object(mut object)) = serde_json::to_value(&self.subject) else {
            return Vec::new();
        };
        object.insert("at".to_owned(), self.at.clone().into());
        object.insert("schema".to_owned(), LOG_SCHEMA.into());
        serde_json_canonicalizer::to_vec(&object).unwrap_or_default()
    }

    /// Reads canonical bytes, and nothing else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RecordError> {
        if bytes.len() > MAX_RECORD_BYTES {
            return Err(RecordError::TooLong(bytes.len()));
        }
        let shape = |error: serde_json::Error| RecordError::Shape(escape(&error.to_string()));
        let mut object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(bytes).map_err(shape)?;
        let mut text = |key: &str| match object.remove(key) {
            Some(serde_json::Value::String(text)) => Ok(text),
            _ => Err(RecordError::Shape(format!("it has no text `{key}`"))),
        };
        let schema = text("schema")?;
        if schema != LOG_SCHEMA {
            return Err(RecordError::Schema(schema));
        }
        let at = text("at")?;
        let subject = serde_json::from_value(object.into()).map_err(shape)?;
        let record = Self { at, subject };
        // Unknown fields go here as well: they are not written again.
        if record.to_bytes() == bytes { Ok(record) } else { Err(RecordError::NotCanonical) }
    }
}

impl Subject {
    /// The skill that it is about, where it is about one.
    pub fn skill(&self) -> Option<&QualifiedName> {
        match self {
            Self::Publish { name, .. }
            | Self::Yank { name, .. }
            | Self::Unyank { name, .. }
            | Self::VersionDeleted { name, .. }
            | Self::NameDeleted { name, .. }
            | Self::OwnerAdded { name, .. }
            | Self::OwnerRemoved { name, .. }
            | Self::Advisory { name, .. }
            | Self::AdvisoryWithdrawn { name, .. }
            | Self::TrustedPublisherAdded { name, .. }
            | Self::TrustedPublisherRemoved { name, .. } => Some(name),
            Self::ScopeAdded { .. }
            | Self::MemberAdded { .. }
            | Self::MemberRemoved { .. }
            | Self::KeyAdded { .. }
            | Self::KeyRevoked { .. }
            | Self::LogIdentity { .. }
            | Self::Heads { .. }
            | Self::Blinded { .. } => None,
        }
    }

    /// The word of its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Publish { .. } => "publish",
            Self::Yank { .. } => "yank",
            Self::Unyank { .. } => "unyank",
            Self::VersionDeleted { .. } => "version_deleted",
            Self::NameDeleted { .. } => "name_deleted",
            Self::OwnerAdded { .. } => "owner_added",
            Self::OwnerRemoved { .. } => "owner_removed",
            Self::ScopeAdded { .. } => "scope_added",
            Self::MemberAdded { .. } => "member_added",
            Self::MemberRemoved { .. } => "member_removed",
            Self::KeyAdded { .. } => "key_added",
            Self::KeyRevoked { .. } => "key_revoked",
            Self::Advisory { .. } => "advisory",
            Self::AdvisoryWithdrawn { .. } => "advisory_withdrawn",
            Self::TrustedPublisherAdded { .. } => "trusted_publisher_added",
            Self::TrustedPublisherRemoved { .. } => "trusted_publisher_removed",
            Self::LogIdentity { .. } => "log_identity",
            Self::Heads { .. } => "heads",
            Self::Blinded { .. } => "blinded",
        }
    }
}
