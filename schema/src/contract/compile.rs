//! From a schema's JSON to its compiled form.

use std::collections::{HashMap, HashSet};

use super::bind::{self, Budget};
use super::number::{Decimal, Range};
use super::shape::{Choices, Kind, Length, Object, Property, Shape, Text};
use super::{ContractError, MAX_DEPTH, MAX_NODES, MAX_PROPERTIES};
use crate::diagnostic::escape;
use crate::json::{self, Node, NodeValue, Pointer};
use crate::limits::MAX_CONTRACT_BYTES;

const TYPES: [&str; 6] = ["object", "array", "string", "integer", "number", "boolean"];
const UNION_KEYWORDS: &[&str] = &["oneOf", "description", "default"];
const FORMATS: [&str; 6] = ["date-time", "date", "time", "duration", "uuid", "uri"];
/// How many values of `enum` a message shows.
const SHOWN_CHOICES: usize = 12;

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

    fn object(&mut self, node: &'a Node, depth: usize) -> Result<Object, ContractError> {
        const CLOSED: &str = "an object must say `\"additionalProperties\": false`, or give the schema of its values";
        let others = match node.get("additionalProperties") {
            None => return Err(self.error(node.start, CLOSED)),
            Some(others) => match &others.value {
                NodeValue::Bool(false) => None,
                NodeValue::Object(_) => {
                    let key = "additionalProperties";
                    Some(Box::new(self.beneath(key, Which::Itself, others, depth + 1)?))
                }
                _ => return Err(self.error_at("additionalProperties", others, CLOSED)),
            },
        };
        let mut required = self.required(node)?;
        let mut properties = Vec::new();
        if let Some(declared) = node.get("properties") {
            let Some(members) = declared.members() else {
                let message = "`properties` must be an object of schemas";
                return Err(self.error_at("properties", declared, message));
            };
            if members.len() > MAX_PROPERTIES {
                let message = format!(
                    "an object of {} properties; the most is {MAX_PROPERTIES}",
                    members.len()
                );
                return Err(self.error_at("properties", declared, message));
            }
            for member in members {
                let named = Which::Named(&member.key);
                let shape = self.beneath("properties", named, &member.node, depth + 1)?;
                let required = required.remove(member.key.as_str()).is_some();
                properties.push(Property { name: member.key.clone(), required, shape });
            }
        }
        let undeclared = required.into_values().min_by_key(|node| node.start);
        if let Some(undeclared) = undeclared {
            let name = escape(undeclared.text().unwrap_or_default());
            let message = format!("`required` names `{name}`, which `properties` does not declare");
            return Err(self.error_at("required", undeclared, message));
        }
        properties.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(Object { properties, others })
    }

    fn required(&mut self, node: &'a Node) -> Result<HashMap<&'a str, &'a Node>, ContractError> {
        let mut required = HashMap::new();
        let Some(declared) = node.get("required") else { return Ok(required) };
        let Some(names) = declared.items() else {
            let message = "`required` must be a list of names";
            return Err(self.error_at("required", declared, message));
        };
        for one in names {
            let Some(name) = one.text() else {
                return Err(self.error_at("required", one, "`required` must be a list of names"));
            };
            if required.insert(name, one).is_some() {
                let message = format!("`required` names `{}` twice", escape(name));
                return Err(self.error_at("required", one, message));
            }
        }
        Ok(required)
    }

    fn array(&mut self, node: &'a Node, depth: usize) -> Result<Kind, ContractError> {
        let Some(items) = node.get("items") else {
            return Err(self.error(node.start, "an array needs `items`, the schema of its items"));
        };
        let length = self.length(node, "minItems", "maxItems")?;
        let items = Box::new(self.beneath("items", Which::Itself, items, depth + 1)?);
        Ok(Kind::Array { items, length })
    }

    fn string(&mut self, node: &'a Node) -> Result<Text, ContractError> {
        if let Some(format) = node.get("format")
            && !format.text().is_some_and(|name| FORMATS.contains(&name))
        {
            let message = format!("`format` must be one of {}", listed(&FORMATS));
            return Err(self.error_at("format", format, message));
        }
        let constant = match node.get("const") {
            None => None,
            Some(constant) => match constant.text() {
                Some(text) => Some(text.to_owned()),
                None => return Err(self.error_at("const", constant, "`const` must be a string")),
            },
        };
        let length = self.length(node, "minLength", "maxLength")?;
        let choices = match node.get("enum") {
            None => None,
            Some(choices) => Some(self.choices(choices)?),
        };
        Ok(Text { length, choices, constant })
    }

    fn choices(&mut self, node: &'a Node) -> Result<Choices, ContractError> {
        const STRINGS: &str = "`enum` must be a list of at least one string";
        let values = node.items().unwrap_or_default();
        if values.is_empty() {
            return Err(self.error_at("enum", node, STRINGS));
        }
        let mut choices = Choices { set: HashSet::new(), shown: Vec::new() };
        for value in values {
            let Some(text) = value.text() else {
                return Err(self.error_at("enum", value, STRINGS));
            };
            if !choices.set.insert(text.to_owned()) {
                let message = format!("`enum` holds `{}` twice", escape(text));
                return Err(self.error_at("enum", value, message));
            }
            if choices.shown.len() < SHOWN_CHOICES {
                choices.shown.push(text.to_owned());
            }
        }
        Ok(choices)
    }

    fn length(
        &mut self,
        node: &'a Node,
        least: &'a str,
        most: &'a str,
    ) -> Result<Length, ContractError> {
        let length = Length { least: self.count(node, least)?, most: self.count(node, most)? };
        match length {
            Length { least: Some(low), most: Some(high) } if low > high => {
                Err(self.error(node.start, format!("`{least}` is above `{most}`")))
            }
            _ => Ok(length),
        }
    }

    fn count(&mut self, node: &'a Node, key: &'a str) -> Result<Option<usize>, ContractError> {
        let Some(written) = node.get(key) else { return Ok(None) };
        // `-0` parses as a number and is not how a count is written.
        let count = written
            .number()
            .filter(|number| !number.starts_with('-'))
            .and_then(|number| number.parse::<i32>().ok())
            .and_then(|number| usize::try_from(number).ok());
        if count.is_some() {
            return Ok(count);
        }
        let message = format!("`{key}` must be an integer from 0 to {}", i32::MAX);
        Err(self.error_at(key, written, message))
    }

    fn range(&mut self, node: &'a Node, integer: bool) -> Result<Range, ContractError> {
        let mut range = Range {
            minimum: self.bound(node, "minimum")?,
            maximum: self.bound(node, "maximum")?,
            exclusive_minimum: self.bound(node, "exclusiveMinimum")?,
            exclusive_maximum: self.bound(node, "exclusiveMaximum")?,
            shown: Vec::new(),
        };
        for (key, words) in [
            ("minimum", "at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "below"),
        ] {
            if let Some(bound) = node.get(key).and_then(Node::number) {
                range.shown.push(format!("{words} {}", escape(bound)));
            }
        }
        if range.is_empty() {
            return Err(self.error(node.start, "the bounds cross: no number is within them"));
        }
        if integer && range.holds_no_integer() {
            let message = "no integer from -2^63 to 2^63 - 1 is within the bounds";
            return Err(self.error(node.start, message));
        }
        Ok(range)
    }

    fn bound(&mut self, node: &'a Node, key: &'a str) -> Result<Option<Decimal>, ContractError> {
        let Some(written) = node.get(key) else { return Ok(None) };
        let Some(number) = written.number() else {
            return Err(self.error_at(key, written, format!("`{key}` must be a number")));
        };
        let bound = Decimal::of(number);
        if bound.may_bound() {
            Ok(Some(bound))
        } else {
            Err(self.error_at(key, written, format!("the exponent of `{key}` is too great")))
        }
    }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
