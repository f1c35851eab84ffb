//! Schemas of strings and numbers.

use std::collections::HashSet;

use super::super::ContractError;
use super::super::number::{Decimal, Range};
use super::super::shape::{Choices, Text};
use super::{Compiler, listed};
use crate::diagnostic::escape;
use crate::json::Node;

pub(in super::super) const FORMATS: [&str; 6] =
    ["date-time", "date", "time", "duration", "uuid", "uri"];
/// How many values of `enum` a message shows.
const SHOWN_CHOICES: usize = 12;

impl<'a> Compiler<'a> {
    pub(super) fn string(&mut self, node: &'a Node) -> Result<Text, ContractError> {
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

    pub(super) fn range(&mut self, node: &'a Node, integer: bool) -> Result<Range, ContractError> {
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
