//! Input contracts of scripts: a closed subset of JSON Schema, compiled the moment it is read.

use crate::address::Sha256Digest;

/// Why a schema is no contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at `{path}`)")]
pub struct ContractError {
    /// JSON pointer of the offending part of the schema; the root is empty.
    pub path: String,
    /// What is wrong and what was expected.
    pub message: String,
    /// Line in the schema's text, from 1, where known.
    pub line: Option<usize>,
    /// Column in characters, from 1, where known.
    pub column: Option<usize>,
}

/// Why arguments do not bind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: {message}")]
pub struct BindError {
    /// The reason.
    pub code: BindErrorCode,
    /// JSON pointer of the value; the whole arguments are empty.
    pub path: String,
    /// What was given and what was expected.
    pub message: String,
}

/// The reasons for which arguments do not bind. Their `snake_case` names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BindErrorCode {
    /// A property that the contract does not declare.
    UnknownProperty,
    /// A required property is absent.
    MissingRequiredProperty,
    /// A key given twice.
    DuplicateProperty,
    /// A value of another kind, or text that is no JSON.
    InvalidJsonKind,
    /// `null` where it is not allowed.
    NullNotAllowed,
    /// Fewer code points than `minLength`.
    StringTooShort,
    /// More code points than `maxLength`.
    StringTooLong,
    /// Not one of `enum`.
    InvalidEnumValue,
    /// Not `const`.
    InvalidConstValue,
    /// Outside `minimum`, `maximum` or their exclusive forms.
    NumberOutOfRange,
    /// Fewer items than `minItems`.
    ArrayTooShort,
    /// More items than `maxItems`.
    ArrayTooLong,
    /// No branch of `oneOf` accepts the value.
    UnknownUnionDiscriminator,
    /// More than one branch of `oneOf` accepts the value.
    AmbiguousUnionBranch,
}

/// A compiled contract.
#[derive(Debug, Clone, PartialEq)]
pub struct Contract {
    canonical: String,
    fingerprint: Sha256Digest,
}

impl Contract {
    /// Compiles the text of a schema.
    ///
    /// Memory and stack are bounded for any input.
    pub fn compile(schema: &str) -> Result<Self, ContractError> {
        let _ = schema;
        todo!()
    }

    /// The canonical text.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// SHA-256 of the canonical text.
    pub fn fingerprint(&self) -> Sha256Digest {
        self.fingerprint
    }

    /// Binds arguments: the effective JSON that a runner receives, defaults filled in.
    pub fn bind(&self, args: &str) -> Result<String, BindError> {
        let _ = args;
        todo!()
    }
}
