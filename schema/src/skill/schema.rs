//! The JSON Schema of a tool's arguments.

use super::{Param, Tool};
use crate::json::Json;

fn text(value: &str) -> Json {
    Json::String(value.to_owned())
}

impl Tool {
    /// The JSON Schema of the arguments: closed, as Anthropic, OpenAI and MCP take it.
    pub fn schema(&self) -> Json {
        let properties =
            self.params.iter().map(|param| (param.name.clone(), property(param))).collect();
        let required = self
            .params
            .iter()
            .filter(|param| param.default.is_none())
            .map(|param| text(&param.name))
            .collect();
        Json::Object(vec![
            ("type".to_owned(), text("object")),
            ("properties".to_owned(), Json::Object(properties)),
            ("required".to_owned(), Json::Array(required)),
            ("additionalProperties".to_owned(), Json::Bool(false)),
        ])
    }
}

fn property(param: &Param) -> Json {
    let members = [
        ("type", Some(text(param.kind.name()))),
        ("format", param.format.as_deref().map(text)),
        ("enum", param.choices.clone().map(Json::Array)),
        ("description", param.description.as_deref().map(text)),
        ("default", param.default.clone()),
    ];
    Json::Object(
        members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect(),
    )
}
