//! The YAML of other tools' files, read into the same values as their JSON: scalars as texts, and no
//! more of YAML than a reader sees.
//!
//! Anchors, aliases, tags, keys given twice, keys that are no texts and further documents are
//! refused: what one reader of the file sees must be what every program makes of it.

use std::collections::HashSet;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::json::Json;

/// Deepest nesting.
const MAX_DEPTH: usize = 32;
/// Most keys and values.
const MAX_NODES: usize = 500_000;

/// Text that is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at line {line}, column {column}")]
pub struct YamlError {
    /// Why.
    pub reason: YamlReason,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
}

/// Why a text is not read as YAML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YamlReason {
    /// Not YAML.
    #[error("not YAML: {}", escape(.0))]
    Syntax(String),
    /// A key twice in one mapping.
    #[error("the key `{}` stands twice", escape(.0))]
    DuplicateKey(String),
    /// A key that is no text.
    #[error("a key is not a text")]
    ComplexKey,
    /// An anchor or an alias.
    #[error("anchors and aliases are not read")]
    Alias,
    /// A tag.
    #[error("tags are not read")]
    Tag,
    /// More than one document.
    #[error("more than one document")]
    SecondDocument,
    /// Nested too deep.
    #[error("nested deeper than {MAX_DEPTH}")]
    TooDeep,
    /// Too much.
    #[error("more than {MAX_NODES} keys and values")]
    TooManyNodes,
}

/// A collection that is not closed yet.
enum Open {
    List(Vec<Json>),
    Map { members: Vec<(String, Json)>, keys: HashSet<String>, key: Option<String> },
}

/// Reads one YAML document, whose length whoever calls has bounded; an empty one is [`Json::Null`].
/// A plain scalar that is `null`, `~` or nothing is [`Json::Null`] too, every other is its text.
pub(super) fn read(text: &str) -> Result<Json, YamlError> {
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    let (mut documents, mut nodes) = (0_usize, 0_usize);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| YamlError {
            reason: YamlReason::Syntax(error.info().to_owned()),
            line: error.marker().line().max(1),
            column: error.marker().col() + 1,
        })?;
        let refuse = |reason| Err(refused(reason, span));
        let value = match event {
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    return refuse(YamlReason::SecondDocument);
                }
                continue;
            }
            Event::Alias(_) => return refuse(YamlReason::Alias),
            Event::MappingStart(anchor, ref tag) | Event::SequenceStart(anchor, ref tag) => {
                check(anchor, tag.is_some(), span)?;
                nodes += 1;
                if open.len() >= MAX_DEPTH {
                    return refuse(YamlReason::TooDeep);
                }
                if nodes > MAX_NODES {
                    return refuse(YamlReason::TooManyNodes);
                }
                if matches!(open.last(), Some(Open::Map { key: None, .. })) {
                    return refuse(YamlReason::ComplexKey);
                }
                open.push(if matches!(event, Event::MappingStart(..)) {
                    Open::Map { members: Vec::new(), keys: HashSet::new(), key: None }
                } else {
                    Open::List(Vec::new())
                });
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => match open.pop() {
                Some(Open::List(items)) => Json::Array(items),
                Some(Open::Map { members, .. }) => Json::Object(members),
                None => continue,
            },
            Event::Scalar(text, style, anchor, ref tag) => {
                check(anchor, tag.is_some(), span)?;
                nodes += 1;
                if nodes > MAX_NODES {
                    return refuse(YamlReason::TooManyNodes);
                }
                if let Some(Open::Map { keys, key: key @ None, .. }) = open.last_mut() {
                    let text = text.into_owned();
                    if !keys.insert(text.clone()) {
                        return refuse(YamlReason::DuplicateKey(text));
                    }
                    *key = Some(text);
                    continue;
                }
                let is_null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null");
                if is_null { Json::Null } else { Json::String(text.into_owned()) }
            }
            _ => continue,
        };
        match open.last_mut() {
            Some(Open::List(items)) => items.push(value),
            Some(Open::Map { members, key, .. }) => match key.take() {
                Some(key) => members.push((key, value)),
                None => return refuse(YamlReason::ComplexKey),
            },
            None => root = Some(value),
        }
    }
    Ok(root.unwrap_or(Json::Null))
}

fn check(anchor: usize, has_tag: bool, span: Span) -> Result<(), YamlError> {
    if anchor != 0 {
        return Err(refused(YamlReason::Alias, span));
    }
    if has_tag { Err(refused(YamlReason::Tag, span)) } else { Ok(()) }
}

fn refused(reason: YamlReason, span: Span) -> YamlError {
    YamlError { reason, line: span.start.line().max(1), column: span.start.col() + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use skillpkg_schema::json::{self, Bounds};

    #[test]
    fn scalars_are_read_as_they_are_written() {
        let value = read("a: 1.10\nb: 'null'\nc: ~\nd:\ne:\n- x\n- {f: yes}\n").unwrap();
        let text = r#"{"a":"1.10","b":"null","c":null,"d":null,"e":["x",{"f":"yes"}]}"#;
        let bounds = Bounds { bytes: 1000, depth: 9, nodes: 99 };
        assert_eq!(value, json::parse(text, &bounds).unwrap());
        assert_eq!(read("").unwrap(), Json::Null);
    }

    #[test]
    fn what_two_readers_could_read_in_two_ways_is_refused_with_its_place() {
        let deep = "[".repeat(200);
        for (text, reason, line) in [
            ("a: 1\na: 2\n", YamlReason::DuplicateKey("a".into()), 2),
            ("a: &x 1\n", YamlReason::Alias, 1),
            ("a: 1\nb: !!str 1\n", YamlReason::Tag, 2),
            ("a: 1\n---\nb: 1\n", YamlReason::SecondDocument, 2),
            ("? [a]\n: 1\n", YamlReason::ComplexKey, 1),
            (&deep, YamlReason::TooDeep, 1),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!((error.reason, error.line), (reason, line), "{text}");
        }
        assert!(matches!(read("a: [1\n").unwrap_err().reason, YamlReason::Syntax(_)));
        assert!(matches!(
            read("a: *x\n").unwrap_err().reason,
            YamlReason::Alias | YamlReason::Syntax(_)
        ));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn no_text_is_more_than_refused(text in "([-a-z:&*!~?#{}\\[\\] \\n'\"]|\\PC){0,80}") {
            let _ = read(&text);
        }

        #[test]
        fn json_reads_the_same_as_yaml(
            members in prop::collection::btree_map("[a-z]{1,8}", "[ -~]{0,12}", 0..6),
        ) {
            let text = serde_json::to_string(&members).unwrap();
            let bounds = Bounds { bytes: 10_000, depth: 9, nodes: 99 };
            prop_assert_eq!(read(&text).unwrap(), json::parse(&text, &bounds).unwrap());
        }
    }
}
