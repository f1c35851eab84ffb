//! The arguments of a call, as a model or a command line gives them.

use skillpkg_schema::diagnostic::escape;
use skillpkg_schema::json::{self, Bounds, Json};
use skillpkg_schema::limits::MAX_ARGUMENT_BYTES;
use skillpkg_schema::skill::Call;

use super::CallError;

/// How arguments are read.
const BOUNDS: Bounds = Bounds { bytes: MAX_ARGUMENT_BYTES, depth: 64, nodes: 100_000 };

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arguments {
    /// A JSON object, as text of at most [`MAX_ARGUMENT_BYTES`].
    Json(String),
    /// Names with values as text, as a command line gives them. The capability's schema says what
    /// each becomes.
    Pairs(Vec<(String, String)>),
}

impl Arguments {
    /// No arguments.
    pub fn none() -> Self {
        Self::Pairs(Vec::new())
    }

    /// Words of a command line: each `name=value`, the value up to its end.
    pub fn from_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, CallError> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for word in words {
            let Some((name, value)) = word.split_once('=') else {
                let message = format!("`{}` is no argument: write `name=value`", escape(word));
                return Err(CallError::arguments("argument_invalid", message));
            };
            if pairs.iter().any(|(known, _)| known == name) {
                let message = format!("`{}` is given twice", escape(name));
                return Err(CallError::arguments("duplicate_property", message));
            }
            pairs.push((name.to_owned(), value.to_owned()));
        }
        Ok(Self::Pairs(pairs))
    }

    /// As an object for a tool, which coerces texts by its params.
    pub(super) fn for_tool(&self) -> Result<Json, CallError> {
        match self {
            Self::Json(text) => match json::parse(text, &BOUNDS) {
                Ok(object @ Json::Object(_)) => Ok(object),
                Ok(_) => {
                    let message = "the arguments are JSON and no object";
                    Err(CallError::arguments("invalid_json_kind", message))
                }
                Err(error) => {
                    let message = format!("the arguments are not JSON: {error}");
                    Err(CallError::arguments("invalid_json_kind", message))
                }
            },
            Self::Pairs(pairs) => Ok(Json::Object(
                pairs
                    .iter()
                    .map(|(name, value)| (name.clone(), Json::String(value.clone())))
                    .collect(),
            )),
        }
    }

    /// As the text of an object for a script. Of a pair, the value is text where the contract wants
    /// text, and else read as JSON where it is JSON.
    pub(super) fn for_script(&self, contract: &str) -> Result<String, CallError> {
        let text = match self {
            Self::Json(text) => text.clone(),
            Self::Pairs(pairs) => {
                let object = pairs
                    .iter()
                    .map(|(name, value)| (name.clone(), typed(contract, name, value)))
                    .collect();
                Json::Object(object).canonical()
            }
        };
        if text.len() > MAX_ARGUMENT_BYTES {
            let message = format!("the arguments are longer than {MAX_ARGUMENT_BYTES} bytes");
            return Err(CallError::arguments("arguments_too_long", message));
        }
        Ok(text)
    }
}

impl From<Call> for Arguments {
    /// The arguments of a call that was resolved, as they are.
    fn from(call: Call) -> Self {
        Self::Json(Json::Object(call.args.into_iter().collect()).canonical())
    }
}

fn typed(contract: &str, name: &str, value: &str) -> Json {
    let text = || Json::String(value.to_owned());
    if takes_text(contract, name) {
        text()
    } else {
        json::parse(value, &BOUNDS).unwrap_or_else(|_| text())
    }
}

/// Whether the contract's property is a string.
fn takes_text(contract: &str, name: &str) -> bool {
    let schema: serde_json::Value = serde_json::from_str(contract).unwrap_or_default();
    match schema.get("properties").and_then(|all| all.get(name)).and_then(|one| one.get("type")) {
        Some(serde_json::Value::String(one)) => one == "string",
        Some(serde_json::Value::Array(several)) => {
            several.iter().any(|one| one.as_str() == Some("string"))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_goes_on_to_the_end_of_its_word() {
        let pairs = Arguments::from_words(["a=b=c", "d=", "e= f "]).unwrap();
        let expected = [("a", "b=c"), ("d", ""), ("e", " f ")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        assert_eq!(pairs, Arguments::Pairs(expected));
    }

    #[test]
    fn a_word_without_a_value_and_a_name_given_twice_are_refused() {
        assert!(Arguments::from_words(["novalue"]).is_err());
        assert!(Arguments::from_words(["a=1", "a=2"]).is_err());
    }

    #[test]
    fn values_for_a_script_are_text_where_the_contract_wants_text_and_else_json() {
        let contract = r#"{"type":"object","properties":{"s":{"type":"string"},
            "n":{"type":["string","null"]},"i":{"type":"integer"},"l":{"type":"array"}}}"#;
        let words = ["s=5", "n=null", "i=5", "l=[1.50,\"a\"]", "other=x y"];
        let text = Arguments::from_words(words).unwrap().for_script(contract).unwrap();
        assert_eq!(text, r#"{"i":5,"l":[1.50,"a"],"n":"null","other":"x y","s":"5"}"#);
    }

    #[test]
    fn json_for_a_script_is_handed_on_as_it_was_written() {
        let written = r#"{ "b": 1.0, "a": 1e3 }"#;
        let text = Arguments::Json(written.to_owned()).for_script("{}").unwrap();
        assert_eq!(text, written);
        let long = Arguments::Json("x".repeat(MAX_ARGUMENT_BYTES + 1));
        assert!(long.for_script("{}").is_err());
        assert!(long.for_tool().is_err());
    }

    #[test]
    fn arguments_of_a_tool_are_an_object() {
        for text in ["[]", "5", "{", "{\"a\":1,\"a\":2}"] {
            assert!(Arguments::Json(text.to_owned()).for_tool().is_err(), "{text}");
        }
        let pairs = Arguments::from_words(["n=5"]).unwrap().for_tool().unwrap();
        assert_eq!(pairs.canonical(), r#"{"n":"5"}"#);
    }
}
