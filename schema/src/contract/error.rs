//! Why a schema is no contract, and why arguments do not bind.

use std::fmt;

use crate::diagnostic::escape;

/// Why a schema is no contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", place(.path))]
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

/// Where in the schema it is; nothing of the schema as a whole.
fn place(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" (at `{}`)", escape(path)) }
}

/// Why arguments do not bind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}`: {message}", escape(.path))]
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
    /// A value of another kind; text that is no JSON, or is over a bound.
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

impl BindErrorCode {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::UnknownProperty => "unknown_property",
            Self::MissingRequiredProperty => "missing_required_property",
            Self::DuplicateProperty => "duplicate_property",
            Self::InvalidJsonKind => "invalid_json_kind",
            Self::NullNotAllowed => "null_not_allowed",
            Self::StringTooShort => "string_too_short",
            Self::StringTooLong => "string_too_long",
            Self::InvalidEnumValue => "invalid_enum_value",
            Self::InvalidConstValue => "invalid_const_value",
            Self::NumberOutOfRange => "number_out_of_range",
            Self::ArrayTooShort => "array_too_short",
            Self::ArrayTooLong => "array_too_long",
            Self::UnknownUnionDiscriminator => "unknown_union_discriminator",
            Self::AmbiguousUnionBranch => "ambiguous_union_branch",
        }
    }
}

impl fmt::Display for BindErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
