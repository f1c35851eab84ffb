//! Frontmatter as JSON with the types that YAML gives it.
//!
//! What is published keeps scalars as they are written. A host that reads `SKILL.md` with a YAML
//! library of its own and compares wants the types: those of the core schema of YAML 1.2.2.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

use super::frontmatter::{MAX_BYTES, divide};
use super::yaml::{MAX_DEPTH, MAX_NODES};
use crate::diagnostic::escape;

/// The greatest whole number, and the least below zero, that every reader of JSON holds exactly.
const GREATEST: i64 = (1 << 53) - 1;

/// Frontmatter that has no one reading as JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypedError {
    /// The file is not UTF-8 or has no frontmatter.
    #[error("the file has no frontmatter")]
    Absent,
    /// Longer, deeper or with more values than is read.
    #[error("the frontmatter is longer or deeper than is read")]
    TooLarge,
    /// Not YAML to a strict reader.
    #[error("to a strict reader of YAML the frontmatter is none: {0}")]
    Syntax(String),
    /// Anchors, aliases, tags or further documents.
    #[error("the frontmatter has {0}, which not every reader takes")]
    Unread(&'static str),
    /// No mapping of keys to values.
    #[error("the frontmatter holds no `key: value` lines")]
    NotMapping,
    /// A key that is no text.
    #[error("the key `{}` of the frontmatter is no text: put it in quotes", escape(.0))]
    Key(String),
    /// A key given twice.
    #[error("the key `{}` of the frontmatter stands twice", escape(.0))]
    DuplicateKey(String),
    /// A number that JSON has no exact spelling of.
    #[error("JSON has no exact spelling of the number `{}`: put it in quotes", escape(.0))]
    Number(String),
}

/// The whole frontmatter of a `SKILL.md`, every field as YAML 1.2 types it.
///
/// Strict where publishing is lenient: what is taken there as prose is an error here, since two
/// readers of YAML would not agree on it.
pub fn typed_frontmatter(file: &[u8]) -> Result<Map<String, Value>, TypedError> {
    let text = std::str::from_utf8(file).map_err(|_| TypedError::Absent)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parts = divide(text).map_err(|_| TypedError::Absent)?;
    if parts.frontmatter.len() > MAX_BYTES {
        return Err(TypedError::TooLarge);
    }
    let mut builder = Builder::default();
    for event in Parser::new_from_str(parts.frontmatter) {
        let (event, _) = event.map_err(|error| TypedError::Syntax(escape(error.info())))?;
        builder.take(event)?;
    }
    match builder.root {
        Some(Value::Object(members)) => Ok(members),
        _ => Err(TypedError::NotMapping),
    }
}

