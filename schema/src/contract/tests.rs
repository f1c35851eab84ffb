use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// A contract with one property `v` of this schema.
fn one(schema: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"v":{schema}}},"additionalProperties":false}}"#)
}

fn contract(schema: &str) -> Contract {
    Contract::compile(&one(schema)).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

fn refused(schema: &str) -> ContractError {
    match Contract::compile(&one(schema)) {
        Ok(_) => panic!("{schema} was taken"),
        Err(error) => error,
    }
}

/// What `value` binds to as `v`, or the code of the refusal.
fn bound(schema: &str, value: &str) -> Result<String, &'static str> {
    match contract(schema).bind(&format!(r#"{{"v":{value}}}"#)) {
        Ok(effective) => Ok(effective[5..effective.len() - 1].to_owned()),
        Err(error) => Err(error.code.name()),
    }
}

#[test]
fn every_keyword_is_taken_where_it_belongs_and_nowhere_else() {
    let homes = [
        ("properties", "{}", "object"),
        ("required", "[]", "object"),
        ("items", r#"{"type":"string"}"#, "array"),
        ("minItems", "0", "array"),
        ("maxItems", "1", "array"),
        ("enum", r#"["a"]"#, "string"),
        ("const", r#""a""#, "string"),
        ("minLength", "0", "string"),
        ("maxLength", "1", "string"),
        ("format", r#""uri""#, "string"),
        ("minimum", "0", "number"),
        ("maximum", "1", "number"),
        ("exclusiveMinimum", "0", "number"),
        ("exclusiveMaximum", "1", "number"),
        ("additionalProperties", "false", "object"),
        ("title", r#""t""#, "none"),
        ("$schema", r#""s""#, "none"),
        ("$ref", r##""#""##, "none"),
        ("anyOf", "[]", "none"),
        ("pattern", r#""a""#, "none"),
        ("nullable", "true", "none"),
    ];
    for kind in ["object", "array", "string", "integer", "number", "boolean"] {
        let needed = match kind {
            "object" => r#","additionalProperties":false"#,
            "array" => r#","items":{"type":"boolean"}"#,
            _ => "",
        };
        for (keyword, value, home) in homes {
            let belongs = kind == home || (home == "number" && kind == "integer");
            let needed = if needed.contains(keyword) { "" } else { needed };
            // `0 < integer < 1` would leave nothing; one bound at a time does not.
            let schema = format!(r#"{{"type":"{kind}","{keyword}":{value}{needed}}}"#);
            let taken = Contract::compile(&one(&schema));
            assert_eq!(taken.is_ok(), belongs, "{schema}: {taken:?}");
        }
        let described = format!(r#"{{"type":"{kind}","description":"d"{needed}}}"#);
        contract(&described);
        refused(&described.replace(r#""d""#, "1"));
    }
}

#[test]
fn a_schema_is_of_exactly_one_type_besides_null() {
    for taken in [r#""string""#, r#"["string"]"#, r#"["null","string"]"#, r#"["string","null"]"#] {
        contract(&format!(r#"{{"type":{taken}}}"#));
    }
    for not in [
        r#""null""#,
        r#"["null"]"#,
        "[]",
        r#"["string","integer"]"#,
        r#"["string","string"]"#,
        r#"["string","null","null"]"#,
        r#"[["string"]]"#,
        r#""text""#,
        r#""String""#,
        "null",
        "1",
        "{}",
    ] {
        let error = refused(&format!(r#"{{"type":{not}}}"#));
        assert_eq!(error.path, "/properties/v/type", "{not}: {error}");
    }
}

#[test]
fn the_root_is_a_closed_object() {
    for root in [
        "null",
        "[]",
        "{}",
        r#"{"type":["object","null"],"additionalProperties":false}"#,
        r#"{"type":"object","additionalProperties":{"type":"string"}}"#,
        r#"{"oneOf":[{"type":"object","additionalProperties":false}]}"#,
        r#"{"type":"object","additionalProperties":null}"#,
    ] {
        assert!(Contract::compile(root).is_err(), "{root} was taken");
    }
    assert!(Contract::compile(r#"{"type":"object","additionalProperties":false}"#).is_ok());
}

#[test]
fn what_contradicts_itself_is_refused() {
    for schema in [
        r#"{"type":"string","enum":[]}"#,
        r#"{"type":"string","enum":["a","a"]}"#,
        r#"{"type":"string","enum":["a",null]}"#,
        r#"{"type":"string","enum":"a"}"#,
        r#"{"type":"string","const":1}"#,
        r#"{"type":"string","minLength":2,"maxLength":1}"#,
        r#"{"type":"string","minLength":-1}"#,
        r#"{"type":"string","minLength":-0}"#,
        r#"{"type":"string","minLength":1.0}"#,
        r#"{"type":"string","maxLength":2147483648}"#,
        r#"{"type":"string","maxLength":"1"}"#,
        r#"{"type":"string","format":1}"#,
        r#"{"type":"array","items":{"type":"string"},"minItems":2,"maxItems":1}"#,
        r#"{"type":"array","items":[{"type":"string"}]}"#,
        r#"{"type":"array","items":true}"#,
        r#"{"type":"number","minimum":"1"}"#,
        r#"{"type":"number","minimum":1,"exclusiveMaximum":1}"#,
        r#"{"type":"number","exclusiveMinimum":1,"exclusiveMaximum":1}"#,
        r#"{"type":"number","minimum":9007199254740993,"maximum":9007199254740992}"#,
        r#"{"type":"number","maximum":1e99999999999999999999}"#,
        r#"{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":1}"#,
        r#"{"type":"integer","minimum":1e400}"#,
        r#"{"type":"object","additionalProperties":false,"properties":[]}"#,
        r#"{"type":"object","additionalProperties":false,"required":["a"]}"#,
        r#"{"type":"object","additionalProperties":false,"required":"a"}"#,
        r#"{"type":"object","additionalProperties":false,"required":[1]}"#,
        r#"{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}},"required":["a","a"]}"#,
        r#"{"type":"object","additionalProperties":true}"#,
        r#"{"oneOf":{}}"#,
        r#"{"oneOf":[{"type":"string"}],"type":"string"}"#,
        r#"{"oneOf":[{"type":"null"}]}"#,
        r#"{"oneOf":[{"type":"string"}],"default":1}"#,
        r#"{"oneOf":[{"type":"string"},{"type":"string"}],"default":"a"}"#,
        r#"{"type":"string","default":null}"#,
        r#"{"type":"integer","default":1.0}"#,
        r#"{"type":"array","items":{"type":"integer","maximum":1},"default":[1,2]}"#,
        r#"{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}},"required":["a"],"default":{}}"#,
        "true",
        "null",
    ] {
        refused(schema);
    }
}

#[test]
fn an_error_names_its_place_in_the_schema() {
    let schema = "{\"type\": \"object\", \"additionalProperties\": false,\n \"properties\": {\"a/b\":\n   {\"type\": \"array\", \"items\": {\"type\": \"string\",\n     \"pattern\": \"x\"}}}}";
    let error = Contract::compile(schema).unwrap_err();
    assert_eq!(error.path, "/properties/a~1b/items");
    assert_eq!((error.line, error.column), (Some(4), Some(6)));
    assert!(error.message.contains("`pattern`"), "{error}");
    let error = Contract::compile("{\"type\":\n  nil}").unwrap_err();
    assert_eq!((error.path.as_str(), error.line, error.column), ("/type", Some(2), Some(3)));
}

#[test]
fn limits_hold_at_their_edges() {
    let nested = |levels: usize| {
        let open = r#"{"type":"array","items":"#.repeat(levels - 1);
        one(&format!(r#"{open}{{"type":"string"}}{}"#, "}".repeat(levels - 1)))
    };
    assert!(Contract::compile(&nested(MAX_DEPTH)).is_ok());
    assert!(Contract::compile(&nested(MAX_DEPTH + 1)).is_err());

    let branches = |count: usize| {
        let branches = vec![r#"{"type":"string"}"#; count].join(",");
        one(&format!(r#"{{"oneOf":[{branches}]}}"#))
    };
    assert!(Contract::compile(&branches(MAX_NODES - 2)).is_ok());
    assert!(Contract::compile(&branches(MAX_NODES - 1)).is_err());

    let long = |bytes: usize| {
        let empty = one(r#"{"type":"string","description":""}"#);
        let filler = "x".repeat(bytes - empty.len());
        one(&format!(r#"{{"type":"string","description":"{filler}"}}"#))
    };
    assert!(Contract::compile(&long(MAX_CONTRACT_BYTES)).is_ok());
    assert!(Contract::compile(&long(MAX_CONTRACT_BYTES + 1)).is_err());

    let deepest = format!("{}{}", "[".repeat(MAX_DEPTH - 1), "]".repeat(MAX_DEPTH - 1));
    let open = r#"{"type":"array","items":"#.repeat(MAX_DEPTH - 1);
    let close = "}".repeat(MAX_DEPTH - 1);
    contract(&format!(r#"{open}{{"type":"string"}}{close}"#)).bind(&one_value(&deepest)).unwrap();
}

fn one_value(value: &str) -> String {
    format!(r#"{{"v":{value}}}"#)
}

#[test]
fn an_integer_fits_64_bits_and_has_neither_fraction_nor_exponent() {
    let integer = r#"{"type":"integer"}"#;
    for taken in ["0", "-0", "9223372036854775807", "-9223372036854775808"] {
        assert_eq!(bound(integer, taken), Ok(taken.to_owned()));
    }
    for not in ["1.0", "1e2", "9223372036854775808", "-9223372036854775809", "\"1\"", "true"] {
        assert_eq!(bound(integer, not), Err("invalid_json_kind"), "{not}");
    }
}

#[test]
fn bounds_are_compared_exactly() {
    let below = r#"{"type":"number","maximum":9007199254740992}"#;
    assert_eq!(bound(below, "9007199254740993"), Err("number_out_of_range"));
    assert_eq!(bound(below, "9007199254740992.0"), Ok("9007199254740992.0".to_owned()));
    let tenth = r#"{"type":"number","exclusiveMaximum":0.1}"#;
    assert_eq!(bound(tenth, "0.1000000000000000000000000"), Err("number_out_of_range"));
    assert!(bound(tenth, "0.09999999999999999999999999999").is_ok());
    let wide = r#"{"type":"number","minimum":-1e400,"maximum":1e400}"#;
    assert!(bound(wide, "1e400").is_ok() && bound(wide, "-10e399").is_ok());
    assert_eq!(bound(wide, "1.0001e400"), Err("number_out_of_range"));
    assert_eq!(bound(wide, "1e99999999999999999999999"), Err("number_out_of_range"));
    assert_eq!(bound(wide, "-1e401"), Err("number_out_of_range"));
}

#[test]
fn null_binds_where_it_stands_beside_the_type_and_nowhere_else() {
    assert_eq!(bound(r#"{"type":["integer","null"]}"#, "null"), Ok("null".to_owned()));
    assert_eq!(bound(r#"{"type":["string","null"],"enum":["a"]}"#, "null"), Ok("null".to_owned()));
    assert_eq!(
        bound(r#"{"type":"object","additionalProperties":false}"#, "null"),
        Err("null_not_allowed")
    );
    let union = r#"{"oneOf":[{"type":"string"},{"type":["integer","null"]}]}"#;
    assert_eq!(bound(union, "null"), Ok("null".to_owned()));
    assert_eq!(
        bound(&union.replace(r#"["integer","null"]"#, r#""integer""#), "null"),
        Err("unknown_union_discriminator")
    );
}

#[test]
fn effective_text_is_sorted_filled_and_otherwise_as_given() {
    let schema = r#"{"type":"object","additionalProperties":{"type":"number"},"properties":{
        "m":{"type":"object","additionalProperties":false,"default":{},"properties":{"n":{"type":"number","default":1.50}}},
        "é":{"type":"string"},"z":{"type":"array","items":{"type":"boolean"}}}}"#;
    assert_eq!(
        bound(schema, r#"{"b": 1E+2, "é": "\u0041\/\n", "a": -0.0, "z": [ true , false ]}"#),
        Ok(r#"{"m":{"n":1.50},"z":[true,false],"é":"A/\n","a":-0.0,"b":1E+2}"#.to_owned())
    );
}

#[test]
fn a_required_property_is_missed_even_where_it_has_a_default() {
    let schema = r#"{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"string","default":"x"}}}"#;
    assert_eq!(bound(schema, "{}"), Err("missing_required_property"));
}

#[test]
fn a_union_takes_the_one_branch_that_accepts() {
    let schema = r#"{"oneOf":[
        {"type":"object","additionalProperties":false,"required":["kind"],"properties":{"kind":{"type":"string","const":"a"},"n":{"type":"integer","default":1}}},
        {"type":"object","additionalProperties":false,"required":["kind"],"properties":{"kind":{"type":"string","const":"b"},"s":{"type":"array","items":{"oneOf":[{"type":"string"},{"type":"integer"}]}}}}
    ]}"#;
    assert_eq!(bound(schema, r#"{"kind":"a"}"#), Ok(r#"{"kind":"a","n":1}"#.to_owned()));
    assert_eq!(
        bound(schema, r#"{"s":["x",1],"kind":"b"}"#),
        Ok(r#"{"kind":"b","s":["x",1]}"#.to_owned())
    );
    assert_eq!(bound(schema, r#"{"kind":"c"}"#), Err("unknown_union_discriminator"));
    assert_eq!(bound(schema, r#"{"kind":"b","s":[true]}"#), Err("unknown_union_discriminator"));
    let open = r#"{"oneOf":[{"type":"object","additionalProperties":{"type":"string"}},{"type":"object","additionalProperties":{"type":"integer"}}]}"#;
    assert_eq!(bound(open, "{}"), Err("ambiguous_union_branch"));
    assert_eq!(bound(open, r#"{"a":1}"#), Ok(r#"{"a":1}"#.to_owned()));
}

#[test]
fn a_bind_error_names_its_place_and_what_was_expected() {
    let schema = r#"{"type":"array","items":{"type":"object","additionalProperties":false,"required":["a/b"],"properties":{"a/b":{"type":"string","enum":["x","y"]},"user":{"type":"integer","minimum":1,"exclusiveMaximum":9}}}}"#;
    let contract = contract(schema);
    for (value, path, part) in [
        (r#"[{"a/b":"z"}]"#, "/v/0/a~1b", "one of `x`, `y`, found `z`"),
        (r#"[{"a/b":"x"},{}]"#, "/v/1/a~1b", "`a/b` is missing"),
        (r#"[{"a/b":"x","usr":1}]"#, "/v/0/usr", "did you mean `user`?"),
        (r#"[{"a/b":"x","user":9}]"#, "/v/0/user", "at least 1 and below 9, found 9"),
        (r#"[{"a/b":"x","a/b":"x"}]"#, "/v/0/a~1b", "given twice"),
        ("[[]]", "/v/0", "expected an object, found an array"),
    ] {
        let error = contract.bind(&one_value(value)).unwrap_err();
        assert_eq!(error.path, path, "{error}");
        assert!(error.message.contains(part), "{error}");
    }
    for text in ["", "{", "nul", "{\"v\":\"\u{1}\"}", "{} {}"] {
        assert_eq!(contract.bind(text).unwrap_err().code, BindErrorCode::InvalidJsonKind);
    }
}

/// Fails where the work grows with the product of schema and arguments rather than stopping.
fn soon<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let answer = work();
    assert!(begun.elapsed() < Duration::from_secs(20), "{what} took {:?}", begun.elapsed());
    answer
}

#[test]
fn hostile_schemas_cost_bounded_work() {
    let fill = |piece: &str| piece.repeat(MAX_CONTRACT_BYTES / piece.len());
    for piece in [
        "[",
        "{\"a\":",
        "{",
        "\"",
        "{\"type\":\"array\",\"items\":",
        "{\"oneOf\":[",
        "0",
        "\\u0041",
    ] {
        assert!(soon(piece, || Contract::compile(&fill(piece))).is_err());
    }
    let names: Vec<String> = (0..30_000).map(|name| format!("\"{name}\"")).collect();
    let required = one(r#"{"type":"string"}"#).replace(
        "\"additionalProperties\"",
        &format!("\"required\":[{}],\"additionalProperties\"", names.join(",")),
    );
    assert!(soon("required", || Contract::compile(&required)).is_err());
    let choices = format!(r#"{{"type":"string","enum":[{}]}}"#, names.join(","));
    assert!(soon("enum", || Contract::compile(&one(&choices))).is_ok());

    // A long default under a union of many branches, none of which ends the search early.
    let branches: Vec<String> =
        (0..1500).map(|least| format!(r#"{{"type":"integer","minimum":{}}}"#, least + 2)).collect();
    let default = vec!["1"; 90_000].join(",");
    let union = format!(
        r#"{{"type":"array","items":{{"oneOf":[{}]}},"default":[{default}]}}"#,
        branches.join(",")
    );
    assert!(soon("union", || Contract::compile(&one(&union))).is_err());

    // Defaults that fill defaults: each level multiplies what the one beneath it comes to.
    let mut schema =
        r#"{"type":"string","default":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}"#.to_owned();
    for _ in 0..12 {
        let empty = vec!["{}"; 60].join(",");
        schema = format!(
            r#"{{"type":"array","default":[{empty}],"items":{{"type":"object","additionalProperties":false,"properties":{{"a":{schema}}}}}}}"#
        );
    }
    let error = soon("amplified defaults", || Contract::compile(&one(&schema))).unwrap_err();
    assert!(error.message.contains("too much to bind"), "{error}");
}

#[test]
fn hostile_arguments_cost_bounded_work() {
    let long = "x".repeat(200_000);
    let filled = contract(&format!(
        r#"{{"type":"array","items":{{"type":"object","additionalProperties":false,"properties":{{"a":{{"type":"string","default":"{long}"}}}}}}}}"#
    ));
    let objects = vec!["{}"; 300_000].join(",");
    let error = soon("defaults", || filled.bind(&one_value(&format!("[{objects}]")))).unwrap_err();
    assert!(error.message.contains("too much to bind"), "{error}");

    let branches: Vec<String> =
        (0..2000).map(|name| format!(r#"{{"type":"string","const":"{name}"}}"#)).collect();
    let union =
        contract(&format!(r#"{{"type":"array","items":{{"oneOf":[{}]}}}}"#, branches.join(",")));
    let many = vec!["\"\""; 300_000].join(",");
    assert!(soon("branches", || union.bind(&one_value(&format!("[{many}]")))).is_err());

    let properties: Vec<String> =
        (0..512).map(|name| format!(r#""{name}":{{"type":"string"}}"#)).collect();
    let wide = contract(&format!(
        r#"{{"type":"array","items":{{"type":"object","additionalProperties":false,"properties":{{{}}}}}}}"#,
        properties.join(",")
    ));
    assert!(soon("properties", || wide.bind(&one_value(&format!("[{objects}]")))).is_err());

    let texts: Vec<String> = (0..2000)
        .map(|least| {
            format!(r#"{{"type":"string","minLength":{},"maxLength":9000000}}"#, least + 2_000_000)
        })
        .collect();
    let texts = contract(&format!(r#"{{"oneOf":[{}]}}"#, texts.join(",")));
    let megabyte = format!("\"{}\"", "x".repeat(1_000_000));
    assert!(soon("lengths", || texts.bind(&one_value(&megabyte))).is_err());
    assert!(soon("depth", || texts.bind(&"[".repeat(1_000_000))).is_err());
    assert!(soon("length", || texts.bind(&" ".repeat(MAX_ARGUMENT_BYTES + 1))).is_err());
}

/// A schema and a value that binds under it.
fn schema_and_value() -> impl Strategy<Value = (String, String)> {
    let leaf = prop_oneof![
        any::<String>().prop_map(|text| {
            let text = serde_json::to_string(&text).unwrap();
            (format!(r#"{{"type":"string","default":{text}}}"#), text)
        }),
        any::<i64>().prop_map(|n| (
            format!(r#"{{"type":["integer","null"],"maximum":{n}}}"#),
            n.to_string()
        )),
        "-?[1-9][0-9]{0,3}\\.[0-9]{1,3}(e-?[0-9]{1,2})?"
            .prop_map(|n| (r#"{"type":"number"}"#.to_owned(), n)),
        any::<bool>().prop_map(|truth| (
            r#"{"oneOf":[{"type":"string"},{"type":"boolean"}]}"#.to_owned(),
            truth.to_string()
        )),
        Just((r#"{"type":["boolean","null"],"default":null}"#.to_owned(), "null".to_owned())),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|(schema, value)| (
                format!(r#"{{"type":"array","items":{schema},"maxItems":2}}"#),
                format!("[{value}, {value}]")
            )),
            (prop::collection::btree_map("[a-zé]{1,3}", (inner.clone(), any::<bool>()), 0..4), inner).prop_map(
                |(members, (others, other))| {
                    let quoted = |name: &str| serde_json::to_string(name).unwrap();
                    let properties: Vec<String> = members
                        .iter()
                        .map(|(name, ((schema, _), _))| format!("{}:{schema}", quoted(name)))
                        .collect();
                    let mut values: Vec<String> = members
                        .iter()
                        .filter(|(_, (_, given))| *given)
                        .map(|(name, ((_, value), _))| format!("{} : {value}", quoted(name)))
                        .rev()
                        .collect();
                    values.push(format!(r#""Z":{other}"#));
                    (
                        format!(
                            r#"{{"type":"object","properties":{{{}}},"additionalProperties":{others}}}"#,
                            properties.join(",")
                        ),
                        format!("{{{}}}", values.join(",")),
                    )
                }
            ),
        ]
    })
}

proptest! {
    #[test]
    fn binding_what_was_bound_changes_nothing((schema, value) in schema_and_value()) {
        let contract = contract(&schema);
        let effective = contract.bind(&one_value(&value)).unwrap();
        prop_assert_eq!(contract.bind(&effective), Ok(effective.clone()));
        let again = Contract::compile(contract.canonical()).unwrap();
        prop_assert_eq!(again.fingerprint(), contract.fingerprint());
        prop_assert_eq!(again.bind(&one_value(&value)), Ok(effective));
    }

    #[test]
    fn what_was_bound_is_a_default_that_binds((schema, value) in schema_and_value()) {
        let effective = contract(&schema).bind(&one_value(&value)).unwrap();
        let wrapped = format!(
            r#"{{"type":"object","properties":{{"v":{schema}}},"additionalProperties":false,"default":{effective}}}"#
        );
        prop_assert_eq!(contract(&wrapped).bind("{}"), Ok(one_value(&effective)));
    }

    #[test]
    fn no_text_makes_compiling_or_binding_panic(text in any::<String>(), (schema, value) in schema_and_value(), at in any::<prop::sample::Index>()) {
        let _ = Contract::compile(&text);
        let whole = one(&schema);
        let mut characters: Vec<char> = whole.chars().collect();
        let position = at.index(characters.len());
        characters.remove(position);
        let _ = Contract::compile(&characters.into_iter().collect::<String>());
        let contract = contract(&schema);
        let _ = contract.bind(&text);
        let arguments: Vec<char> = one_value(&value).chars().collect();
        let _ = contract.bind(&arguments[..at.index(arguments.len())].iter().collect::<String>());
    }
}
