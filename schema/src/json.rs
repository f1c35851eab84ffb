//! JSON whose numbers stay as they were written, read within bounds.

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
    /// Deepest nesting; a value that holds no other has depth 0.
    pub depth: usize,
    /// Most values, the root among them.
    pub nodes: usize,
}

/// Text that is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at line {line}, column {column}")]
pub struct JsonError {
    /// Why.
    pub reason: JsonReason,
    /// JSON pointer of the value in which it stands.
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
pub fn parse(text: &str, bounds: &Bounds) -> Result<Json, JsonError> {
    let _ = (text, bounds);
    todo!()
}

impl Json {
    /// Canonical text: keys sorted by code point, no spaces, numbers as written, strings escaped as
    /// JSON requires and no more.
    pub fn canonical(&self) -> String {
        todo!()
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
