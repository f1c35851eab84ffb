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
    let empty = r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#;
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
