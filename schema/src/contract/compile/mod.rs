//! From a schema's JSON to its compiled form.

mod container;
mod scalar;

pub(super) use scalar::FORMATS;

use super::bind::{self, Budget};
use super::shape::{Kind, Shape};
use super::{ContractError, MAX_DEPTH, MAX_NODES};
use crate::diagnostic::escape;
use crate::json::{self, Node, NodeValue, Pointer};
use crate::limits::MAX_CONTRACT_BYTES;

const TYPES: [&str; 6] = ["object", "array", "string", "integer", "number", "boolean"];
const UNION_KEYWORDS: &[&str] = &["oneOf", "description", "default"];

/// The keywords that a schema of this type may have.
fn keywords(kind: &str) -> &'static [&'static str] {
    match kind {
        "object" => {
            &["type", "properties", "required", "additionalProperties", "description", "default"]
        }
        "array" => &["type", "items", "minItems", "maxItems", "description", "default"],
        "string" => {
            &["type", "enum", "const", "minLength", "maxLength", "format", "description", "default"]
        }
        "integer" | "number" => &[
            "type",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "description",
            "default",
        ],
        _ => &["type", "description", "default"],
    }
}

/// Compiles the schema that stands at `node` of `text`.
pub(super) fn compile(text: &str, node: &Node) -> Result<Shape, ContractError> {
    let mut compiler =
        Compiler { text, path: Pointer::default(), nodes: 0, budget: Budget::of_defaults() };
    if node.end - node.start > MAX_CONTRACT_BYTES {
        let message = format!("the schema is longer than {MAX_CONTRACT_BYTES} bytes");
        return Err(compiler.error(node.start, message));
    }
    compiler.root(node)
}

struct Compiler<'a> {
    text: &'a str,
    path: Pointer<'a>,
    nodes: usize,
    budget: Budget,
}

/// Which schema under a keyword is meant.
#[derive(Clone, Copy)]
enum Which<'a> {
    Itself,
    Named(&'a str),
    Item(usize),
}

impl<'a> Compiler<'a> {
    fn error(&self, offset: usize, message: impl Into<String>) -> ContractError {
        let (line, column) = json::place(self.text, offset);
        ContractError {
            path: self.path.to_string(),
            message: message.into(),
            line: Some(line),
            column: Some(column),
        }
    }

    /// An error at the keyword `key` of the schema that the compiler is in.
    fn error_at(&mut self, key: &'a str, node: &Node, message: impl Into<String>) -> ContractError {
        self.path.push_key(key);
        let error = self.error(node.start, message);
        self.path.pop();
        error
    }

    /// Compiles the schema under the keyword `key`, or one of those it holds.
    fn beneath(
        &mut self,
        key: &'a str,
        which: Which<'a>,
        node: &'a Node,
        depth: usize,
    ) -> Result<Shape, ContractError> {
        let outside = self.path.depth();
        self.path.push_key(key);
        match which {
            Which::Itself => {}
            Which::Named(name) => self.path.push_key(name),
            Which::Item(position) => self.path.push_item(position),
        }
        let shape = self.schema(node, depth)?;
        self.path.truncate(outside);
        Ok(shape)
    }

    fn root(&mut self, node: &'a Node) -> Result<Shape, ContractError> {
        let is_object = node.get("type").and_then(Node::text) == Some("object");
        let is_closed = node.get("additionalProperties").and_then(Node::truth) == Some(false);
        if node.members().is_some() && !(is_object && is_closed) {
            let message = "the root must be of `\"type\": \"object\"` with \
                           `\"additionalProperties\": false`";
            return Err(self.error(node.start, message));
        }
        self.schema(node, 0)
    }

    fn schema(&mut self, node: &'a Node, depth: usize) -> Result<Shape, ContractError> {
        if depth > MAX_DEPTH {
            return Err(self.error(node.start, format!("schemas nest deeper than {MAX_DEPTH}")));
        }
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(self.error(node.start, format!("more than {MAX_NODES} schemas")));
        }
        let NodeValue::Object(members) = &node.value else {
            return Err(self.error(node.start, "a schema must be an object"));
        };
        let union = node.get("oneOf");
        let (kind_name, nullable) = match union {
            Some(_) => ("union", false),
            None => self.kind(node)?,
        };
        let allowed = if union.is_some() { UNION_KEYWORDS } else { keywords(kind_name) };
        for member in members {
            if !allowed.contains(&member.key.as_str()) {
                let message = format!(
                    "the keyword `{}` is not supported in a schema of kind `{kind_name}`; it may \
                     have {}",
                    escape(&member.key),
                    listed(allowed),
                );
                return Err(self.error(member.start, message));
            }
        }
        if let Some(description) = node.get("description")
            && description.text().is_none()
        {
            return Err(self.error_at(
                "description",
                description,
                "a description must be a string",
            ));
        }
        let kind = match (union, kind_name) {
            (Some(branches), _) => Kind::Union(self.branches(branches, depth)?),
            (None, "object") => Kind::Object(self.object(node, depth)?),
            (None, "array") => self.array(node, depth)?,
            (None, "string") => Kind::String(self.string(node)?),
            (None, "integer") => Kind::Integer(self.range(node, true)?),
            (None, "number") => Kind::Number(self.range(node, false)?),
            (None, _) => Kind::Boolean,
        };
        let mut shape = Shape { kind, nullable, default: None };
        if let Some(default) = node.get("default") {
            let effective = bind::bind(&shape, &default.to_json(), &mut self.budget);
            shape.default = Some(effective.map_err(|error| {
                let place = if error.path.is_empty() {
                    String::new()
                } else {
                    format!(" at `{}`", escape(&error.path))
                };
                let message = format!(
                    "the default does not bind under its own schema{place}: {}",
                    error.message
                );
                self.error_at("default", default, message)
            })?);
        }
        Ok(shape)
    }

    /// The one type besides `null`, and whether `null` stands beside it.
    fn kind(&mut self, node: &'a Node) -> Result<(&'static str, bool), ContractError> {
        let Some(declared) = node.get("type") else {
            let message = format!("a schema needs a `type`, one of {}, or `oneOf`", listed(&TYPES));
            return Err(self.error(node.start, message));
        };
        let one = std::slice::from_ref(declared);
        let names = declared.items().unwrap_or(one);
        let mut kind = None;
        let mut nullable = false;
        for name in names {
            match name.text() {
                Some("null") if !nullable => nullable = true,
                Some(text) if kind.is_none() && TYPES.contains(&text) => {
                    kind = TYPES.into_iter().find(|known| *known == text);
                }
                _ => {
                    kind = None;
                    break;
                }
            }
        }
        if let Some(kind) = kind {
            return Ok((kind, nullable));
        }
        let message = format!(
            "`type` must name exactly one of {}, alone or in a list beside `null`",
            listed(&TYPES)
        );
        Err(self.error_at("type", declared, message))
    }

    fn branches(&mut self, node: &'a Node, depth: usize) -> Result<Vec<Shape>, ContractError> {
        let branches = node.items().unwrap_or_default();
        if branches.is_empty() {
            let message = "`oneOf` must be a list of at least one schema";
            return Err(self.error_at("oneOf", node, message));
        }
        let mut shapes = Vec::new();
        for (position, branch) in branches.iter().enumerate() {
            shapes.push(self.beneath("oneOf", Which::Item(position), branch, depth + 1)?);
        }
        Ok(shapes)
    }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
