//! A value that knows where it was read.

use super::Json;

/// A JSON value and the bytes of the text it was read from.
#[derive(Debug)]
pub(crate) struct Node {
    /// Offset of its first byte.
    pub(crate) start: usize,
    /// Offset behind its last byte.
    pub(crate) end: usize,
    /// The value.
    pub(crate) value: NodeValue,
}

/// What a [`Node`] holds.
#[derive(Debug)]
pub(crate) enum NodeValue {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
}

/// One key of an object with its value.
#[derive(Debug)]
pub(crate) struct Member {
    /// Offset of the key's quotation mark.
    pub(crate) start: usize,
    /// The key.
    pub(crate) key: String,
    /// The value.
    pub(crate) node: Node,
}

impl Node {
    /// The members of an object.
    pub(crate) fn members(&self) -> Option<&[Member]> {
        match &self.value {
            NodeValue::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The items of an array.
    pub(crate) fn items(&self) -> Option<&[Node]> {
        match &self.value {
            NodeValue::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The text of a string.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            NodeValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a boolean.
    pub(crate) fn truth(&self) -> Option<bool> {
        match self.value {
            NodeValue::Bool(truth) => Some(truth),
            _ => None,
        }
    }

    /// A number as it was written.
    pub(crate) fn number(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The value under `key` of an object.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.members()?.iter().find(|member| member.key == key).map(|member| &member.node)
    }

    /// A copy of the value without its place.
    pub(crate) fn to_json(&self) -> Json {
        match &self.value {
            NodeValue::Null => Json::Null,
            NodeValue::Bool(truth) => Json::Bool(*truth),
            NodeValue::Number(number) => Json::Number(number.clone()),
            NodeValue::String(text) => Json::String(text.clone()),
            NodeValue::Array(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            NodeValue::Object(members) => Json::Object(
                members.iter().map(|member| (member.key.clone(), member.node.to_json())).collect(),
            ),
        }
    }
}

impl From<Node> for Json {
    fn from(node: Node) -> Self {
        match node.value {
            NodeValue::Null => Self::Null,
            NodeValue::Bool(truth) => Self::Bool(truth),
            NodeValue::Number(number) => Self::Number(number),
            NodeValue::String(text) => Self::String(text),
            NodeValue::Array(items) => Self::Array(items.into_iter().map(Self::from).collect()),
            NodeValue::Object(members) => Self::Object(
                members.into_iter().map(|member| (member.key, Self::from(member.node))).collect(),
            ),
        }
    }
}
