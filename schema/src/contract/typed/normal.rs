//! A generated schema in the form of contracts.

use serde_json::{Map, Value, json};

use super::super::ContractError;
use super::super::compile::FORMATS;

/// Annotations of a generated schema that say nothing about values.
const ANNOTATIONS: [&str; 6] =
    ["$schema", "title", "examples", "deprecated", "readOnly", "writeOnly"];
fn refused(path: &str, message: &str) -> ContractError {
    ContractError { path: path.to_owned(), message: message.to_owned(), line: None, column: None }
}

/// Brings a generated schema at `path` into the form of contracts.
pub(super) fn normalize(schema: &mut Value, path: &str) -> Result<(), ContractError> {
    let Value::Object(schema) = schema else {
        return Err(refused(path, "it takes any value; give it a type"));
    };
    if schema.contains_key("$ref") {
        return Err(refused(path, "the type holds itself, and contracts nest to a known depth"));
    }
    for annotation in ANNOTATIONS {
        schema.remove(annotation);
    }
    unwrap_nullable(schema);
    // Every value that one branch of the two takes is also what the type takes.
    if let Some(branches) = schema.remove("anyOf") {
        schema.insert("oneOf".to_owned(), branches);
    }
    if let Some(Value::Array(branches)) = schema.get_mut("oneOf") {
        for (position, branch) in branches.iter_mut().enumerate() {
            normalize(branch, &format!("{path}/oneOf/{position}"))?;
        }
        return Ok(());
    }
    if let Some(Value::Array(choices)) = schema.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    if !schema.get("format").and_then(Value::as_str).is_some_and(|name| FORMATS.contains(&name)) {
        schema.remove("format");
    }
    if is_of_type(schema, "object") {
        normalize_object(schema, path)?;
    }
    match schema.get_mut("items") {
        Some(items) => normalize(items, &format!("{path}/items")),
        None => Ok(()),
    }
}

fn normalize_object(schema: &mut Map<String, Value>, path: &str) -> Result<(), ContractError> {
    schema.entry("required").or_insert_with(|| json!([]));
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        for (name, property) in properties {
            let name = name.replace('~', "~0").replace('/', "~1");
            normalize(property, &format!("{path}/properties/{name}"))?;
        }
    }
    match schema.entry("additionalProperties").or_insert(json!(false)) {
        Value::Bool(false) => Ok(()),
        others => normalize(others, &format!("{path}/additionalProperties")),
    }
}

fn is_of_type(schema: &Map<String, Value>, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == name,
        Some(Value::Array(names)) => names.iter().any(|one| one == name),
        _ => false,
    }
}

/// Writes `anyOf` of a schema and `null` as that schema with `null` beside its type.
fn unwrap_nullable(schema: &mut Map<String, Value>) {
    let is_null = |branch: &Value| branch.get("type").is_some_and(|kind| kind == "null");
    let Some(Value::Array(branches)) = schema.get_mut("anyOf") else { return };
    let (Some(null), 2) = (branches.iter().position(is_null), branches.len()) else { return };
    branches.remove(null);
    let Some(Value::Object(mut inner)) = branches.pop() else { return };
    allow_null(&mut inner);
    schema.remove("anyOf");
    // What the outer schema says about the value, its description and default, stays.
    for (key, value) in inner {
        schema.entry(key).or_insert(value);
    }
}

fn allow_null(schema: &mut Map<String, Value>) {
    let union = if schema.contains_key("oneOf") { "oneOf" } else { "anyOf" };
    if let Some(Value::Array(branches)) = schema.get_mut(union) {
        // One branch takes `null`, so that never more than one does.
        if let Some(Value::Object(first)) = branches.first_mut() {
            allow_null(first);
        }
    } else if let Some(kind @ Value::String(_)) = schema.get_mut("type") {
        *kind = json!([kind.take(), "null"]);
    }
}