/// A collection that is not closed yet.
enum Open {
    List(Vec<Value>),
    Map(Map<String, Value>, Option<String>),
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Value>,
    documents: usize,
    nodes: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>) -> Result<(), TypedError> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    Err(TypedError::Unread("a second document"))
                } else {
                    Ok(())
                }
            }
            Event::Alias(_) => Err(TypedError::Unread("an alias")),
            Event::Scalar(_, _, anchor, _)
            | Event::SequenceStart(anchor, _)
            | Event::MappingStart(anchor, _)
                if anchor != 0 =>
            {
                Err(TypedError::Unread("an anchor"))
            }
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => Err(TypedError::Unread("a tag")),
            Event::Scalar(text, style, ..) => self.scalar(&text, style == ScalarStyle::Plain),
            Event::SequenceStart(..) => self.start(Open::List(Vec::new())),
            Event::MappingStart(..) => self.start(Open::Map(Map::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List(items)) => self.put(Value::Array(items)),
                Some(Open::Map(members, _)) => self.put(Value::Object(members)),
                None => Err(TypedError::NotMapping),
            },
        }
    }

    fn count(&mut self) -> Result<(), TypedError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES { Err(TypedError::TooLarge) } else { Ok(()) }
    }

    fn start(&mut self, open: Open) -> Result<(), TypedError> {
        self.count()?;
        if let Some(Open::Map(_, None)) = self.open.last() {
            return Err(TypedError::Key("…".to_owned()));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(TypedError::TooLarge);
        }
        self.open.push(open);
        Ok(())
    }

    fn scalar(&mut self, text: &str, is_plain: bool) -> Result<(), TypedError> {
        self.count()?;
        let value = if is_plain { plain(text)? } else { Value::String(text.to_owned()) };
        let Some(Open::Map(members, key @ None)) = self.open.last_mut() else {
            return self.put(value);
        };
        let Value::String(name) = value else { return Err(TypedError::Key(text.to_owned())) };
        if is_plain && name == "<<" {
            return Err(TypedError::Unread("a merge key"));
        }
        if members.contains_key(&name) {
            return Err(TypedError::DuplicateKey(name));
        }
        *key = Some(name);
        Ok(())
    }

    fn put(&mut self, value: Value) -> Result<(), TypedError> {
        match self.open.last_mut() {
            Some(Open::List(items)) => items.push(value),
            Some(Open::Map(members, key)) => {
                let name = key.take().ok_or_else(|| TypedError::Key("…".to_owned()))?;
                members.insert(name, value);
            }
            None => self.root = Some(value),
        }
        Ok(())
    }
}

/// What a plain scalar is by the core schema of YAML 1.2.2, section 10.3.2.
fn plain(text: &str) -> Result<Value, TypedError> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        _ => {}
    }
    let inexact = || TypedError::Number(text.to_owned());
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(inexact());
    }
    let integer = match (text.strip_prefix("0o"), text.strip_prefix("0x")) {
        (Some(digits), _) if of(digits, |digit| matches!(digit, b'0'..=b'7')) => {
            Some(i64::from_str_radix(digits, 8))
        }
        (_, Some(digits)) if of(digits, |digit| digit.is_ascii_hexdigit()) => {
            Some(i64::from_str_radix(digits, 16))
        }
        _ if of(unsigned, |digit| digit.is_ascii_digit()) => Some(text.parse()),
        _ => None,
    };
    if let Some(integer) = integer {
        let whole = integer.ok().filter(|whole| (-GREATEST..=GREATEST).contains(whole));
        return whole.map(Value::from).ok_or_else(inexact);
    }
    if is_float(unsigned) {
        let number = text.parse().ok().and_then(Number::from_f64);
        return number.map(Value::Number).ok_or_else(inexact);
    }
    Ok(Value::String(text.to_owned()))
}

fn of(text: &str, takes: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(takes)
}

