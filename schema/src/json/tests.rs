use proptest::prelude::*;

use super::*;

const WIDE: Bounds = Bounds { bytes: 1 << 20, depth: 100, nodes: 1 << 19 };

fn read(text: &str) -> Result<Json, JsonError> {
    parse(text, &WIDE)
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?".prop_map(Json::Number),
        any::<String>().prop_map(Json::String),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

/// Texts near to JSON: the canonical text of a value, with a few of its characters changed.
fn near_json() -> impl Strategy<Value = String> {
    let edit = (any::<prop::sample::Index>(), "[\\[\\]{}\":,0-9eE.+\\\\u\\-a-f \n\u{1}é]?");
    (any_json(), prop::collection::vec(edit, 0..4)).prop_map(|(value, edits)| {
        let mut characters: Vec<String> =
            value.canonical().chars().map(|character| character.to_string()).collect();
        for (position, replacement) in edits {
            let position = position.index(characters.len());
            characters[position] = replacement;
        }
        characters.concat()
    })
}

fn agrees_with_serde_json(text: &str) {
    let ours = read(text);
    match (&ours, serde_json::from_str::<serde_json::Value>(text)) {
        (Ok(_), Ok(_)) | (Err(_), Err(_)) => {}
        (Err(error), Ok(_)) => {
            assert!(matches!(error.reason, JsonReason::DuplicateKey(_)), "{text:?}: {error}");
        }
        // It holds numbers as f64; we hold them as written.
        (Ok(_), Err(error)) => {
            assert!(error.to_string().contains("number out of range"), "{text:?}: {error}");
        }
    }
}

proptest! {
    #[test]
    fn canonical_text_is_read_as_the_value_it_was_written_from(value in any_json()) {
        let text = value.canonical();
        prop_assert_eq!(read(&text), Ok(value));
    }

    #[test]
    fn a_text_near_to_json_is_taken_exactly_where_serde_json_takes_it(text in near_json()) {
        agrees_with_serde_json(&text);
    }

    #[test]
    fn any_text_is_taken_exactly_where_serde_json_takes_it(text in any::<String>()) {
        agrees_with_serde_json(&text);
    }

    #[test]
    fn a_string_is_decoded_as_serde_json_decodes_it(
        text in "\"([a-c/é😀]|\\\\[\"\\\\/bfnrt]|\\\\u[0-9a-fA-F]{4}|\\\\ud[89ab]3d\\\\ude0[0-9]){0,6}\""
    ) {
        match (read(&text), serde_json::from_str::<String>(&text)) {
            (Ok(Json::String(ours)), Ok(theirs)) => prop_assert_eq!(ours, theirs),
            (ours, theirs) => prop_assert!(ours.is_err() && theirs.is_err(), "{}", text),
        }
    }
}

#[test]
fn numbers_stay_as_written() {
    for number in ["0", "-0", "1.0", "1e400", "12345678901234567890.10E+05"] {
        assert_eq!(read(number), Ok(Json::Number(number.to_owned())));
    }
    for text in ["01", "+1", "1.", ".1", "1e", "-", "0x1", "NaN", "Infinity", "1_0", "--1"] {
        assert!(read(text).is_err(), "{text} was taken");
    }
}

#[test]
fn what_is_not_json_is_refused() {
    for text in [
        "",
        " ",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "[1 2]",
        "1 1",
        "nul",
        "nulll",
        "True",
        "\"a",
        "\"\u{1}\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\u{feff}1",
        "1 // one",
        "[\u{a0}1]",
    ] {
        assert!(read(text).is_err(), "{text:?} was taken");
    }
}

#[test]
fn half_of_a_surrogate_pair_is_refused() {
    for text in [r#""\ud800""#, r#""\udc00""#, r#""\ud800\ud800""#, r#""\ud800A""#, r#""\ud83dx""#]
    {
        assert!(read(text).is_err(), "{text} was taken");
    }
    assert_eq!(read(r#""\ud83d\ude00""#), Ok(Json::String("😀".to_owned())));
}

#[test]
fn an_error_names_line_column_and_pointer() {
    let error = read("{\"a\": [\n  1,\n  é]}").unwrap_err();
    assert_eq!((error.path.as_str(), error.line, error.column), ("/a/1", 3, 3));
    assert_eq!(error.to_string(), "expected a value, found `é` at line 3, column 3");
    let error = read("{\"a/b\": {\"é\":1, \"~\":2, \"~\":3}}").unwrap_err();
    assert_eq!(error.reason, JsonReason::DuplicateKey("~".to_owned()));
    assert_eq!((error.path.as_str(), error.line, error.column), ("/a~1b/~0", 1, 24));
}

#[test]
fn a_key_twice_is_found_however_it_is_spelled_and_wherever_it_stands() {
    let many: Vec<String> = (0..100).map(|number| format!("\"k{number}\":0")).collect();
    for key in ["k0", "k7", "k8", "k99", "\\u006b50"] {
        let text = format!("{{{},\"{key}\":1}}", many.join(","));
        let error = read(&text).unwrap_err();
        assert!(matches!(error.reason, JsonReason::DuplicateKey(_)), "{key}: {error}");
    }
    assert!(read(&format!("{{{}}}", many.join(","))).is_ok());
    assert!(read(r#"{"a":1,"\u0061":1}"#).is_err());
}

#[test]
fn bounds_hold_while_reading() {
    let bounds = Bounds { bytes: 20, depth: 2, nodes: 4 };
    assert!(parse("[[1]]", &bounds).is_ok());
    assert!(parse("[[[]]]", &bounds).is_ok());
    let reason = |text: &str| parse(text, &bounds).unwrap_err().reason;
    assert_eq!(reason("[[[1]]]"), JsonReason::TooDeep(2));
    assert_eq!(reason("[1,1,1,1]"), JsonReason::TooManyNodes(4));
    assert_eq!(reason(&" ".repeat(21)), JsonReason::TooLong(20));
}

#[test]
fn no_bounds_let_a_text_cost_more_stack_than_the_deepest_nesting() {
    let endless = Bounds { bytes: usize::MAX, depth: usize::MAX, nodes: usize::MAX };
    for open in ["[", "{\"a\":"] {
        let error = parse(&open.repeat(1_000_000), &endless).unwrap_err();
        assert_eq!(error.reason, JsonReason::TooDeep(DEEPEST));
    }
    let deepest = "[".repeat(DEEPEST + 1) + &"]".repeat(DEEPEST + 1);
    assert!(parse(&deepest, &endless).is_ok());
}

#[test]
fn a_hundred_thousand_keys_are_read_in_no_more_than_their_length() {
    let many: Vec<String> = (0..100_000).map(|number| format!("\"{number}\":0")).collect();
    let bounds = Bounds { bytes: 1 << 22, depth: 1, nodes: 100_001 };
    assert!(parse(&format!("{{{}}}", many.join(",")), &bounds).is_ok());
}

#[test]
fn canonical_text_sorts_keys_by_code_point_and_escapes_no_more_than_it_must() {
    let text = "{ \"\u{1f600}\": 1.0, \"\u{fffd}\": [ ], \"é\": \"\\/\\u007f\\u0001\\n\\\"\", \"z\": { } }";
    let canonical = "{\"z\":{},\"é\":\"/\u{7f}\\u0001\\n\\\"\",\"\u{fffd}\":[],\"\u{1f600}\":1.0}";
    assert_eq!(read(text).unwrap().canonical(), canonical);
}
