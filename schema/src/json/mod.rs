//! JSON whose numbers stay as they were written, read within bounds.
//!
//! A reader of its own, because a contract's fingerprint covers its numbers as written, because a
//! key given twice must be refused rather than one of the two be picked, and because every error
//! names its line, column and JSON pointer.

mod node;
mod pointer;
mod reader;
mod writer;

pub(crate) use node::{Node, NodeValue};
pub(crate) use pointer::Pointer;
pub(crate) use reader::{parse_node, place};
pub(crate) use writer::write_string;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it was written.
    Number(String),
    /// Text.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object, its keys in the order written, none twice.
    Object(Vec<(String, Json)>),
}

/// How much is read.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Most bytes of text.
    pub bytes: usize,
    /// Deepest nesting; a value that holds no other has depth 0. Never more than
    /// [`DEEPEST`] is read.
    pub depth: usize,
    /// Most values, the root among them.
    pub nodes: usize,
}

/// The deepest nesting that is read under any bounds, so that no input costs more stack than this.
pub const DEEPEST: usize = 256;

/// Text that is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at line {line}, column {column}")]
pub struct JsonError {
    /// Why.
    pub reason: JsonReason,
    /// JSON pointer of the value in which it stands; of a key given twice, that of its value.
    pub path: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
}

/// Why a text is not read as JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonReason {
    /// Not JSON (RFC 8259).
    #[error("{0}")]
    Syntax(String),
    /// A key twice in one object.
    #[error("the key `{}` stands twice", crate::diagnostic::escape(.0))]
    DuplicateKey(String),
    /// Over [`Bounds::bytes`].
    #[error("longer than {0} bytes")]
    TooLong(usize),
    /// Over [`Bounds::depth`].
    #[error("nested deeper than {0}")]
    TooDeep(usize),
    /// Over [`Bounds::nodes`].
    #[error("more than {0} values")]
    TooManyNodes(usize),
}

/// Reads one JSON value and nothing after it.
///
/// Strict: RFC 8259 without a byte-order mark, a key twice refused, an escape that is half of a
/// surrogate pair refused. The bounds are checked while reading: no input costs more memory than
/// they allow, nor more stack than [`DEEPEST`] levels.
pub fn parse(text: &str, bounds: &Bounds) -> Result<Json, JsonError> {
    parse_node(text, bounds).map(Json::from)
}

impl Json {
    /// Canonical text: keys sorted by code point, no spaces, numbers as written, strings escaped as
    /// JSON requires and no more.
    ///
    /// Control characters are written `\b`, `\t`, `\n`, `\f`, `\r` or else `\u00` and two lowercase
    /// hexadecimal digits.
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        writer::write(self, &mut text);
        text
    }

    /// The value under `key` of an object.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Self::Object(members) => {
                members.iter().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
