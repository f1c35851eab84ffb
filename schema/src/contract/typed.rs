//! Contracts made from Rust types.

use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{BindError, Contract, ContractError};
use crate::address::Sha256Digest;
use crate::diagnostic::escape;
use crate::difference;

/// Annotations of a generated schema that say nothing about values.
const ANNOTATIONS: [&str; 6] =
    ["$schema", "title", "examples", "deprecated", "readOnly", "writeOnly"];
/// Formats of strings that a contract may name.
const FORMATS: [&str; 6] = ["date-time", "date", "time", "duration", "uuid", "uri"];

/// The contract of a script whose arguments a Rust host holds as a `T`.
///
/// The schema that [`schemars`] derives for `T` is brought into the form of contracts: types stand
/// where they are used, objects are closed and list their `properties` and `required`, titles and
/// the widths of numbers are dropped. So a type and a hand-written schema that say the same have
/// the same canonical text and the same fingerprint. A default of serde's is the contract's too
/// where the field's type implements [`serde::Serialize`], and is the type's own business where it
/// does not.
///
/// ```
/// use skillpkg_schema::contract::schemars::{self, JsonSchema};
/// use skillpkg_schema::contract::{Contract, TypedContract};
///
/// #[derive(JsonSchema, serde::Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// struct Normalize {
///     input_file: String,
///     #[schemars(range(min = 1, max = 100_000))]
///     #[serde(default = "thousand")]
///     maximum_rows: i64,
/// }
///
/// fn thousand() -> i64 {
///     1000
/// }
///
/// let typed = TypedContract::<Normalize>::new()?;
/// let written = Contract::compile(
///     r#"{"type": "object",
///         "properties": {
///             "inputFile": {"type": "string"},
///             "maximumRows": {"type": "integer", "minimum": 1, "maximum": 100000, "default": 1000}},
///         "required": ["inputFile"],
///         "additionalProperties": false}"#,
/// )?;
/// typed.matches(&written)?;
///
/// let (effective, arguments) = typed.bind(r#"{"inputFile": "sales.csv"}"#)?;
/// assert_eq!(effective, r#"{"inputFile":"sales.csv","maximumRows":1000}"#);
/// assert_eq!((arguments.input_file.as_str(), arguments.maximum_rows), ("sales.csv", 1000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TypedContract<T> {
    contract: Contract,
    bound: PhantomData<fn() -> T>,
}

/// Why arguments do not become a value of the host's type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypedBindError {
    /// The contract does not take them.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The contract takes them and the type does not: a number that is too great for its width,
    /// a check of the type's own.
    #[error("the arguments bind and are no `{type_name}`: {reason}")]
    Type {
        /// The name of the type's schema.
        type_name: String,
        /// What its deserialiser says.
        reason: String,
    },
}

/// A type and a script that do not mean the same contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the contract of `{type_name}` is {expected}, that of the script is {found}: {difference}")]
pub struct ContractMismatch {
    /// The name of the type's schema.
    pub type_name: String,
    /// Fingerprint of the type's contract.
    pub expected: Sha256Digest,
    /// Fingerprint of the other contract.
    pub found: Sha256Digest,
    /// JSON pointer of the first difference, in canonical order.
    pub path: Box<str>,
    /// What stands there in each.
    pub difference: Box<str>,
}

impl<T: JsonSchema + DeserializeOwned> TypedContract<T> {
    /// Makes the contract of `T`.
    ///
    /// # Errors
    ///
    /// Where contracts cannot say what `T` takes: a tuple, a map to any value, a map whose keys are
    /// not strings, a type that holds itself. The error names the place in the type's schema.
    pub fn new() -> Result<Self, ContractError> {
        let name = T::schema_name();
        let settings = SchemaSettings::draft2020_12().for_deserialize().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
        let of_type = |error: ContractError| ContractError {
            message: format!("`{name}` cannot be a contract: {}", error.message),
            line: None,
            column: None,
            ..error
        };
        normalize(&mut schema, "").map_err(of_type)?;
        let contract = Contract::compile(&schema.to_string()).map_err(of_type)?;
        Ok(Self { contract, bound: PhantomData })
    }

    /// The contract.
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// Whether a script's contract is this one.
    pub fn matches(&self, other: &Contract) -> Result<(), ContractMismatch> {
        if self.contract == *other {
            return Ok(());
        }
        let read = |contract: &Contract| {
            serde_json::from_str::<Value>(contract.canonical()).unwrap_or_default()
        };
        let (mine, others) = (read(&self.contract), read(other));
        // Numbers that are written differently may be equal values.
        let (path, said) = match difference::first(Some(&mine), Some(&others)) {
            Some(found) => (found.path.clone(), found.said("the type", "the script")),
            None => (String::new(), "numbers are written differently".to_owned()),
        };
        Err(ContractMismatch {
            type_name: T::schema_name().into_owned(),
            expected: self.contract.fingerprint(),
            found: other.fingerprint(),
            path: path.into(),
            difference: said.into(),
        })
    }

