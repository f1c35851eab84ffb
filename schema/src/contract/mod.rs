//! Input contracts of scripts: a closed subset of JSON Schema, compiled the moment it is read.
//!
//! Whatever a contract does not understand it refuses, so that no keyword is ever taken for a check
//! that nobody makes. [`TypedContract`] makes the same contract from a Rust type.

mod bind;
mod compile;
mod error;
mod number;
mod shape;
mod typed;

use std::fmt;
use std::sync::Arc;

use crate::address::Sha256Digest;
use crate::diagnostic::escape;
use crate::json::{self, Bounds, JsonReason, Node};
use crate::limits::{MAX_ARGUMENT_BYTES, MAX_CONTRACT_BYTES};

use shape::Shape;

pub use error::{BindError, BindErrorCode, ContractError};
pub use schemars;
pub use typed::{ContractMismatch, TypedBindError, TypedContract};

/// Deepest nesting of schemas; the root is 0.
pub const MAX_DEPTH: usize = 32;
/// Most schemas in a contract, the root among them.
pub const MAX_NODES: usize = 2_048;
/// Most properties that one object declares.
pub const MAX_PROPERTIES: usize = 512;
/// Most bytes that the defaults of a contract come to, and most that they add to one call.
pub const MAX_DEFAULT_BYTES: usize = 4 * 1024 * 1024;

/// A schema lies at most two JSON levels beneath the one that holds it, and a default that binds
/// nests no deeper than its schema.
const MAX_SCHEMA_JSON_DEPTH: usize = 2 * MAX_DEPTH + 4;
/// Deeper arguments than any contract takes, so that what is wrong with them is said by their path.
const MAX_ARGUMENT_JSON_DEPTH: usize = 4 * MAX_DEPTH;

/// A compiled contract.
///
/// Two contracts are equal when their canonical texts are.
#[derive(Clone)]
pub struct Contract {
    canonical: Arc<str>,
    fingerprint: Sha256Digest,
    shape: Arc<Shape>,
}

impl Contract {
    /// Compiles the text of a schema.
    ///
    /// Memory, time and stack are bounded for any input: the text by [`MAX_CONTRACT_BYTES`], its
    /// schemas by [`MAX_DEPTH`], [`MAX_NODES`] and [`MAX_PROPERTIES`], what its defaults come to by
    /// [`MAX_DEFAULT_BYTES`].
    pub fn compile(schema: &str) -> Result<Self, ContractError> {
        let bounds = Bounds {
            bytes: MAX_CONTRACT_BYTES,
            depth: MAX_SCHEMA_JSON_DEPTH,
            nodes: MAX_CONTRACT_BYTES,
        };
        let node = json::parse_node(schema, &bounds).map_err(|error| ContractError {
            message: match error.reason {
                JsonReason::TooLong(most) => format!("the schema is longer than {most} bytes"),
                reason => format!("the schema is not read: {reason}"),
            },
            path: error.path,
            line: Some(error.line),
            column: Some(error.column),
        })?;
        Self::compile_node(schema, &node)
    }

    /// Compiles a schema that stands at `node` of a longer `text`, whose lines errors name.
    pub(crate) fn compile_node(text: &str, node: &Node) -> Result<Self, ContractError> {
        let shape = compile::compile(text, node)?;
        let canonical = node.to_json().canonical();
        let fingerprint = Sha256Digest::of(canonical.as_bytes());
        Ok(Self { canonical: canonical.into(), fingerprint, shape: Arc::new(shape) })
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
    ///
    /// Reads at most [`MAX_ARGUMENT_BYTES`]; defaults add at most [`MAX_DEFAULT_BYTES`]. An object
    /// holds its declared properties sorted, then a typed dictionary's other keys sorted. Numbers
    /// stay as given. A required property must be given even where it has a default.
    pub fn bind(&self, args: &str) -> Result<String, BindError> {
        let bounds = Bounds {
            bytes: MAX_ARGUMENT_BYTES,
            depth: MAX_ARGUMENT_JSON_DEPTH,
            nodes: MAX_ARGUMENT_BYTES,
        };
        let value = json::parse(args, &bounds).map_err(|error| match error.reason {
            JsonReason::DuplicateKey(key) => BindError {
                code: BindErrorCode::DuplicateProperty,
                message: format!("the property `{}` is given twice", escape(&key)),
                path: error.path,
            },
            _ => BindError {
                code: BindErrorCode::InvalidJsonKind,
                message: format!("the arguments are not read as JSON: {error}"),
                path: error.path,
            },
        })?;
        bind::bind(&self.shape, &value, &mut bind::Budget::of_call())
    }
}

impl PartialEq for Contract {
    fn eq(&self, other: &Self) -> bool {
        self.canonical == other.canonical
    }
}

impl Eq for Contract {}

impl fmt::Debug for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Contract({})", self.canonical)
    }
}

#[cfg(test)]
mod tests;
