//! What a log says of a private document, which its heads tree does not list: signed, with the size
//! of the log for which it holds.

use serde::{Deserialize, Serialize};

use super::merkle::Hash;
use super::note::{NoteKey, SignatureKind};
use crate::diagnostic::escape;
use crate::name::QualifiedName;
use crate::signature::{Envelope, PublicKey, SigningKey};

/// The `schema` of a statement.
const SCHEMA: &str = "skillpkg.document-statement/1";
/// The payload type of its envelope.
const PAYLOAD_TYPE: &str = "application/vnd.skillpkg.document-statement+json";

/// That a private document has these bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentStatement {
    schema: String,
    /// The log's origin.
    pub origin: String,
    /// Leaves in the log when this held.
    pub size: u64,
    /// The skill.
    pub name: QualifiedName,
    /// SHA-256 of the document's bytes; absent where there is no such skill.
    pub document: Option<Hash>,
}

/// Why a statement says nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    /// The envelope holds something else.
    #[error("the envelope holds a `{}`, not a statement about a document", escape(.0))]
    PayloadType(String),
    /// Not JSON of this shape in canonical form.
    #[error("the statement does not have the shape of one: {0}")]
    Shape(String),
    /// About another log, size or skill.
    #[error("the statement is about `{}` in a log `{}` of {size} leaves, which was not asked for", escape(.name), escape(.origin))]
    Other {
        /// The skill.
        name: String,
        /// The log.
        origin: String,
        /// Its size.
        size: u64,
    },
    /// No key of the log has signed it, or a signature does not verify.
    #[error("no key of the log has signed the statement")]
    NotSigned,
}

/// Signs a statement with the key that signs checkpoints.
pub fn sign_document(
    origin: &str,
    size: u64,
    name: &QualifiedName,
    document: Option<Hash>,
    key: &SigningKey,
) -> Envelope {
    let (schema, origin) = (SCHEMA.to_owned(), origin.to_owned());
    let statement = DocumentStatement { schema, origin, size, name: name.clone(), document };
    let payload = serde_json_canonicalizer::to_vec(&statement).unwrap_or_default();
    Envelope::sign(PAYLOAD_TYPE, &payload, std::slice::from_ref(key))
}

/// The digest of the document of `name` in the log `origin` of `size` leaves; [`None`] in it where
/// there is no such skill.
pub fn verify_document(
    envelope: &Envelope,
    origin: &str,
    size: u64,
    name: &QualifiedName,
    keys: &[NoteKey],
) -> Result<Option<Hash>, StatementError> {
    if envelope.payload_type() != PAYLOAD_TYPE {
        return Err(StatementError::PayloadType(envelope.payload_type().to_owned()));
    }
    let keys: Vec<PublicKey> = keys
        .iter()
        .filter(|key| key.kind() == SignatureKind::Ed25519)
        .map(|key| *key.key())
        .collect();
    if envelope.verified_by(&keys).is_none_or(|verified| verified.is_empty()) {
        return Err(StatementError::NotSigned);
    }
    let payload = envelope.payload();
    let statement: DocumentStatement = serde_json::from_slice(&payload)
        .map_err(|error| StatementError::Shape(escape(&error.to_string())))?;
    let again = serde_json_canonicalizer::to_vec(&statement).unwrap_or_default();
    if statement.schema != SCHEMA || again != payload {
        let reason = "it is not in canonical form (RFC 8785), or of another schema";
        return Err(StatementError::Shape(reason.to_owned()));
    }
    if statement.origin != origin || statement.size != size || statement.name != *name {
        return Err(StatementError::Other {
            name: statement.name.to_string(),
            origin: statement.origin,
            size: statement.size,
        });
    }
    Ok(statement.document)
}