/// `( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`
fn is_float(unsigned: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        of(exponent.strip_prefix(['+', '-']).unwrap_or(exponent), |digit| digit.is_ascii_digit())
    });
    let mantissa_fits = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && digits(fraction),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    exponent_fits && mantissa_fits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn typed(frontmatter: &str) -> Result<Value, TypedError> {
        typed_frontmatter(format!("---\n{frontmatter}\n---\nprose\n").as_bytes()).map(Value::Object)
    }

    #[test]
    fn scalars_have_the_types_of_the_core_schema() {
        for (text, expected) in [
            ("1.0", json!(1.0)),
            ("1", json!(1)),
            ("+12", json!(12)),
            ("-0", json!(0)),
            ("007", json!(7)),
            ("0o17", json!(15)),
            ("0xFf", json!(255)),
            (".5", json!(0.5)),
            ("6.", json!(6.0)),
            ("12e03", json!(12_000.0)),
            ("-2E+05", json!(-200_000.0)),
            ("1.2.3", json!("1.2.3")),
            ("true", json!(true)),
            ("FALSE", json!(false)),
            ("yes", json!("yes")),
            ("tRue", json!("tRue")),
            ("~", Value::Null),
            ("", Value::Null),
            ("null", Value::Null),
            ("nullish", json!("nullish")),
            ("\"1.0\"", json!("1.0")),
            ("'true'", json!("true")),
            ("2026-01-01", json!("2026-01-01")),
            ("e5", json!("e5")),
            ("1e", json!("1e")),
            (".", json!(".")),
            ("-", json!([null])),
            ("+", json!("+")),
            ("0x", json!("0x")),
            ("0b11", json!("0b11")),
            ("9007199254740991", json!(9_007_199_254_740_991_i64)),
            ("|\n  a\n  b", json!("a\nb\n")),
        ] {
            let text = format!("k: {text}");
            let read = if text == "k: -" { typed("k:\n-") } else { typed(&text) };
            assert_eq!(read, Ok(json!({"k": expected})), "{text}");
        }
    }

    #[test]
    fn nesting_is_kept_and_every_field_is_there() {
        let text = "name: waitlist\ndescription: Does it.\nallowed-tools: [Read, 'Bash(git:*)']\n\
                    metadata:\n  version: 1.0\n  openclaw:\n    requires:\n      bins: [uv]\n      \
                    os: []\n  tested: false";
        let expected = json!({"name": "waitlist", "description": "Does it.",
            "allowed-tools": ["Read", "Bash(git:*)"],
            "metadata": {"version": 1.0, "tested": false,
                "openclaw": {"requires": {"bins": ["uv"], "os": []}}}});
        assert_eq!(typed(text), Ok(expected));
        let with_mark = "\u{feff}---\r\nname: a\r\n---\r\n";
        assert_eq!(
            Value::Object(typed_frontmatter(with_mark.as_bytes()).unwrap()),
            json!({"name": "a"})
        );
    }

    #[test]
    fn what_readers_would_not_agree_on_is_refused() {
        for (text, refused) in [
            ("a: 1\na: 2", TypedError::DuplicateKey("a".to_owned())),
            ("a: &x 1", TypedError::Unread("an anchor")),
            ("a: !!str 1", TypedError::Unread("a tag")),
            ("<<: {a: 1}", TypedError::Unread("a merge key")),
            ("1: a", TypedError::Key("1".to_owned())),
            ("true: a", TypedError::Key("true".to_owned())),
            ("? [a]\n: b", TypedError::Key("…".to_owned())),
            ("- a", TypedError::NotMapping),
            ("", TypedError::NotMapping),
            ("a: .inf", TypedError::Number(".inf".to_owned())),
            ("a: -.INF", TypedError::Number("-.INF".to_owned())),
            ("a: .nan", TypedError::Number(".nan".to_owned())),
            ("a: 9007199254740992", TypedError::Number("9007199254740992".to_owned())),
            ("a: 1e999", TypedError::Number("1e999".to_owned())),
        ] {
            assert_eq!(typed(text), Err(refused), "{text}");
        }
        assert!(matches!(typed("a: b: c"), Err(TypedError::Syntax(_))));
        assert!(matches!(typed("a: *x"), Err(TypedError::Syntax(_) | TypedError::Unread(_))));
        assert_eq!(typed_frontmatter(b"no frontmatter"), Err(TypedError::Absent));
        assert_eq!(typed_frontmatter(b"---\n\xff\n---\n"), Err(TypedError::Absent));
        assert_eq!(typed(&format!("a: {}", "[".repeat(40))), Err(TypedError::TooLarge));
        assert_eq!(typed(&format!("a: [{}]", "1,".repeat(10_001))), Err(TypedError::TooLarge));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(---\\n)?[a-z:\\-\\[\\]{}#&*!|>'\"% .0-9\\n]{0,80}(\\n---\\n)?") {
            let _ = typed_frontmatter(text.as_bytes());
        }

        #[test]
        fn a_text_in_quotes_is_that_text(value in "[ -~&&[^\"\\\\]]{0,30}") {
            prop_assert_eq!(typed(&format!("k: \"{value}\"")), Ok(json!({"k": value})));
        }
    }
}
