//! What a skill needs, read out of its frontmatter: vectors, and whatever else may stand there.

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use skillpkg_schema::skill::Requirements;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    name: String,
    frontmatter: Map<String, Value>,
    expect: Expected,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Expected {
    all: Vec<String>,
    any: Vec<String>,
    env: Vec<String>,
    os: Vec<String>,
    config: Vec<String>,
    always: bool,
    primary_env: Option<String>,
    unknown: Vec<String>,
    unreadable: Vec<String>,
}

impl From<Requirements> for Expected {
    fn from(read: Requirements) -> Self {
        let Requirements { requires, config, always, primary_env, unknown, unreadable } = read;
        Self {
            all: requires.all,
            any: requires.any,
            env: requires.env,
            os: requires.os,
            config,
            always,
            primary_env,
            unknown,
            unreadable: unreadable.into_iter().map(|one| one.at).collect(),
        }
    }
}

#[test]
fn requirements_are_read_as_the_vectors_say() {
    let vectors: Vec<Vector> =
        serde_json::from_str(include_str!("vectors/requirements.json")).unwrap();
    for Vector { name, frontmatter, expect } in vectors {
        assert_eq!(Expected::from(Requirements::read(&frontmatter)), expect, "{name}");
    }
}

#[test]
fn what_cannot_be_read_is_told_with_its_place_and_without_moving_the_terminal() {
    let frontmatter =
        json!({ "metadata": { "openclaw": { "requires": { "bins\u{1b}[2K": "a", "bins": 3 } } } });
    let read = Requirements::read(frontmatter.as_object().unwrap());
    assert_eq!(
        read.unreadable[0].to_string(),
        "`metadata.openclaw.requires.bins` says what is needed, and is not a list of names"
    );
    assert_eq!(read.unknown.len(), 1);
}

/// JSON of any shape, with the keys that are looked for more often than chance would have it.
fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[ -~]{0,12}",
        Just("{\"requires\": {\"bins\": [1]}}".to_owned()),
        Just("{\"openclaw\": {\"requires\": \"x\"}}".to_owned()),
        Just("true".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 6, |inner| {
        let key = prop::sample::select(vec![
            "metadata",
            "openclaw",
            "clawdbot",
            "hermes",
            "requires",
            "bins",
            "anyBins",
            "env",
            "config",
            "os",
            "always",
            "primaryEnv",
            "prerequisites",
            "commands",
            "env_vars",
            "other",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..6).prop_map(|members| {
                let members = members.into_iter().map(|(key, value)| (key.to_owned(), value));
                Value::Object(members.collect())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_stands_there_is_read_without_panic_and_the_same_each_time(
        metadata in value(), prerequisites in value(),
    ) {
        let frontmatter = json!({ "metadata": metadata, "prerequisites": prerequisites });
        let frontmatter = frontmatter.as_object().unwrap();
        let read = Requirements::read(frontmatter);
        prop_assert_eq!(&read, &Requirements::read(frontmatter));
        let Requirements { requires, config, .. } = &read;
        for list in [&requires.all, &requires.any, &requires.env, &requires.os, config] {
            prop_assert!(list.iter().all(|name| !name.trim().is_empty()));
            prop_assert!((1..list.len()).all(|at| !list[..at].contains(&list[at])), "{list:?}");
        }
    }

    /// A condition is never lost: it is read, or it is told.
    #[test]
    fn a_condition_is_read_or_told(
        host in prop::sample::select(vec!["openclaw", "clawdbot", "moltbot", "clawdis", "nanobot", "picoclaw"]),
        condition in prop::sample::select(vec!["bins", "anyBins", "env", "config", "somethingNew"]),
        value in value(),
    ) {
        let says_nothing = match &value {
            Value::Null => true,
            Value::String(text) => text.trim_matches([' ', ',']).is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        let frontmatter = json!({ "metadata": { host: { "requires": { condition: value } } } });
        let read = Requirements::read(frontmatter.as_object().unwrap());
        prop_assert!(says_nothing || read != Requirements::default(), "{frontmatter}");
    }
}