    /// Binds arguments: the effective JSON, and the value that it is.
    pub fn bind(&self, args: &str) -> Result<(String, T), TypedBindError> {
        let effective = self.contract.bind(args)?;
        let value = serde_json::from_str(&effective).map_err(|error| TypedBindError::Type {
            type_name: T::schema_name().into_owned(),
            reason: escape(&error.to_string()),
        })?;
        Ok((effective, value))
    }
}

impl<T> Clone for TypedContract<T> {
    fn clone(&self) -> Self {
        Self { contract: self.contract.clone(), bound: PhantomData }
    }
}

impl<T> fmt::Debug for TypedContract<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Typed{:?}", self.contract)
    }
}

fn refused(path: &str, message: &str) -> ContractError {
    ContractError { path: path.to_owned(), message: message.to_owned(), line: None, column: None }
}

/// Brings a generated schema at `path` into the form of contracts.
fn normalize(schema: &mut Value, path: &str) -> Result<(), ContractError> {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, JsonSchema, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Normalize {
        input_file: String,
        #[schemars(range(min = 1, max = 100_000))]
        #[serde(default = "thousand")]
        maximum_rows: u32,
    }

    fn thousand() -> u32 {
        1000
    }

    #[derive(JsonSchema, Deserialize, serde::Serialize, Default)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        #[default]
        Fast,
        Exact,
    }

    #[derive(JsonSchema, Deserialize)]
    #[serde(tag = "kind", rename_all = "lowercase")]
    #[expect(dead_code, reason = "only the schema is looked at")]
    enum Target {
        File { path: String },
        Table { name: String, rows: Option<i64> },
    }

    #[derive(JsonSchema, Deserialize)]
    #[expect(dead_code, reason = "only the schema is looked at")]
    struct Everything {
        /// Which columns.
        #[schemars(length(min = 1, max = 9))]
        columns: Vec<String>,
        note: Option<String>,
        #[serde(default)]
        mode: Mode,
        fallback: Option<Mode>,
        labels: BTreeMap<String, i64>,
        ratio: f64,
        nested: Vec<Normalize>,
        target: Target,
        other: Option<Target>,
        #[serde(default)]
        dry: bool,
        whole: Option<Normalize>,
    }

    fn refusal<T: JsonSchema + DeserializeOwned>() -> ContractError {
        match TypedContract::<T>::new() {
            Ok(contract) => panic!("{contract:?} was made"),
            Err(error) => error,
        }
    }

    #[test]
    fn a_type_has_the_fingerprint_of_the_schema_written_by_hand() {
        let typed = TypedContract::<Normalize>::new().unwrap();
        let fingerprint = "b7ad20e4a8a62d85836ec0f3d8e4ecf6ccb9f40fe3cd711bd3af34500376b41f";
        assert_eq!(typed.contract().fingerprint().to_string(), fingerprint);
    }

    #[test]
    fn every_shape_that_contracts_know_has_the_text_one_would_write() {
        let normalize = r#"{"type":TYPE,"additionalProperties":false,"required":["inputFile"],"properties":{
            "inputFile":{"type":"string"},
            "maximumRows":{"type":"integer","minimum":1,"maximum":100000,"default":1000}}}"#;
        let target = |kind: &str| {
            format!(
                r#"{{"oneOf":[
            {{"type":{kind},"additionalProperties":false,"required":["kind","path"],"properties":{{
                "kind":{{"type":"string","const":"file"}},"path":{{"type":"string"}}}}}},
            {{"type":"object","additionalProperties":false,"required":["kind","name"],"properties":{{
                "kind":{{"type":"string","const":"table"}},"name":{{"type":"string"}},
                "rows":{{"type":["integer","null"]}}}}}}]}}"#
            )
        };
        let written = format!(
            r#"{{"type":"object","additionalProperties":false,
            "required":["columns","labels","ratio","nested","target"],
            "properties":{{
                "columns":{{"description":"Which columns.","type":"array","items":{{"type":"string"}},"minItems":1,"maxItems":9}},
                "note":{{"type":["string","null"]}},
                "mode":{{"type":"string","enum":["fast","exact"],"default":"fast"}},
                "fallback":{{"type":["string","null"],"enum":["fast","exact"]}},
                "labels":{{"type":"object","properties":{{}},"required":[],"additionalProperties":{{"type":"integer"}}}},
                "ratio":{{"type":"number"}},
                "nested":{{"type":"array","items":{}}},
                "target":{},
                "other":{},
                "dry":{{"type":"boolean","default":false}},
                "whole":{}}}}}"#,
            normalize.replace("TYPE", r#""object""#),
            target(r#""object""#),
            target(r#"["object","null"]"#),
            normalize.replace("TYPE", r#"["object","null"]"#),
        );
        let typed = TypedContract::<Everything>::new().unwrap();
        if let Err(mismatch) = typed.matches(&Contract::compile(&written).unwrap()) {
            panic!("{mismatch}\n{}", typed.contract().canonical());
        }
    }

    #[test]
    fn an_empty_type_is_the_empty_contract() {
        #[derive(JsonSchema, Deserialize)]
        struct Nothing {}
        let empty =
            r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#;
        let typed = TypedContract::<Nothing>::new().unwrap();
        assert_eq!(typed.matches(&Contract::compile(empty).unwrap()), Ok(()));
    }

    #[test]
    fn what_contracts_cannot_say_is_refused_by_its_place() {
        #[derive(JsonSchema, Deserialize)]
        #[expect(dead_code, reason = "only the schema is looked at")]
        struct Pair {
            pair: (String, i64),
        }
        #[derive(JsonSchema, Deserialize)]
        #[expect(dead_code, reason = "only the schema is looked at")]
        struct Anything {
            anything: BTreeMap<String, Value>,
        }
        #[derive(JsonSchema, Deserialize)]
        #[expect(dead_code, reason = "only the schema is looked at")]
        struct Numbered {
            numbered: BTreeMap<u8, String>,
        }
        #[derive(JsonSchema, Deserialize)]
        #[expect(dead_code, reason = "only the schema is looked at")]
        struct Tree {
            children: Vec<Tree>,
        }
        #[derive(JsonSchema, Deserialize)]
        #[expect(dead_code, reason = "only the schema is looked at")]
        struct Unique {
            set: std::collections::BTreeSet<String>,
        }
        for (error, path) in [
            (refusal::<Pair>(), "/properties/pair"),
            (refusal::<Anything>(), "/properties/anything/additionalProperties"),
            (refusal::<Numbered>(), "/properties/numbered"),
            (refusal::<Tree>(), "/properties/children/items"),
            (refusal::<Unique>(), "/properties/set"),
            (refusal::<String>(), ""),
            (refusal::<Vec<String>>(), ""),
        ] {
            assert_eq!(error.path, path, "{error}");
            assert!(error.message.contains("cannot be a contract"), "{error}");
        }
    }

    #[test]
    fn a_mismatch_names_both_fingerprints_and_the_first_difference() {
        let typed = TypedContract::<Normalize>::new().unwrap();
        let other = typed.contract().canonical().replace("100000", "5000");
        let other = Contract::compile(&other).unwrap();
        let mismatch = typed.matches(&other).unwrap_err();
        assert_eq!(&*mismatch.path, "/properties/maximumRows/maximum");
        assert_eq!(mismatch.expected, typed.contract().fingerprint());
        assert_eq!(mismatch.found, other.fingerprint());
        assert!(mismatch.difference.contains("`100000`, the script has `5000`"), "{mismatch}");
        let other = Contract::compile(r#"{"type":"object","additionalProperties":false}"#).unwrap();
        assert_eq!(&*typed.matches(&other).unwrap_err().path, "/properties");
        let other = typed.contract().canonical().replace(":1000,", ":1000,\"description\":\"d\",");
        let mismatch = typed.matches(&Contract::compile(&other).unwrap()).unwrap_err();
        assert_eq!(&*mismatch.path, "/properties/maximumRows/description");
    }

    #[derive(Debug, JsonSchema, Deserialize)]
    #[expect(dead_code, reason = "no value is made")]
    struct Narrow {
        number: i32,
    }

    #[test]
    fn binding_gives_the_effective_text_and_the_value_it_is() {
        let typed = TypedContract::<Normalize>::new().unwrap();
        let (effective, value) = typed.bind(r#"{"maximumRows":5,"inputFile":"a"}"#).unwrap();
        assert_eq!(effective, r#"{"inputFile":"a","maximumRows":5}"#);
        assert_eq!(value, Normalize { input_file: "a".to_owned(), maximum_rows: 5 });
        assert!(matches!(typed.bind("{}"), Err(TypedBindError::Bind(_))));

        let typed = TypedContract::<Narrow>::new().unwrap();
        let error = typed.bind(r#"{"number":3000000000}"#).unwrap_err();
        assert!(matches!(error, TypedBindError::Type { .. }), "{error}");
    }
}
