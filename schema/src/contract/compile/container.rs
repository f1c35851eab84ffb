//! Schemas of objects and arrays.

use std::collections::HashMap;

use super::super::shape::{Kind, Length, Object, Property};
use super::super::{ContractError, MAX_PROPERTIES};
use super::{Compiler, Which};
use crate::diagnostic::escape;
use crate::json::{Node, NodeValue};

impl<'a> Compiler<'a> {
    pub(super) fn object(&mut self, node: &'a Node, depth: usize) -> Result<Object, ContractError> {
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

    pub(super) fn array(&mut self, node: &'a Node, depth: usize) -> Result<Kind, ContractError> {
        let Some(items) = node.get("items") else {
            return Err(self.error(node.start, "an array needs `items`, the schema of its items"));
        };
        let length = self.length(node, "minItems", "maxItems")?;
        let items = Box::new(self.beneath("items", Which::Itself, items, depth + 1)?);
        Ok(Kind::Array { items, length })
    }

    pub(super) fn length(
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
}
